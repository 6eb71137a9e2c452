import { Elysia, t } from 'elysia';
import type { Call } from '../../http/call.ts';
import { ApiError, fail } from '../../http/errors.ts';
import { mediaType } from '../../http/media-type.ts';
import { ownerOf } from '../../http/owner.ts';
import { asResponse, PlainReply } from '../../http/plain-reply.ts';
import { describeRoute } from '../../http/route-description.ts';
import { slicePauses } from '../../http/slice-pauses.ts';
import { excessOf, mayExceed } from '../../http/value-count.ts';
import type { MaybePromise } from '../../util/maybe-promise.ts';
import { RPC_ERROR } from '../../util/rpc-error-codes.ts';
import { requireScope } from './audited.ts';
import { batchTexts } from './batch-texts.ts';
import { type RpcCaller, RpcDispatcher } from './dispatcher.ts';
import { isObject, NumberTooLong, parseJson, type RpcValue } from './json.ts';
import { KeyQueue, type QueueSlot } from './key-queue.ts';
import { hasSecrets, type RpcMethods } from './method.ts';
import { PreparedCalls } from './prepared-calls.ts';
import {
  batchReply,
  errorReply,
  errorStatus,
  isNotification,
  RPC_KIND,
  type RpcCall,
  readCall,
  resultReply,
  rpcReply,
} from './protocol.ts';
import { type JsonPieces, joined, type SendLong } from './reply-body.ts';
import type { RpcContext } from './rpc-context.ts';
import { RpcError } from './rpc-error.ts';
import { RPC_ROUTE } from './rpc-route.ts';
import { extractSecrets, revealed, SecretMethods } from './secret-texts.ts';

type ReplyTarget = RpcCaller & { readonly send: SendLong };

/** The request, and the wallet in its path. */
interface RequestTarget {
  readonly wallet: string | null;
  readonly request: Request;
}

const decoder = new TextDecoder();
/** The request of internal calls, which no client ends. */
const NEVER: Pick<Request, 'signal'> = { signal: new AbortController().signal };
/** Slot of internal calls, which are not queued. */
const UNQUEUED: QueueSlot = { releaseDuring: (wait) => wait() };
/** Accepted media types. The last one is the default of curl. */
const CONTENT_TYPES = ['application/json', 'application/json-rpc', 'text/plain', 'application/x-www-form-urlencoded'];
/** Time limit of one slice of a batch, milliseconds. */
const SLICE_MS = 2;
/**
 * Unanswered calls of a batch that overlap: some groups of transactions, of which the node thread accepts one while the
 * scripts of the next are verified.
 */
const MAX_OVERLAPPING = 96;

