import type { Call } from '../../http/call.ts';
import type { Scope } from '../../http/scopes.ts';
import type { MempoolMirror } from '../../mempool/mirror.ts';
import type { Outpoint } from '../../primitives/outpoint.ts';
import type { ReadEnv } from '../../queries/read-env.ts';
import type { ReadSettings } from '../../queries/read-settings.ts';
import type { WalletEnv } from '../../queries/wallet-env.ts';
import type { AsciiText } from '../../util/ascii-text.ts';
import { RPC_ERROR } from '../../util/rpc-error-codes.ts';
import { type Example, example } from './example.ts';
import type { RpcValue } from './json.ts';
import { typeName } from './json.ts';
import type { QueueSlot } from './key-queue.ts';
import { type Param, positional } from './params.ts';
import type { JsonPieces } from './reply-body.ts';
import type { RpcContext } from './rpc-context.ts';
import { RpcError } from './rpc-error.ts';
import type { RpcState } from './rpc-state.ts';
import type { Schema } from './schema.ts';
import { revealed } from './secret-texts.ts';

type RpcCategory =
  | 'addressindex'
  | 'blockchain'
  | 'control'
  | 'mining'
  | 'network'
  | 'rawtransactions'
  | 'signer'
  | 'util'
  | 'wallet';

export interface RunningCall {
  readonly method: string;
  /** Monotonic time, milliseconds. */
  readonly startedAt: number;
}

/** Environment of a method on the main thread: the node, and reads of the chain. */
export interface MainThreadEnv {
  readonly ctx: RpcContext;
  readonly call: Call | null;
  /** Name of the wallet in the path, or null. */
  readonly wallet: string | null;
  readonly signal: AbortSignal;
  readonly state: RpcState;
  /** Running calls, including this one. */
  readonly running: Iterable<RunningCall>;
  /** Slot of the call in the queue of its key, to be released during long waits. */
  readonly queueSlot: QueueSlot;
  /** The present mempool; `read` shows it together with the chain. */
  readonly mempool: MempoolMirror;
  readonly settings: ReadSettings;
  /** Reads one snapshot. `read` must be short, since it runs on the main thread. */
  read<T>(read: (env: ReadEnv) => T): Promise<T>;
}

/** A result that is already JSON text. */
export class JsonText {
  readonly pieces: JsonPieces;

  constructor(...pieces: JsonPieces) {
    this.pieces = pieces;
  }
}

/** A long ASCII text as a member of a result, which is sent in pieces. */
export class LongText {
  readonly text: AsciiText;

  constructor(text: AsciiText) {
    this.text = text;
  }
}

type Values<P extends readonly Param<unknown>[]> = { [K in keyof P]: P[K] extends Param<infer T> ? T : never };

interface MethodText {
  /** Lower case. */
  readonly name: string;
  readonly category: RpcCategory;
  /** Sentences about the method as a whole. */
  readonly help: string;
  readonly result: Schema;
  /** At least one where the method has parameters. A method without parameters is called in one way only. */
  readonly examples?: readonly Example[];
  /** Scope that a key needs for every call. */
  readonly scope: Scope;
  /** May take minutes. It runs in a reader worker of its own, without a time limit. */
  readonly long?: boolean;
  /** Calls of a batch that follow each other may overlap: the node thread carries them out in their order. */
  readonly overlaps?: boolean;
  /**
   * The result depends on the arguments, the tip and the mempool alone, and the method runs on `reads` with the scope
   * `read`. Its short replies are kept until one of these changes.
   */
  readonly isKept?: boolean;
  /** For tests and debugging; the OpenRPC document omits it by default. */
  readonly hidden?: boolean;
  /** The method exists no more: `help`, all of its help, names its replacement. */
  readonly removed?: boolean;
  /** The call gets the arguments that were given and no values for the others. */
  readonly variadic?: boolean;
}

/** A scope that some calls of a method need in addition. */
export interface FurtherScope<A extends readonly unknown[]> {
  readonly scope: Scope;
  /** Condition for the documents, such as `private is true`. */
  readonly where: string;
  applies(...args: A): boolean;
}

/**
 * One method of JSON-RPC. Methods that run on `reads` see the chain only, those on `wallet` a wallet as well. A reader
 * worker can run both; methods on `main` need the node and run on the main thread.
 */
export interface RpcMethod extends MethodText {
  readonly params: readonly Param<unknown>[];
  readonly runsOn: 'reads' | 'wallet' | 'main';
  readonly further?: FurtherScope<readonly unknown[]>;
  /** Mempool slots that a worker needs for the call. Without this function it runs without the mempool. */
  mempoolPart?(env: ReadEnv | WalletEnv, args: readonly unknown[]): Iterable<number>;
  /** Outpoints that the arguments spend, if parsing them is long work for a worker. Their transactions are needed. */
  spends?(env: ReadEnv, args: readonly unknown[]): readonly Outpoint[];
  /** Scripts in the arguments. Mempool transactions that touch them are needed. */
  scripts?(env: ReadEnv, args: readonly unknown[]): readonly Uint8Array[];
  /** Resolves when a call can be run that reads what the node makes a moment after a commit. */
  ready?(env: MainThreadEnv, args: readonly unknown[]): Promise<void>;
  /** Runs the call with validated arguments. The result is serialized as it is. */
  invoke(env: ReadEnv | WalletEnv | MainThreadEnv, args: readonly unknown[]): unknown;
}

/** Methods by name. */
export type RpcMethods = ReadonlyMap<string, RpcMethod>;

