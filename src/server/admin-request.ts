import type { AuditLog } from '../auth/audit/audit-log.ts';
import { OUTCOME_OK } from '../auth/audit/audit-store.ts';
import type { Principal } from '../http/principal.ts';
import { type Clock, unixSeconds } from '../util/clock.ts';
import type { RouteEntry } from './route-rules.ts';

/** A request for a route with the scope admin. */
export interface AdminRequest {
  readonly request: Request;
  readonly requestId: string;
  readonly principal: Principal;
  readonly ip: string;
  readonly entry: RouteEntry | null;
}

/** Records a REST request of an administrator when it has ended. JSON-RPC calls are recorded where they run. */
export function recordAdminRequest(
  { audit, clock }: { readonly audit: Pick<AuditLog, 'record'>; readonly clock: Clock },
  { request, requestId, principal, ip, entry }: AdminRequest,
  status: number,
): void {
  // A request without a credential is refused before it has any effect.
  if (principal.kind === 'anonymous') return;
  const method = `${request.method} ${entry!.template}`;
  const call = { time: unixSeconds(clock), who: principal.id, ip, requestId, method, wallet: null };
  audit.record(call, { outcome: status < 400 ? OUTCOME_OK : String(status), keyId: null, txid: null });
}
