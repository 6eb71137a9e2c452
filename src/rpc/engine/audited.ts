import type { AuditCall } from '../../auth/audit/audit-store.ts';
import { OUTCOME_OK } from '../../auth/audit/audit-store.ts';
import type { Call } from '../../http/call.ts';
import type { Scope } from '../../http/scopes.ts';
import { hostClock, unixSeconds } from '../../util/clock.ts';
import { visibleWallets } from '../methods/wallet/wallet-env.ts';
import type { RpcContext } from './context.ts';
import type { RpcMethod } from './method.ts';
import type { RpcError } from './rpc-error.ts';

/** One call that the audit log may have to hold. */
export interface AuditedCall {
  readonly method: RpcMethod;
  readonly scope: Scope;
  readonly args: readonly unknown[];
  readonly call: Call;
  /** The wallet in the path. */
  readonly wallet: string | null;
}

type AuditTime = 'before' | 'after';

/** They neither move coins nor use, reveal or change keys, so a log that cannot be written does not prevent them. */
const HARMLESS: ReadonlySet<string> = new Set([
  ...['getnewaddress', 'getrawchangeaddress', 'keypoolrefill', 'setlabel', 'lockunspent', 'walletlock', 'abortrescan'],
]);
/** Their first argument names the wallet. */
const NAMES_WALLET: ReadonlySet<string> = new Set(['createwallet', 'loadwallet', 'unloadwallet', 'restorewallet']);
const KEY_CHANGES: ReadonlySet<string> = new Set(['createapikey', 'rotateapikey', 'setapikey', 'revokeapikey']);
const MAX_NAME = 128;
const TXID = /^[0-9a-f]{64}$/;

/**
 * When a call is recorded. Calls that spend, sign, or reveal or change keys are recorded before they run, so that none
 * runs unrecorded; other wallet and admin calls are recorded when they are over, and the rest not at all.
 */
export function auditTime({ name }: Pick<RpcMethod, 'name'>, scope: Scope): AuditTime | null {
  if (scope === 'wallet.spend' || scope === 'wallet.keys') return HARMLESS.has(name) ? 'after' : 'before';
  if (KEY_CHANGES.has(name)) return 'before';
  return scope === 'admin' ? 'after' : null;
}

/**
 * Runs a call and records it. `onResult` is to be called with what the method returned. Throws ApiError
 * `audit_unavailable` where the call must be recorded first and cannot be.
 */
export async function audited<T>(
  { audit }: Pick<RpcContext, 'audit'>,
  about: AuditCall,
  when: AuditTime,
  {
    run,
    codeOf,
  }: {
    readonly run: (onResult: (value: unknown) => void) => Promise<T>;
    readonly codeOf: (error: unknown) => RpcError;
  },
): Promise<T> {
  const id = when === 'before' ? await audit.begin(about) : null;
  let subject: Subject = NO_SUBJECT;
  const over = (outcome: string) => {
    if (id === null) audit.record(about, { outcome, ...subject });
    else audit.complete(id, about, { outcome, ...subject });
  };
  try {
    const result = await run((value) => {
      subject = subjectOf(about.method, value);
    });
    over(OUTCOME_OK);
    return result;
  } catch (error) {
    const failure = codeOf(error);
    over(String(failure.rpcCode));
    throw failure;
  }
}

/** Who calls what, from where; no arguments but the name of the wallet. */
export function auditCallOf(ctx: RpcContext, { method, scope, args, call, wallet }: AuditedCall): AuditCall {
  return {
    time: unixSeconds(hostClock),
    who: call.principal.id,
    ip: call.ip,
    requestId: call.requestId,
    method: method.name,
    wallet: scope.startsWith('wallet.') ? walletName(ctx, method, args, call, wallet) : null,
  };
}

function walletName(
  ctx: RpcContext,
  { name }: RpcMethod,
  args: readonly unknown[],
  call: Call,
  inPath: string | null,
): string | null {
  const given = NAMES_WALLET.has(name) && typeof args[0] === 'string' ? args[0] : inPath;
  if (given !== null) return given.slice(0, MAX_NAME);
  const [only, ...others] = visibleWallets({ ctx, call });
  return only && others.length === 0 ? only.name : null;
}

/** Throws ApiError `insufficient_scope` where the caller lacks a scope, and records that where the call would be recorded. */
export function requireScope(ctx: RpcContext, asked: AuditedCall): void {
  try {
    asked.call.require(asked.scope);
    // The call may have waited for its turn, or stand at the end of a long batch.
    ctx.checkKey(asked.call, asked.scope);
  } catch (error) {
    if (auditTime(asked.method, asked.scope) !== null) ctx.audit.recordRefused(auditCallOf(ctx, asked));
    throw error;
  }
}

interface Subject {
  readonly keyId: string | null;
  readonly txid: string | null;
}

const NO_SUBJECT: Subject = { keyId: null, txid: null };

/** The transaction or the key that a result is about. */
function subjectOf(method: string, value: unknown): Subject {
  const members = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  if (KEY_CHANGES.has(method)) return { keyId: typeof members.id === 'string' ? members.id : null, txid: null };
  const txid = typeof value === 'string' ? value : members.txid;
  return { keyId: null, txid: typeof txid === 'string' && TXID.test(txid) ? txid : null };
}
