import type { TxRejection, TxRejectKind } from '../consensus/rejection.ts';

/** One kind of failure: its HTTP status, and its code in a JSON-RPC error object. */
export interface Failure {
  readonly http: number;
  readonly rpc: number;
}

/** Kinds of rejected transactions. REST reports all of them as `tx_rejected` with a class. */
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

/** Returns `details.class` of a rejected transaction. */
export function txRejectClass({ kind, reason }: Pick<TxRejection, 'kind' | 'reason'>): string {
  return CLASS_OF_REASON[reason] ?? TX_REJECTIONS[kind].class;
}

/** Reject reasons whose class does not follow from their kind. */
const CLASS_OF_REASON: Readonly<Record<string, string>> = {
  'insufficient fee': 'conflict',
  'replacement-failed': 'conflict',
  'bip125-replacement-disallowed': 'conflict',
  'bad-txns-spends-conflicting-tx': 'conflict',
  'max feerate exceeded': 'fee',
};

/** The failures of REST and JSON-RPC. The keys are the stable `code` of an error body. */
export const FAILURES = {
  invalid_request: { http: 400, rpc: -32600 },
  invalid_parameter: { http: 400, rpc: -8 },
  invalid_hash: { http: 400, rpc: -8 },
  invalid_txid: { http: 400, rpc: -8 },
  invalid_height: { http: 400, rpc: -8 },
  invalid_address: { http: 400, rpc: -5 },
  invalid_descriptor: { http: 400, rpc: -5 },
  private_key_refused: { http: 400, rpc: -5 },
  too_many_scripts: { http: 400, rpc: -8 },
  invalid_cursor: { http: 400, rpc: -8 },
  tx_decode_failed: { http: 400, rpc: -22 },
  missing_credentials: { http: 401, rpc: -32001 },
  invalid_credentials: { http: 401, rpc: -32001 },
  insufficient_scope: { http: 403, rpc: -32003 },
  ip_not_allowed: { http: 403, rpc: -32003 },
  origin_not_allowed: { http: 403, rpc: -32003 },
  invalid_csrf_token: { http: 403, rpc: -32003 },
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
/** The challenge of a 401 where HTTP Basic is disabled. */
export const BEARER_CHALLENGE = 'Bearer realm="obverse"';
/**
 * The content type of replies that Bitcoin Core also gives. Its clients compare the whole text: with a charset, some
 * report the HTTP status in place of the error, and some reject every reply.
 */
export const RPC_TYPE = 'application/json';
/** The content type of all other JSON. */
export const JSON_TYPE = `${RPC_TYPE}; charset=utf-8`;

/**
 * A failure that is reported to the client. The member is named `failure`, since an own `code` would hide Elysia's
 * registered name.
 */
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

/** Throws an ApiError. It is an expression, so that it can follow `??`. */
export function fail(failure: FailureCode, message?: string, details: ErrorDetails | null = null): never {
  throw new ApiError(failure, message, details);
}

/** Returns the error to report for an error that a handler threw; null for an internal error. */
export function shownError(error: unknown): ApiError | null {
  if (error instanceof ApiError) return error;
  // The client disconnected while it was still sending. The reply reaches no client, but it is counted.
  if (error instanceof Error && error.name === 'AbortError') return new ApiError('invalid_request', 'the client left');
  return null;
}

/** The body of every reply outside JSON-RPC whose status is not 2xx. */
interface ErrorBody {
  error: { code: string; message: string; details: ErrorDetails | null; requestId: string };
}

function errorBody(error: ApiError, requestId: string): ErrorBody {
  const code = error.failure in TX_REJECTIONS ? 'tx_rejected' : error.failure;
  return { error: { code, message: error.message, details: error.details, requestId } };
}

/**
 * Returns the error object of a JSON-RPC call that was refused before any method ran; `data` holds the error that a
 * REST client would get.
 */
function rpcRefusalBody(error: ApiError, requestId: string) {
  const { code, message, details } = errorBody(error, requestId).error;
  const data = { code, details, requestId };
  return { jsonrpc: '2.0', error: { code: FAILURES[error.failure].rpc, message, data }, id: null };
}

/** Returns the reply to a failed request, in the format of its endpoint. */
export function errorResponse(error: ApiError, requestId: string, shape: 'rest' | 'rpc'): Response {
  const status = FAILURES[error.failure].http;
  // For other refusals Core sends only a status, so its clients read the status here as well.
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
