import type { TxRejectKind } from '../../consensus/rejection.ts';
import type { FailureCode } from '../../http/errors.ts';

/** The codes of error bodies; the kinds of rejected transactions are all reported as `tx_rejected`. */
export type ErrorCode = Exclude<FailureCode, TxRejectKind>;

/** When each code is given, for the description of the interface. */
const ERROR_DESCRIPTIONS: Readonly<Record<ErrorCode, string>> = {
  invalid_request: 'the request or its body is malformed',
  invalid_parameter: 'a parameter or a member of the body has a wrong value; `details.parameter` names it',
  invalid_hash: 'a block hash does not have 64 hex digits',
  invalid_txid: 'a transaction id does not have 64 hex digits',
  invalid_height: 'a height is not a number from 0 to 2147483647',
  invalid_address: 'an address is malformed or of another network; `details.reason` says which',
  invalid_descriptor: 'a descriptor is malformed or of another network; `details.reason` says which',
  private_key_refused: 'a descriptor names a private key, which no request may hold',
  too_many_scripts:
    'a descriptor has more scripts up to its gap limit than a request derives; `details.limit` is the limit',
  invalid_cursor: 'a cursor is not of this node, this route and these parameters',
  tx_decode_failed: 'the bytes are not one transaction',
  missing_credentials: 'the request has no key',
  invalid_credentials: 'the key is unknown, expired or revoked',
  insufficient_scope: 'the key lacks a scope; `details.required` names it',
  ip_not_allowed: 'the key may not be used from this address',
  invalid_csrf_token: 'a request with a session that changes something lacks the token of GET /api/session',
  origin_not_allowed: 'the page of a browser may not use this node',
  not_found: 'there is no such route, watch or webhook',
  block_not_found: 'the node does not know the block',
  tx_not_found: 'the transaction is neither in the chain nor in the mempool',
  method_not_allowed: 'the route has other methods; the header Allow names them',
  tx_unconfirmed: 'the transaction is not in a block yet',
  cursor_reorged: 'a reorganization removed the block that the cursor refers to; begin again with the first page',
  limit_exceeded: 'the key has as many of these as a key may have',
  block_pruned: 'the block is known, but its content has been pruned',
  payload_too_large: 'the body is too long; `details.limit` is the limit in bytes',
  unsupported_media_type: 'the body has another media type; `details.accepted` lists those that are allowed',
  misdirected_request: 'the header Host names another host',
  tx_rejected: "the mempool rejected the transaction; `details.reason` is Bitcoin Core's reject string",
  upgrade_required: 'the route is a WebSocket',
  rate_limited: 'too many requests; the header Retry-After says when to send the next one',
  too_many_connections: 'too many connections or waiting requests are open',
  audit_unavailable: 'the audit log cannot be written, so the call was not made',
  internal_error: 'an error of the node, whose log has the request id',
  feature_disabled: 'the index that the route needs is disabled; `details.feature` names it',
  warming_up: 'the node is starting',
  syncing: 'the initial block download is not over',
  index_not_ready: 'the index that the route needs is still being built',
  overloaded: 'the node is busy',
  shutting_down: 'the node is stopping',
};

/** Returns a sentence for each code, as Markdown. */
export function describeCodes(codes: readonly ErrorCode[]): string {
  return codes.map((code) => `\`${code}\`: ${ERROR_DESCRIPTIONS[code]}.`).join(' ');
}
