import type { RpcValue } from './json.ts';
import type { RpcMethods } from './method.ts';
import { type KeptReply, type PreparedCall, type RpcCall, readCall, resultReply } from './protocol.ts';
import { type JsonPieces, joined } from './reply-body.ts';

/** A prepared call by the text on one side of its id. `rest` is the text on the other side. */
interface PreparedText {
  readonly isHead: boolean;
  readonly rest: string;
  readonly call: PreparedCall;
}

/** A prepared call with the id of another request, as JSON text. */
interface FoundCall {
  readonly before: PreparedCall;
  readonly id: string;
}

/** Longer requests are not kept, nor are longer results. Characters. */
const MAX_REQUEST = 512;
const MAX_RESULT = 16 * 1024;
/** At this number all are forgotten. */
const MAX_CALLS = 256;

const ID = '"id"';
/** An id that has only one text, with the end of its member. */
const PLAIN_ID = /(?:0|[1-9][0-9]{0,14}|"[ !#-[\]-~]{0,64}")(?=[,}])/y;

/**
 * Calls by the text of their request. Clients repeat the same requests with other ids, so most of the work of a short
 * read is the same each time.
 */
export class PreparedCalls {
  readonly #methods: RpcMethods;
  /** By the longer one of the texts before the id and behind it. */
  readonly #byText = new Map<string, PreparedText>();

  constructor(methods: RpcMethods) {
    this.#methods = methods;
  }

  /** Returns the prepared call of a request with the same text, except for the id; null if there is none. */
  find(text: string): FoundCall | null {
    const from = startOfId(text);
    const end = from < 0 ? -1 : endOfId(text, from);
    if (end < 0) return null;
    const isHead = from > text.length - end;
    const known = this.#byText.get(isHead ? text.slice(0, from) : text.slice(end));
    if (known === undefined || known.isHead !== isHead) return null;
    const { rest } = known;
    const isSame = isHead
      ? text.length - end === rest.length && text.endsWith(rest)
      : from === rest.length && text.startsWith(rest);
    return isSame ? { before: known.call, id: text.slice(from, end) } : null;
  }

  /** Returns the call of a parsed request that is no batch. It is prepared if its method allows that. */
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
    if (this.#byText.size >= MAX_CALLS) this.#byText.clear();
    const prepared: PreparedCall = { call, kept: null };
    const [head, tail] = [text.slice(0, from), text.slice(end)];
    const isHead = head.length > tail.length;
    this.#byText.set(isHead ? head : tail, { isHead, rest: isHead ? tail : head, call: prepared });
    return { ...call, prepared };
  }
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
  prepared.kept = { state, mempoolSeq, head, tail: `${tail}\n` };
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
