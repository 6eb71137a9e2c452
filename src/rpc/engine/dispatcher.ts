import type { Call } from '../../http/call.ts';
import { ApiError } from '../../http/errors.ts';
import { NODE, ownerOf } from '../../http/owner.ts';
import type { Scope } from '../../http/scopes.ts';
import { NeedsWorker, type ReadEnv } from '../../queries/read-env.ts';
import type { ReadService } from '../../queries/read-service.ts';
import { withWallet } from '../../queries/wallet-env.ts';
import { RPC_ERROR } from '../../util/rpc-error-codes.ts';
import { auditCallOf, audited, auditTime, requireScope } from './audited.ts';
import { walletOf, walletSynced } from './call-wallet.ts';
import { jobBody, jobText } from './job-result.ts';
import type { RpcValue } from './json.ts';
import type { QueueSlot } from './key-queue.ts';
import { mempoolSlotsOf, txidsTouching } from './mempool-parts.ts';
import {
  type MainThreadEnv,
  type RpcMethod,
  type RpcMethods,
  type RunningCall,
  readArguments,
  scopeOfCall,
} from './method.ts';
import type { RpcCall } from './protocol.ts';
import type { JsonPieces } from './reply-body.ts';
import { resultPieces } from './result-pieces.ts';
import type { RpcContext } from './rpc-context.ts';
import { asRpcError, RpcError } from './rpc-error.ts';
import { RpcState } from './rpc-state.ts';

/** The caller of a call, and the wallet in its path. */
export interface RpcCaller {
  readonly call: Call | null;
  readonly wallet: string | null;
  readonly signal: AbortSignal;
  readonly queueSlot: QueueSlot;
  /** Called with the result of a method on the main thread. */
  readonly onResult?: (value: unknown) => void;
}

interface CallInput {
  readonly args: readonly unknown[];
  readonly params: RpcValue;
}

/** Length of a text in the parameters of a call up to which it may overlap, so that few bytes wait for the node thread. */
const MAX_OVERLAPPING_LENGTH = 20_000;

/** Runs methods: reads on the main thread while they are short, longer ones in a reader worker. */
export class RpcDispatcher {
  readonly #ctx: RpcContext;
  readonly #service: ReadService;
  readonly #methods: RpcMethods;
  readonly #running = new Set<RunningCall>();
  readonly #state = new RpcState();

  constructor(ctx: RpcContext, methods: RpcMethods) {
    this.#ctx = ctx;
    this.#methods = methods;
    this.#service = ctx.queries;
  }

  /** Returns whether a call may run while earlier calls of its batch that may overlap are unanswered. */
  mayOverlap({ method, params }: RpcCall): boolean {
    const isLong = (value: unknown) => typeof value === 'string' && value.length > MAX_OVERLAPPING_LENGTH;
    return (this.#methods.get(method)?.overlaps ?? false) && Array.isArray(params) && !params.some(isLong);
  }

  /** Returns the result as JSON text. Throws RpcError. */
  async run({ method: name, params, invalid }: RpcCall, caller: RpcCaller): Promise<JsonPieces> {
    const startedAt = performance.now();
    const method = this.#methods.get(name);
    const running = { method: name, startedAt };
    let code = 0;
    this.#running.add(running);
    try {
      if (invalid) throw invalid;
      if (!method) throw new RpcError(RPC_ERROR.methodNotFound, 'Method not found');
      return await this.#invoke(method, params, caller);
    } catch (error) {
      const failure = this.#asRpcError(error, name, caller.signal);
      code = failure.rpcCode;
      throw failure;
    } finally {
      this.#running.delete(running);
      // Callers choose the name, so only existing methods become labels.
      if (method) this.#ctx.metrics.rpc(method.name, code, (performance.now() - startedAt) / 1000);
    }
  }

  async #invoke(method: RpcMethod, params: RpcValue, caller: RpcCaller): Promise<JsonPieces> {
    const args = readArguments(method, params);
    const { call } = caller;
    const scope = scopeOfCall(method, args);
    const asked = call && { method, scope, args, call, wallet: caller.wallet };
    if (asked) requireScope(this.#ctx, asked);
    const when = auditTime(method, scope);
    if (!asked || when === null) return this.#followed(method, scope, { args, params }, caller);
    const about = auditCallOf(this.#ctx, asked);
    return audited(this.#ctx, about, when, {
      run: (onResult) => this.#followed(method, scope, { args, params }, { ...caller, onResult }),
      codeOf: (error) => this.#asRpcError(error, method.name, caller.signal),
    });
  }

  /** Runs a call, and aborts a long one when its key loses the right to make it. */
  async #followed(method: RpcMethod, scope: Scope, input: CallInput, caller: RpcCaller): Promise<JsonPieces> {
    const { call } = caller;
    if (!method.long || !call) return this.#run(method, input, caller);
    const following = this.#ctx.follow(call, scope);
    try {
      const signal = AbortSignal.any([caller.signal, following.signal]);
      const result = await this.#run(method, input, { ...caller, signal });
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

  async #run(method: RpcMethod, { args, params }: CallInput, caller: RpcCaller): Promise<JsonPieces> {
    const main: MainThreadEnv = {
      ctx: this.#ctx,
      ...caller,
      state: this.#state,
      running: this.#running,
      mempool: this.#ctx.mempool.mirror,
      settings: this.#service.sources.settings,
      read: (read) => this.#service.readWhole(read, caller.signal),
    };
    if (method.runsOn === 'main') {
      const value = await method.invoke(main, args);
      caller.onResult?.(value);
      return resultPieces(value);
    }
    if (method.runsOn === 'wallet') await walletSynced(main);
    const wallet = method.runsOn === 'wallet' ? walletOf(main) : null;
    const inside = <T>(env: ReadEnv, work: (env: ReadEnv) => T): T =>
      wallet ? withWallet(env, wallet, work) : work(env);
    try {
      return await this.#service.readShort(
        (env) => inside(env, (on) => resultPieces(method.invoke(on, args))),
        caller.signal,
      );
    } catch (error) {
      if (!(error instanceof NeedsWorker)) throw error;
    }
    const job = { kind: 'rpc', method: method.name, params: JSON.stringify(params), wallet: wallet?.state } as const;
    const { long = false, spends, scripts, mempoolPart } = method;
    const { signal } = caller;
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

  #asRpcError(error: unknown, method: string, signal: AbortSignal): RpcError {
    if (error instanceof RpcError) return error;
    if (error instanceof ApiError) return asRpcError(error);
    // An error after the caller has left is not a fault.
    if (!signal.aborted || error !== signal.reason) this.#ctx.log.error('JSON-RPC call failed', { method, error });
    return new RpcError(RPC_ERROR.internal, 'Internal error');
  }
}
