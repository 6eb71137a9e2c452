import type { Call } from '../../http/call.ts';
import { ApiError } from '../../http/errors.ts';
import { NODE, ownerOf } from '../../http/owner.ts';
import type { Scope } from '../../http/scopes.ts';
import { mempoolSlotsOf, txidsTouching } from '../../queries/mempool-parts.ts';
import { MempoolBehind, NeedsWorker, type ReadEnv } from '../../queries/read-env.ts';
import type { AnswerService } from '../../queries/read-service.ts';
import { withWallet } from '../../queries/wallet-env.ts';
import type { Log } from '../../util/log.ts';
import type { MaybePromise } from '../../util/maybe-promise.ts';
import { RPC_ERROR } from '../../util/rpc-error-codes.ts';
import { type AuditedCall, type AuditTime, auditCallOf, audited, auditTime, requireScope } from './audited.ts';
import { walletOf, walletSynced } from './call-wallet.ts';
import { jobBody, jobText } from './job-result.ts';
import type { RpcValue } from './json.ts';
import type { QueueSlot } from './key-queue.ts';
import {
  type MainThreadEnv,
  type RpcMethod,
  type RpcMethods,
  type RunningCall,
  readArguments,
  scopeOfCall,
} from './method.ts';
import { keepReply } from './prepared-calls.ts';
import type { PreparedCall, RpcCall } from './protocol.ts';
import type { JsonPieces } from './reply-body.ts';
import { resultPieces } from './result-pieces.ts';
import type { RpcContext } from './rpc-context.ts';
import { asRpcError, RpcError } from './rpc-error.ts';
import { RpcState } from './rpc-state.ts';

/** The caller of a call, and the wallet in its path. */
export interface RpcCaller {
  readonly call: Call | null;
  readonly wallet: string | null;
  /** Its signal is made only where a call waits for something. */
  readonly request: Pick<Request, 'signal'>;
  /** Replaces the signal of the request. */
  readonly until?: AbortSignal;
  readonly queueSlot: QueueSlot;
  /** Called with the result of a method on the main thread. */
  readonly onResult?: (value: unknown) => void;
}

interface CallInput {
  readonly args: readonly unknown[];
  readonly params: RpcValue;
  /** Whether the main thread has found that the work exceeds its budget. */
  readonly needsWorker?: boolean;
}

/** Length of a text in the parameters of a call up to which it may overlap, so that few bytes wait for the node thread. */
const MAX_OVERLAPPING_LENGTH = 20_000;

const NEEDS_WORKER = Symbol('the call needs a worker');
const MUST_WAIT = Symbol('the call has to wait');

/** Characters of an id that the log shows. */
const LOGGED_ID_LENGTH = 64;

/** Returns an id, which is JSON text, as the log shows it: Core's safe characters of it, and shortened. */
function loggedId(json: string): string {
  const safe = json.replaceAll(/\\u.{4}|\\.|[^a-zA-Z0-9 .,;\-_/:?@()]/g, '');
  return safe.slice(0, LOGGED_ID_LENGTH);
}

/** Runs methods: reads on the main thread while they are short, longer ones in a reader worker. */
export class RpcDispatcher {
  readonly #ctx: RpcContext;
  readonly #service: AnswerService;
  readonly #methods: RpcMethods;
  readonly #running = new Set<RunningCall>();
  readonly #state: RpcState;
  readonly #log: Log;

  constructor(ctx: RpcContext, methods: RpcMethods) {
    this.#ctx = ctx;
    this.#log = ctx.log.category('http');
    this.#methods = methods;
    this.#service = ctx.queries;
    this.#state = new RpcState(ctx.sharedCounts);
  }

