import type { RpcValue } from './json.ts';
import type { RpcMethods } from './method.ts';
import { type KeptReply, type PreparedCall, type RpcCall, readCall, resultReply } from './protocol.ts';
import { type JsonPieces, joined } from './reply-body.ts';

/** Longer requests are not kept, nor are longer results. Characters. */
const MAX_REQUEST = 512;
const MAX_RESULT = 16 * 1024;
/** Calls of one generation. There are two, so twice as many are kept, with eight mebibytes of replies at most. */
const MAX_CALLS = 128;

const ID = '"id"';
/** An id that has only one text, with the end of its member. */
const PLAIN_ID = /(?:0|[1-9][0-9]{0,14}|"[ !#-[\]-~]{0,64}")(?=[,}])/y;

/**
 * Calls by the text of their request. Clients repeat the same requests with other ids, so most of the work of a short
 * read is the same each time. When a generation of calls is full, those that were not used since the one before are
 * forgotten. So a call that is used goes on to be kept however many others come, and no use changes the order of a list.
 */
export class PreparedCalls {
  readonly #methods: RpcMethods;
  /** By the text around the id. */
  #young = new Map<string, PreparedCall>();
  #old = new Map<string, PreparedCall>();
  /** The call of the last request. A client that repeats one call finds it by a comparison of the texts around the id. */
  #last: { readonly prepared: PreparedCall; readonly head: string; readonly tail: string } | null = null;

  constructor(methods: RpcMethods) {
    this.#methods = methods;
  }

  /** Number of kept calls. */
  get size(): number {
    return this.#young.size + this.#old.size;
  }

  /** Returns the call of a request with the same text as a kept one, except for the id; null if there is none. */
  find(text: string): RpcCall | null {
    const last = this.#last;
    if (last !== null && text.length <= MAX_REQUEST && text.startsWith(last.head) && text.endsWith(last.tail)) {
      const end = endOfId(text, last.head.length);
      if (end === text.length - last.tail.length) return withId(last.prepared, text.slice(last.head.length, end));
    }
    const from = startOfId(text);
    const end = from < 0 ? -1 : endOfId(text, from);
    if (end < 0) return null;
    const [head, tail] = [text.slice(0, from), text.slice(end)];
    const around = head + tail;
    const prepared = this.#young.get(around) ?? this.#fromOld(around);
    if (prepared === null) return null;
    this.#last = { prepared, head, tail };
    return withId(prepared, text.slice(from, end));
  }

  /** Returns the call of the parsed text of one request. It can be kept if its method allows that. */
  prepare(text: string, value: RpcValue): RpcCall {
    const call = readCall(value);
    if (call.invalid !== null || this.#methods.get(call.method)?.isKept !== true) return call;
    const from = startOfId(text);
    const end = from < 0 ? -1 : endOfId(text, from);
    // The text names its id once and without escapes, so another id in its place has no other meaning.
    if (
      end < 0 ||
      text.slice(from, end) !== call.id ||
      text.includes('\\') ||
      text.lastIndexOf(ID) !== text.indexOf(ID)
    )
      return call;
    return { ...call, prepared: { call, around: text.slice(0, from) + text.slice(end), kept: null } };
  }

  /** Keeps a call that `prepare` has returned, once its caller is known to have the right to make it. */
  keep({ prepared }: RpcCall): void {
    if (prepared && !this.#young.has(prepared.around)) this.#add(prepared);
  }

  #fromOld(around: string): PreparedCall | null {
    const prepared = this.#old.get(around);
    if (prepared === undefined) return null;
    this.#old.delete(around);
    this.#add(prepared);
    return prepared;
  }

  #add(prepared: PreparedCall): void {
    if (this.#young.size >= MAX_CALLS) {
      this.#old = this.#young;
      this.#young = new Map();
      // Its next use has to bring it into this generation.
      this.#last = null;
    }
    this.#young.set(prepared.around, prepared);
  }
}

function withId(prepared: PreparedCall, id: string): RpcCall {
  const { version, method, params } = prepared.call;
  return { version, id, method, params, invalid: null, prepared };
}

/** Keeps the reply to a prepared call, unless it is long. */
export function keepReply(
  prepared: PreparedCall,
  result: JsonPieces,
  { state, mempoolSeq }: Pick<KeptReply, 'state' | 'mempoolSeq'>,
): void {
  let length = 0;
  for (const piece of result) length += piece.length;
  if (length > MAX_RESULT) return;
  const { version } = prepared.call;
  const [head, tail] = joined(resultReply({ version, id: MARK }, result)).split(MARK) as [string, string];
  prepared.kept = { state, mempoolSeq, head, tail };
}

/** Stands for the id. JSON text contains no control character. */
const MARK = '\u0001';

/** Returns where the value of the first member `id` begins; -1 if there is none, or if the request is long. */
function startOfId(text: string): number {
  const name = text.length > MAX_REQUEST ? -1 : text.indexOf(ID);
  const colon = name + ID.length;
  if (name < 0 || text.charCodeAt(colon) !== COLON) return -1;
  return text.charCodeAt(colon + 1) === SPACE ? colon + 2 : colon + 1;
}

/** Returns the end of the id that begins at `from`; -1 if it is not plain. */
function endOfId(text: string, from: number): number {
  PLAIN_ID.lastIndex = from;
  return PLAIN_ID.test(text) ? PLAIN_ID.lastIndex : -1;
}

const COLON = 0x3a;
const SPACE = 0x20;
