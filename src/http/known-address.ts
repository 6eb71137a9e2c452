import type { Call } from './call.ts';
import { fail } from './errors.ts';

/**
 * Throws ApiError where the address of a caller is not known, since its connection was closed before the request began:
 * a call that the audit log records must not hide where it came from.
 */
export function requireAddress({ ip }: Pick<Call, 'ip'>): void {
  if (ip === '') fail('invalid_request', 'the connection was closed before the request began');
}
