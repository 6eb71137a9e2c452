import type { AuditCall } from '../../auth/audit/audit-store.ts';
import { OUTCOME_OK } from '../../auth/audit/audit-store.ts';
import type { Call } from '../../http/call.ts';
import { requireAddress } from '../../http/known-address.ts';
import type { Scope } from '../../http/scopes.ts';
import { hostClock, unixSeconds } from '../../util/clock.ts';
import { visibleWallets } from './call-wallet.ts';
import type { RpcMethod } from './method.ts';
import type { RpcContext } from './rpc-context.ts';
import type { RpcError } from './rpc-error.ts';

/** One call that the audit log may have to record. */
export interface AuditedCall {
  readonly method: RpcMethod;
  readonly scope: Scope;
  readonly args: readonly unknown[];
  readonly call: Call;
  /** The wallet in the path. */
  readonly wallet: string | null;
}

/** When a call is recorded: before it runs, or afterwards. */
export type AuditTime = 'before' | 'after';

/** Methods that neither move coins nor use, reveal or change keys. They run even if the log cannot be written. */
const HARMLESS: ReadonlySet<string> = new Set([
  ...['getnewaddress', 'getrawchangeaddress', 'keypoolrefill', 'setlabel', 'lockunspent', 'walletlock', 'abortrescan'],
]);
/** Methods whose first argument is the name of the wallet. */
const NAMES_WALLET: ReadonlySet<string> = new Set(['createwallet', 'loadwallet', 'unloadwallet', 'restorewallet']);
/** `createlogincode` reports the session that its code opens. */
const KEY_CHANGES: ReadonlySet<string> = new Set([
  'createapikey',
  'rotateapikey',
  'setapikey',
  'revokeapikey',
  'createlogincode',
]);
const MAX_NAME = 128;
const TXID = /^[0-9a-f]{64}$/;

/**
 * Returns when a call is recorded, or null if it is not. Calls that spend, sign, or reveal or change keys are recorded
 * before they run, so that none runs unrecorded; other wallet and admin calls are recorded afterwards.
 */
export function auditTime({ name }: Pick<RpcMethod, 'name'>, scope: Scope): AuditTime | null {
  if (scope === 'wallet.spend' || scope === 'wallet.keys') return HARMLESS.has(name) ? 'after' : 'before';
  if (KEY_CHANGES.has(name)) return 'before';
  return scope === 'admin' ? 'after' : null;
}

/**
 * Runs a call and records it. `run` must pass the result of the method to `onResult`. Throws ApiError
 * `audit_unavailable` if the call must be recorded first and the log cannot be written.
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
  const recordOutcome = (outcome: string) => {
    if (id === null) audit.record(about, { outcome, ...subject });
    else audit.complete(id, about, { outcome, ...subject });
  };
  try {
    const result = await run((value) => {
      subject = subjectOf(about.method, value);
    });
    recordOutcome(OUTCOME_OK);
    return result;
  } catch (error) {
    const failure = codeOf(error);
    recordOutcome(String(failure.rpcCode));
    throw failure;
  }
}

/** Returns the caller, its address and the method of a call. Of the arguments only the name of the wallet is recorded. */
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

/**
 * Throws ApiError `insufficient_scope` if the caller lacks the scope, and records that for a call that would be recorded.
 */
export function requireScope(ctx: RpcContext, asked: AuditedCall): void {
  try {
    asked.call.require(asked.scope);
    // The key may have changed while the call was queued, or during the earlier calls of its batch.
    ctx.checkKey(asked.call, asked.scope);
    if (auditTime(asked.method, asked.scope) !== null) requireAddress(asked.call);
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

/** Returns the txid or the key id in a result. */
function subjectOf(method: string, value: unknown): Subject {
  const members = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  if (KEY_CHANGES.has(method)) return { keyId: typeof members.id === 'string' ? members.id : null, txid: null };
  const txid = typeof value === 'string' ? value : members.txid;
  return { keyId: null, txid: typeof txid === 'string' && TXID.test(txid) ? txid : null };
}
