import type { TxRejection, TxRejectKind } from '../consensus/rejection.ts';

/** What one kind of failure answers: the HTTP status of REST, and the code of a JSON-RPC error object. */
export interface Failure {
  readonly http: number;
  readonly rpc: number;
}

/** Kinds of rejected transactions; REST shows all of them as `tx_rejected` and tells the class apart. */
const TX_REJECTIONS = {
  consensus: { http: 422, rpc: -26, class: 'consensus' },
  script: { http: 422, rpc: -26, class: 'script' },
  policy: { http: 422, rpc: -26, class: 'policy' },
  'inputs-not-standard': { http: 422, rpc: -26, class: 'policy' },
  'witness-mutated': { http: 422, rpc: -26, class: 'policy' },
  'witness-stripped': { http: 422, rpc: -26, class: 'policy' },
  fee: { http: 422, rpc: -26, class: 'fee' },
  'missing-inputs': { http: 422, rpc: -25, class: 'missing-inputs' },
  conflict: { http: 422, rpc: -26, class: 'conflict' },
  'premature-spend': { http: 422, rpc: -26, class: 'premature' },
} as const satisfies Record<TxRejectKind, Failure & { class: string }>;

/** `details.class` of a rejected transaction. */
export function txRejectClass({ kind, reason }: Pick<TxRejection, 'kind' | 'reason'>): string {
  return CLASS_OF_REASON[reason] ?? TX_REJECTIONS[kind].class;
}

/** Reasons whose class their kind does not tell. */
const CLASS_OF_REASON: Readonly<Record<string, string>> = {
  'insufficient fee': 'conflict',
  'replacement-failed': 'conflict',
  'bip125-replacement-disallowed': 'conflict',
  'bad-txns-spends-conflicting-tx': 'conflict',
  'max feerate exceeded': 'fee',
};

/** One row serves REST and RPC. The keys are the stable `code` of an error body. */
export const FAILURES = {
  invalid_request: { http: 400, rpc: -32600 },
  invalid_parameter: { http: 400, rpc: -8 },
  invalid_hash: { http: 400, rpc: -8 },
  invalid_txid: { http: 400, rpc: -8 },
  invalid_height: { http: 400, rpc: -8 },
  invalid_address: { http: 400, rpc: -5 },
  invalid_cursor: { http: 400, rpc: -8 },
  tx_decode_failed: { http: 400, rpc: -22 },
  missing_credentials: { http: 401, rpc: -32001 },
  invalid_credentials: { http: 401, rpc: -32001 },
  insufficient_scope: { http: 403, rpc: -32003 },
  ip_not_allowed: { http: 403, rpc: -32003 },
  origin_not_allowed: { http: 403, rpc: -32003 },
  not_found: { http: 404, rpc: -32601 },
  block_not_found: { http: 404, rpc: -5 },
  tx_not_found: { http: 404, rpc: -5 },
  method_not_allowed: { http: 405, rpc: -32601 },
  tx_unconfirmed: { http: 409, rpc: -5 },
  cursor_reorged: { http: 409, rpc: -8 },
  limit_exceeded: { http: 409, rpc: -37 },
  block_pruned: { http: 410, rpc: -1 },
  payload_too_large: { http: 413, rpc: -32013 },
  unsupported_media_type: { http: 415, rpc: -32015 },
  misdirected_request: { http: 421, rpc: -32003 },
  tx_rejected: { http: 422, rpc: -26 },
  upgrade_required: { http: 426, rpc: -32600 },
  rate_limited: { http: 429, rpc: -32029 },
  too_many_connections: { http: 429, rpc: -32029 },
  audit_unavailable: { http: 503, rpc: -32603 },
  internal_error: { http: 500, rpc: -32603 },
  feature_disabled: { http: 501, rpc: -1 },
  warming_up: { http: 503, rpc: -28 },
  syncing: { http: 503, rpc: -10 },
  index_not_ready: { http: 503, rpc: -1 },
  overloaded: { http: 503, rpc: -37 },
  shutting_down: { http: 503, rpc: -28 },
  ...TX_REJECTIONS,
} as const satisfies Record<string, Failure>;