  /** Returns whether a call may run while earlier calls of its batch that may overlap are unanswered. */
  mayOverlap({ method, params }: RpcCall): boolean {
    const isLong = (value: unknown) => typeof value === 'string' && value.length > MAX_OVERLAPPING_LENGTH;
    return (this.#methods.get(method)?.overlaps ?? false) && Array.isArray(params) && !params.some(isLong);
  }

  /** Returns the text of the reply that was kept for a call, and counts the call; null if it has to be made anew. */
  keptReply(call: RpcCall): string | null {
    const { method, id, prepared } = call;
    const kept = prepared?.kept ?? null;
    if (kept === null || !this.#service.isPresent(kept)) return null;
    this.#logCall(call);
    // It takes less than a microsecond, and reading the clock would double that.
    this.#ctx.metrics.rpc(method, 0, 0);
    return kept.head + id! + kept.tail;
  }

  /** Returns the result as JSON text, at once if it is a short read. Throws or rejects with RpcError. */
  run(call: RpcCall, caller: RpcCaller): MaybePromise<JsonPieces> {
    const method = this.#methods.get(call.method) ?? null;
    const running: RunningCall = { method: call.method, startedAt: performance.now() };
    this.#running.add(running);
    // Callers choose the name, so only that of an existing method is logged.
    if (method) this.#logCall(call);
    let result: MaybePromise<JsonPieces>;
    try {
      if (call.invalid) throw call.invalid;
      if (!method) throw new RpcError(RPC_ERROR.methodNotFound, 'Method not found');
      result = this.#invoke(method, call, caller);
    } catch (error) {
      throw this.#failed(running, error, caller);
    }
    if (result instanceof Promise) return this.#ended(running, result, caller);
    this.#end(running, 0);
    return result;
  }

  #logCall({ method, id }: RpcCall): void {
    if (!this.#log.enabled('debug')) return;
    this.#log.debug('JSON-RPC call started', { method, id: id === undefined ? undefined : loggedId(id) });
  }

  async #ended(running: RunningCall, result: Promise<JsonPieces>, caller: RpcCaller): Promise<JsonPieces> {
    try {
      const pieces = await result;
      this.#end(running, 0);
      return pieces;
    } catch (error) {
      throw this.#failed(running, error, caller);
    }
  }

  #failed(running: RunningCall, error: unknown, caller: RpcCaller): RpcError {
    const failure = this.#asRpcError(error, running.method, caller);
    this.#end(running, failure.rpcCode);
    return failure;
  }

  #end(running: RunningCall, code: number): void {
    const { method, startedAt } = running;
    this.#running.delete(running);
    // Callers choose the name, so only existing methods become labels.
    if (this.#methods.has(method)) this.#ctx.metrics.rpc(method, code, (performance.now() - startedAt) / 1000);
  }

  #invoke(method: RpcMethod, { params, prepared }: RpcCall, caller: RpcCaller): MaybePromise<JsonPieces> {
    const args = readArguments(method, params);
    const { call } = caller;
    const scope = scopeOfCall(method, args);
    const asked = call && { method, scope, args, call, wallet: caller.wallet };
    if (asked) requireScope(this.#ctx, asked);
    const when = auditTime(method, scope);
    if (!asked || when === null) {
      const now = method.runsOn === 'reads' && !method.long ? this.#readNow(method, args, prepared) : MUST_WAIT;
      if (now !== MUST_WAIT && now !== NEEDS_WORKER) return now;
      return this.#followed(method, scope, { args, params, needsWorker: now === NEEDS_WORKER }, caller);
    }
    return this.#audited(asked, when, { args, params }, caller);
  }