/** JSON-RPC at `POST /` and `POST /wallet/<name>`, with these methods. */
export const methodRoutes = (ctx: RpcContext, methods: RpcMethods) => {
  const dispatcher = new RpcDispatcher(ctx, methods);
  // Their secret parameters must not become JavaScript strings.
  const secretMethods = new SecretMethods([...methods.values()].filter(hasSecrets).map(({ name }) => name));
  const { limits } = ctx.options;
  const queue = new KeyQueue(limits, ctx.sharedCounts);
  const probe = readCall({ jsonrpc: '2.0', method: 'getblockcount' });
  ctx.rpcProbe = () =>
    // Asynchronous, so that an error is a rejection.
    Promise.resolve().then(() =>
      dispatcher.run(probe, { call: null, wallet: null, request: NEVER, queueSlot: UNQUEUED }),
    );

  const prepared = new PreparedCalls(methods);

  /** Throws ApiError for the whole request if the caller may not make this call. */
  const checkCall = ({ method, prepared }: RpcCall, call: Call, wallet: string | null): void => {
    const { rpcWhitelist } = call.principal;
    if (rpcWhitelist && !rpcWhitelist.has(method.toLowerCase()))
      fail('insufficient_scope', `the whitelist of the caller does not contain the method ${method}`);
    if (prepared) {
      // Such calls are not recorded in the audit log.
      call.require(KEPT_SCOPE);
      ctx.checkKey(call, KEPT_SCOPE);
      return;
    }
    const known = methods.get(method);
    if (known) requireScope(ctx, { method: known, scope: known.scope, args: [], call, wallet });
  };

  const answer = (request: Request, wallet: string | null): Promise<Response | PlainReply> => {
    checkContentType(request);
    return request.bytes().then((bytes) => answerBytes(request, wallet, bytes));
  };

  const answerBytes = (
    request: Request,
    wallet: string | null,
    bytes: Uint8Array,
  ): MaybePromise<Response | PlainReply> => {
    const call = ctx.call(request);
    const target = { wallet, request };
    if (mayExceed(bytes)) return handleLong(bytes, call, target);
    try {
      const reply = handleBytes(bytes, call, target);
      return reply instanceof Promise ? reply.catch(refused) : reply;
    } catch (error) {
      return refused(error);
    }
  };

  const handleLong = async (bytes: Uint8Array, call: Call, target: RequestTarget): Promise<Response | PlainReply> => {
    try {
      // One request with a million small values would block the main thread for all callers.
      const excess = await excessOf(bytes);
      if (excess) throw new RpcError(RPC_ERROR.invalidRequest, `the request holds more than ${excess}`);
      return await handleBytes(bytes, call, target);
    } catch (error) {
      return refused(error);
    }
  };

  const handleBytes = (bytes: Uint8Array, call: Call, target: RequestTarget): MaybePromise<Response | PlainReply> => {
    const secrets = extractSecrets(bytes, secretMethods);
    if (secrets === null) return handleText(decoder.decode(bytes), call, target);
    const read = (value: RpcValue) => withTexts(methods, readCall(value));
    const handled = async () => handleBody(secrets.restore(parseBody(secrets.text)), read, call, target);
    return handled().finally(() => secrets.wipe());
  };

  const handleText = (text: string, call: Call, target: RequestTarget): MaybePromise<Response | PlainReply> => {
    const texts = batchTexts(text);
    if (texts) return handleBatch(callsOf(text, texts), call, target);
    const found = prepared.find(text);
    if (found) return handleFound(found, call, target);
    return handleBody(parseBody(text), (value) => prepared.prepare(text, value), call, target);
  };

  /** Returns the calls of a batch, which is parsed unless all of them are known. Throws RpcError. */
  const callsOf = (text: string, texts: readonly string[]): RpcCall[] => {
    const calls = texts.map((each) => prepared.find(each));
    if (calls.every((each) => each !== null)) return calls;
    const values = parseBody(text) as RpcValue[];
    return values.map((value, i) => calls[i] ?? prepared.prepare(texts[i]!, value));
  };

  /** Answers a call whose text is known. */
  const handleFound = (found: RpcCall, call: Call, target: RequestTarget): MaybePromise<Response | PlainReply> => {
    checkCall(found, call, target.wallet);
    const kept = queue.hasFreeSlot(call.principal.id) ? dispatcher.keptReply(found) : null;
    if (kept !== null) return new PlainReply(RPC_KIND, `${kept}\n`);
    return queue.run(call.principal.id, (slot) => single(dispatcher, found, targetOf(call, target, slot)));
  };

  const handleBody = (
    body: RpcValue,
    read: (value: RpcValue) => RpcCall,
    call: Call,
    target: RequestTarget,
  ): MaybePromise<Response | PlainReply> => {
    if (Array.isArray(body)) return handleBatch((body as RpcValue[]).map(read), call, target);
    const only = read(body);
    checkCall(only, call, target.wallet);
    prepared.keep(only);
    return queue.run(call.principal.id, (slot) => single(dispatcher, only, targetOf(call, target, slot)));
  };

  const handleBatch = (
    calls: readonly RpcCall[],
    call: Call,
    target: RequestTarget,
  ): MaybePromise<Response | PlainReply> => {
    if (calls.length > limits.rpcMaxBatch)
      throw new RpcError(RPC_ERROR.invalidRequest, `more than ${limits.rpcMaxBatch} calls`);
    for (const each of calls) checkCall(each, call, target.wallet);
    call.charge(Math.max(0, calls.length - 1));
    for (const each of calls) prepared.keep(each);
    return queue.run(call.principal.id, (slot) => batch(dispatcher, calls, targetOf(call, target, slot)));
  };

  const targetOf = (call: Call, { wallet, request }: RequestTarget, queueSlot: QueueSlot): ReplyTarget => {
    const send: SendLong = (pieces, length) => {
      const to = { owner: ownerOf(call), signal: request.signal };
      ctx.replies.admit(to.owner);
      return ctx.replies.stream(pieces, length, to);
    };
    return { call, wallet, request, queueSlot, send };
  };

  const bounds = { bodyLimit: limits.rpcBodyBytes, unlimitedTime: true };
  const detail = (name: string, summary: string) => describeRoute({ ...RPC_ROUTE, name, summary, limits: bounds });
  ctx.answerDirectly({
    method: 'POST',
    path: '/',
    checkBeforeBody: checkContentType,
    answer: (request, _, body) => answerBytes(request, null, body),
  });
  return new Elysia({ name: 'rpc' })
    .post('/', ({ request }) => answer(request, null).then(asResponse), {
      parse: 'none',
      detail: detail('call-rpc', 'JSON-RPC'),
    })
    .post('/wallet/', ({ request }) => answer(request, '').then(asResponse), {
      parse: 'none',
      // Older clients use this path for the unnamed default wallet, which does not exist here.
      detail: { ...detail('rpc-unnamed-wallet', 'JSON-RPC'), hide: true },
    })
    .post('/wallet/:name', ({ request, params }) => answer(request, params.name).then(asResponse), {
      parse: 'none',
      params: t.Object({ name: t.String({ description: 'name of a wallet' }) }),
      detail: detail('call-wallet-rpc', 'JSON-RPC of one wallet'),
    })
    .post('/wallet/*', ({ request }) => answer(request, walletInPath(request.url)).then(asResponse), {
      parse: 'none',
      // The name of a wallet may be a path, whose slashes clients such as Core's leave as they are.
      detail: { ...detail('rpc-wallet-by-path', 'JSON-RPC of one wallet'), hide: true },
    });
};