export type FailureCode = keyof typeof FAILURES;

/** Every `code` of an error body. */
export const ERROR_CODES: readonly string[] = Object.keys(FAILURES).filter((key) => !(key in TX_REJECTIONS));
export type ErrorDetails = Readonly<Record<string, unknown>>;

const DEFAULT_RETRY_AFTER_SECONDS = 5;
/** What a 401 asks for where HTTP Basic is not taken. */
export const BEARER_CHALLENGE = 'Bearer realm="obverse"';
/**
 * The type of what Bitcoin Core says in JSON as well. Its clients compare the whole text: where a charset follows, some
 * take the HTTP status for the error, and some take no reply at all.
 */
export const RPC_TYPE = 'application/json';
/** Of all other JSON. */
export const JSON_TYPE = `${RPC_TYPE}; charset=utf-8`;

/** A failure a client is told about. Named `failure`, since an own `code` would hide Elysia's registered name. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly failure: FailureCode;
  readonly details: ErrorDetails | null;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    failure: FailureCode,
    message: string = failure.replaceAll('_', ' '),
    details: ErrorDetails | null = null,
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
    this.failure = failure;
    this.details = details;
    this.headers = headers;
  }
}

/** Throws an ApiError; an expression, so that it can stand behind `??`. */
export function fail(failure: FailureCode, message?: string, details: ErrorDetails | null = null): never {
  throw new ApiError(failure, message, details);
}

/** What is shown of an error that a handler threw; null for a fault of our own. */
export function shownError(error: unknown): ApiError | null {
  if (error instanceof ApiError) return error;
  // The client went away while it was still sending. Nobody sees the answer, but it is counted.
  if (error instanceof Error && error.name === 'AbortError') return new ApiError('invalid_request', 'the client left');
  return null;
}

/** Body of every reply outside JSON-RPC that is not 2xx. */
interface ErrorBody {
  error: { code: string; message: string; details: ErrorDetails | null; requestId: string };
}

function errorBody(error: ApiError, requestId: string): ErrorBody {
  const code = error.failure in TX_REJECTIONS ? 'tx_rejected' : error.failure;
  return { error: { code, message: error.message, details: error.details, requestId } };
}

/** A JSON-RPC call refused before any method ran; `data` carries what a REST client would have been told. */
function rpcRefusalBody(error: ApiError, requestId: string) {
  const { code, message, details } = errorBody(error, requestId).error;
  const data = { code, details, requestId };
  return { jsonrpc: '2.0', error: { code: FAILURES[error.failure].rpc, message, data }, id: null };
}

/** The whole reply to a failed request, in the shape its endpoint speaks. */
export function errorResponse(error: ApiError, requestId: string, shape: 'rest' | 'rpc'): Response {
  const status = FAILURES[error.failure].http;
  // Of other refusals Core tells nothing but the status, and so its clients take it from here too.
  const isCoreReply = shape === 'rpc' && error.failure === 'warming_up';
  const headers: Record<string, string> = {
    'content-type': isCoreReply ? RPC_TYPE : JSON_TYPE,
    'cache-control': 'no-store',
    ...error.headers,
  };
  if (status === 401) {
    headers['www-authenticate'] = shape === 'rpc' ? `${BEARER_CHALLENGE}, Basic realm="jsonrpc"` : BEARER_CHALLENGE;
  }
  if ((status === 503 || status === 429) && !headers['retry-after'])
    headers['retry-after'] = String(error.details?.retryAfter ?? DEFAULT_RETRY_AFTER_SECONDS);
  const body = shape === 'rpc' ? rpcRefusalBody(error, requestId) : errorBody(error, requestId);
  return new Response(JSON.stringify(body), { status, headers });
}
