import type { AuditTrail } from '../../auth/audit/audit-log.ts';
import type { FrontSessions } from '../../auth/front-sessions.ts';
import type { KeyAdmin } from '../../auth/key-admin.ts';
import type { Call } from '../../http/call.ts';
import type { Scope } from '../../http/scopes.ts';
import type { ApiContext, BroadcastMetrics } from '../../queries/api-context.ts';

/** Counts JSON-RPC calls. */
interface RpcMetrics {
  rpc(method: string, code: number, seconds: number): void;
}

/** Everything that JSON-RPC answers from. */
export interface RpcContext extends ApiContext {
  readonly metrics: BroadcastMetrics & RpcMetrics;
  /** The record of who did what. */
  readonly audit: AuditTrail;
  /** Throws ApiError where the key may no longer make a call of a request that was admitted before. */
  checkKey(call: Call, scope: Scope): void;
  /** Management of API keys. Throws ApiError before the node is attached. */
  keys(): KeyAdmin;
  /** People's sessions. */
  readonly sessions: Pick<FrontSessions, 'createLoginCode'>;
  /** To be called when keys were changed. Resolves when the change applies to all requests. */
  keysChanged(): Promise<void>;
  /** Runs `getblockcount` through the dispatcher; set by the JSON-RPC endpoint, asked by the readiness check. */
  rpcProbe: (() => Promise<unknown>) | null;
  /** Asks the program to stop; null where it cannot be asked. */
  readonly shutDown: (() => void) | null;
}