  /** Returns the result of a short read, unless it needs a worker or has to wait for the mempool. */
  #readNow(
    method: RpcMethod,
    args: readonly unknown[],
    prepared: PreparedCall | null = null,
  ): JsonPieces | typeof NEEDS_WORKER | typeof MUST_WAIT {
    try {
      return this.#service.readNow((env) => {
        const result = resultPieces(method.invoke(env, args));
        if (prepared) keepReply(prepared, result, env);
        return result;
      });
    } catch (error) {
      if (error instanceof NeedsWorker) return NEEDS_WORKER;
      if (error instanceof MempoolBehind) return MUST_WAIT;
      throw error;
    }
  }

  #audited(asked: AuditedCall, when: AuditTime, input: CallInput, caller: RpcCaller): Promise<JsonPieces> {
    const { method, scope } = asked;
    const about = auditCallOf(this.#ctx, asked);
    return audited(this.#ctx, about, when, {
      run: (onResult) => this.#followed(method, scope, input, { ...caller, onResult }),
      codeOf: (error) => this.#asRpcError(error, method.name, caller),
    });
  }

  /** Runs a call, and aborts a long one when its key loses the right to make it. */
  async #followed(method: RpcMethod, scope: Scope, input: CallInput, caller: RpcCaller): Promise<JsonPieces> {
    const { call } = caller;
    if (!method.long || !call) return this.#run(method, input, caller);
    const following = this.#ctx.follow(call, scope);
    try {
      const until = AbortSignal.any([caller.until ?? caller.request.signal, following.signal]);
      const result = await this.#run(method, input, { ...caller, until });
      // The call may have ended early with a partial result.
      following.signal.throwIfAborted();
      return result;
    } catch (error) {
      following.signal.throwIfAborted();
      throw error;
    } finally {
      following.end();
    }
  }

  async #run(method: RpcMethod, { args, params, needsWorker }: CallInput, caller: RpcCaller): Promise<JsonPieces> {
    const signal = caller.until ?? caller.request.signal;
    const main: MainThreadEnv = {
      ctx: this.#ctx,
      call: caller.call,
      wallet: caller.wallet,
      signal,
      queueSlot: caller.queueSlot,
      state: this.#state,
      running: this.#running,
      mempool: this.#ctx.mempool.mirror,
      settings: this.#service.sources.settings,
      read: (read) => this.#service.readWhole(read, signal),
    };
    if (method.runsOn === 'main') {
      const value = await method.invoke(main, args);
      caller.onResult?.(value);
      return resultPieces(value);
    }
    if (method.ready) await method.ready(main, args);
    if (method.runsOn === 'wallet') await walletSynced(main);
    const wallet = method.runsOn === 'wallet' ? walletOf(main) : null;
    const inside = <T>(env: ReadEnv, work: (env: ReadEnv) => T): T =>
      wallet ? withWallet(env, wallet, work) : work(env);
    try {
      if (needsWorker !== true)
        return await this.#service.readShort(
          (env) => inside(env, (on) => resultPieces(method.invoke(on, args))),
          signal,
        );
    } catch (error) {
      if (!(error instanceof NeedsWorker)) throw error;
    }
    const job = { kind: 'rpc', method: method.name, params: JSON.stringify(params), wallet: wallet?.state } as const;
    const { long = false, spends, scripts, mempoolPart } = method;
    const owner = caller.call ? ownerOf(caller.call) : NODE;
    let part = mempoolPart && ((env: ReadEnv) => inside(env, (on) => [...mempoolPart(on, args)]));
    if (spends || scripts) {
      const asks = spends ? 'spends' : 'scripts';
      const asked = jobBody(await this.#service.runJob({ job: { ...job, asks }, signal, long, owner })) as Uint8Array;
      const txids = spends ? asked : await txidsTouching(main.mempool, asked, signal);
      part = (env) => mempoolSlotsOf(env, txids);
    }
    // The result is complete here, since the snapshot of the wallet ends with the job.
    return [jobText(await this.#service.runJob({ job, signal, long, owner, mempoolPart: part }))];
  }

  #asRpcError(error: unknown, method: string, { request, until }: RpcCaller): RpcError {
    if (error instanceof RpcError) return error;
    if (error instanceof ApiError) return asRpcError(error);
    const signal = until ?? request.signal;
    // An error after the caller has left is not a fault.
    if (!signal.aborted || error !== signal.reason) this.#ctx.log.error('JSON-RPC call failed', { method, error });
    return new RpcError(RPC_ERROR.internal, 'Internal error');
  }
}