/** Declares a method that reads the chain and the mempool. */
export function rpcMethod<const P extends readonly Param<unknown>[]>(
  definition: MethodText & {
    readonly params: P;
    run(env: ReadEnv, ...args: Values<P>): unknown;
    mempoolPart?(env: ReadEnv, ...args: Values<P>): Iterable<number>;
    spends?(env: ReadEnv, ...args: Values<P>): readonly Outpoint[];
    scripts?(env: ReadEnv, ...args: Values<P>): readonly Uint8Array[];
    ready?(env: MainThreadEnv, ...args: Values<P>): Promise<void>;
  },
): RpcMethod {
  const { run, mempoolPart, spends, scripts, ready, ...rest } = definition;
  return {
    ...rest,
    runsOn: 'reads',
    ...(mempoolPart && { mempoolPart: (env, args) => mempoolPart(env, ...(args as Values<P>)) }),
    ...(spends && { spends: (env, args) => spends(env, ...(args as Values<P>)) }),
    ...(scripts && { scripts: (env, args) => scripts(env, ...(args as Values<P>)) }),
    ...(ready && { ready: (env, args) => ready(env, ...(args as Values<P>)) }),
    invoke: (env, args) => run(env as ReadEnv, ...(args as Values<P>)),
  };
}

/** Declares a method that reads a wallet, the chain and the mempool. */
export function walletMethod<const P extends readonly Param<unknown>[]>(
  definition: Omit<MethodText, 'category' | 'scope'> & {
    readonly params: P;
    run(env: WalletEnv, ...args: Values<P>): unknown;
    mempoolPart?(env: WalletEnv, ...args: Values<P>): Iterable<number>;
    spends?(env: ReadEnv, ...args: Values<P>): readonly Outpoint[];
  },
): RpcMethod {
  const { run, mempoolPart, spends, ...rest } = definition;
  return {
    ...rest,
    category: 'wallet',
    scope: 'wallet.read',
    runsOn: 'wallet',
    ...(mempoolPart && { mempoolPart: (env, args) => mempoolPart(env as WalletEnv, ...(args as Values<P>)) }),
    ...(spends && { spends: (env, args) => spends(env, ...(args as Values<P>)) }),
    invoke: (env, args) => run(env as WalletEnv, ...(args as Values<P>)),
  };
}

/** Declares a method that calls the node, and so runs on the main thread. `run` may return a promise. */
export function nodeMethod<const P extends readonly Param<unknown>[]>(
  definition: MethodText & {
    readonly params: P;
    readonly further?: FurtherScope<Values<P>>;
    run(env: MainThreadEnv, ...args: Values<P>): unknown;
  },
): RpcMethod {
  const { run, further, ...rest } = definition;
  return {
    ...rest,
    runsOn: 'main',
    ...(further && { further: { ...further, applies: (...args) => further.applies(...(args as Values<P>)) } }),
    invoke: (env, args) => run(env as MainThreadEnv, ...(args as Values<P>)),
  };
}

/** Returns the scope that a call with these arguments needs. */
export function scopeOfCall({ scope, further }: RpcMethod, args: readonly unknown[]): Scope {
  return further?.applies(...args) ? further.scope : scope;
}

/** Returns the scopes of a method as text: `wallet.read; wallet.keys where private is true`. */
export function scopeText({ scope, further }: Pick<RpcMethod, 'scope' | 'further'>): string {
  return further ? `${scope}; ${further.scope} where ${further.where}` : scope;
}

/** The declared examples; a method without parameters has the call without arguments. */
export function examplesOf({ examples, params }: RpcMethod): readonly Example[] {
  return examples ?? (params.length === 0 ? [example([])] : []);
}

/** Whether the method has a secret parameter. */
export function hasSecrets({ params }: RpcMethod): boolean {
  return params.some(({ secret }) => secret);
}

/** Returns the line of usage: `getblock "blockhash" ( verbosity )`. */
export function usage({ name, params }: RpcMethod): string {
  let line = name;
  let inOptional = false;
  for (const param of params) {
    if (param.hidden) break;
    if (inOptional && param.required) line += ' )';
    if (!inOptional && !param.required) line += ' (';
    inOptional = !param.required;
    line += ` ${param.oneline}`;
  }
  return inOptional ? `${line} )` : line;
}

/** Returns the values of the arguments of a call. Throws RpcError with Core's codes and texts. */
export function readArguments(method: RpcMethod, given: RpcValue): unknown[] {
  const { params } = method;
  const args = Array.isArray(given)
    ? given
    : given === null
      ? []
      : positional(given as Record<string, RpcValue>, params);
  if (args.length > params.length) throw new RpcError(RPC_ERROR.misc, usage(method));
  if (params.length === 0) return [];
  const required = params.findLastIndex((param) => param.required) + 1;
  if (args.length < required) throw new RpcError(RPC_ERROR.misc, usage(method));
  if (!params.every((param, i) => fitsType(param, args[i] ?? null))) throw wrongTypes(params, args);
  const wanted = method.variadic ? params.slice(0, args.length) : params;
  return wanted.map((param, i) => param.read(param.secret ? (args[i] ?? null) : revealed(args[i] ?? null)));
}

function fitsType({ type, required }: Param<unknown>, value: RpcValue): boolean {
  return type === 'any' || (value === null && !required) || typeName(value) === type;
}

function wrongTypes(params: readonly Param<unknown>[], args: readonly RpcValue[]): RpcError {
  const mismatches: Record<string, string> = {};
  for (const [i, param] of params.entries()) {
    const value = args[i] ?? null;
    if (fitsType(param, value)) continue;
    const names = [param.name, ...param.aliases].join('|');
    mismatches[`Position ${i + 1} (${names})`] =
      `JSON value of type ${typeName(value)} is not of expected type ${param.type}`;
  }
  return new RpcError(RPC_ERROR.type, `Wrong type passed:\n${JSON.stringify(mismatches, null, 4)}`);
}