/** Returns the rest of the path as the name of a wallet; as it is where it has no valid escapes, which no wallet has. */
function walletInPath(url: string): string {
  const name = new URL(url).pathname.slice('/wallet/'.length);
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** Returns the reply to a whole request that is refused with an error of JSON-RPC. Throws any other error. */
function refused(error: unknown): Response | PlainReply {
  if (error instanceof RpcError) return rpcReply(400, [errorReply(UNKNOWN, error)]);
  throw error;
}

/** The scope of all methods whose replies are kept. */
const KEPT_SCOPE = 'read';

/** Form of the reply to a request that cannot be parsed. Older clients understand version 2.0 as well. */
const UNKNOWN = { version: '2.0', id: 'null' } as const;

function checkContentType(request: Request): void {
  const given = request.headers.get('content-type');
  if (given === null || CONTENT_TYPES.includes(given)) return;
  const type = mediaType(request);
  if (type === '' || CONTENT_TYPES.includes(type)) return;
  throw new ApiError('unsupported_media_type', `unsupported media type ${type}`, { accepted: CONTENT_TYPES });
}

function parseBody(text: string): RpcValue {
  let body: RpcValue;
  try {
    body = parseJson(text);
  } catch (error) {
    if (error instanceof NumberTooLong) throw new RpcError(RPC_ERROR.invalidRequest, error.message);
    throw new RpcError(RPC_ERROR.parse, 'Parse error');
  }
  if (!Array.isArray(body) && !isObject(body)) throw new RpcError(RPC_ERROR.parse, 'Top-level object parse error');
  return body;
}

/** Converts secret texts to strings, except for methods with secret parameters. */
function withTexts(methods: RpcMethods, call: RpcCall): RpcCall {
  const method = methods.get(call.method);
  return method && hasSecrets(method) ? call : { ...call, params: revealed(call.params) };
}

function single(dispatcher: RpcDispatcher, call: RpcCall, caller: ReplyTarget): MaybePromise<Response | PlainReply> {
  const failed = (error: unknown) => failureReply(call, error as RpcError);
  const done = (result: JsonPieces) =>
    isNotification(call) ? new Response(null, { status: 204 }) : rpcReply(200, resultReply(call, result), caller.send);
  let result: MaybePromise<JsonPieces>;
  try {
    result = dispatcher.run(call, caller);
  } catch (error) {
    return failed(error);
  }
  return result instanceof Promise ? result.then(done, failed) : done(result);
}

function failureReply(call: RpcCall, failure: RpcError): Response | PlainReply {
  if (isNotification(call) && !call.invalid) return new Response(null, { status: 204 });
  const reply = errorReply({ ...call, id: call.invalid ? (call.id ?? 'null') : call.id }, failure);
  return rpcReply(errorStatus(call, failure), [reply]);
}

/** Kept replies that a batch may use before it yields. */
const MAX_AT_ONCE = 64;

/** Runs the calls of a batch. Its first calls are answered at once while their replies are kept. */
function batch(
  dispatcher: RpcDispatcher,
  calls: readonly RpcCall[],
  caller: ReplyTarget,
): MaybePromise<Response | PlainReply> {
  const texts: string[] = [];
  while (texts.length < Math.min(calls.length, MAX_AT_ONCE)) {
    const kept = dispatcher.keptReply(calls[texts.length]!);
    if (kept === null) break;
    texts.push(kept);
  }
  if (texts.length < calls.length || calls.length === 0) return restOfBatch(dispatcher, calls, texts, caller);
  return batchReply(calls, texts, caller.send);
}

/**
 * Runs the calls of a batch one after another, except neighbours that may overlap. `texts` has the replies to the first
 * ones already.
 */
async function restOfBatch(
  dispatcher: RpcDispatcher,
  calls: readonly RpcCall[],
  texts: string[],
  caller: ReplyTarget,
): Promise<Response | PlainReply> {
  const pause = slicePauses(SLICE_MS);
  let running: Promise<void>[] = [];
  for (let index = texts.length; index < calls.length; index++) {
    const call = calls[index]!;
    const overlaps = dispatcher.mayOverlap(call);
    if (!overlaps && running.length > 0) await Promise.all(running.splice(0));
    else if (running.length >= MAX_OVERLAPPING) {
      await Promise.all(running.slice(0, MAX_OVERLAPPING / 2));
      running = running.slice(MAX_OVERLAPPING / 2);
    }
    const text = dispatcher.keptReply(call) ?? replyText(dispatcher, call, caller);
    if (!(text instanceof Promise)) texts[index] = text;
    else {
      const done = text.then((ready) => void (texts[index] = ready));
      if (overlaps) running.push(done);
      else await done;
    }
    const pausing = pause();
    if (pausing) await pausing;
  }
  await Promise.all(running);
  const replies = texts.filter((_, index) => !isNotification(calls[index]!));
  return batchReply(calls, replies, caller.send);
}

/** Returns the reply to one call of a batch. */
function replyText(dispatcher: RpcDispatcher, call: RpcCall, caller: ReplyTarget): MaybePromise<string> {
  const done = (result: JsonPieces) => joined(resultReply(call, result));
  const failed = (error: unknown) => errorReply(call, error as RpcError);
  try {
    const result = dispatcher.run(call, caller);
    return result instanceof Promise ? result.then(done, failed) : done(result);
  } catch (error) {
    return failed(error);
  }
}
