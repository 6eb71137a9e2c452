import type { Principal } from '../http/principal.ts';
import { hasScope, type Scope } from '../http/scopes.ts';

export const MESSAGE_ERROR_CODES = [
  'invalid_message',
  'unknown_type',
  'invalid_parameter',
  'invalid_address',
  'invalid_cursor',
  'limit_exceeded',
  'insufficient_scope',
  'resume_unavailable',
] as const;

export type MessageErrorCode = (typeof MESSAGE_ERROR_CODES)[number];

export type Data = Readonly<Record<string, unknown>>;

/** Error of a client's message, which is sent as the reply. */
export class WsMessageError extends Error {
  readonly code: MessageErrorCode;
  readonly details: Data | null;

  constructor(code: MessageErrorCode, message: string, details: Data | null = null) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

export function invalidParameter(parameter: string, reason: string, details: Data = {}): never {
  throw new WsMessageError('invalid_parameter', `${parameter} ${reason}`, { parameter, ...details });
}

/** Throws WsMessageError without the scope. A client without a key receives the default events only. */
export function requireSocketScope({ scopes }: Principal, required: Scope = 'read'): void {
  if (!hasScope(scopes, required))
    throw new WsMessageError('insufficient_scope', `this needs a key with the scope ${required}`, { required });
}
