import type { AuditEntry, AuditFilter, AuditRow } from './audit-store.ts';

/** `open` comes first and once. */
export type ToAuditWorker =
  | { readonly type: 'open'; readonly path: string; readonly keep: number }
  | { readonly type: 'append'; readonly id: number; readonly rows: readonly AuditRow[] }
  | {
      readonly type: 'page';
      readonly id: number;
      readonly filter: AuditFilter;
      readonly before: number | null;
      readonly limit: number;
    }
  | { readonly type: 'close'; readonly id: number };

/** The reply to the message with that id: ids of the rows, or entries, or an error. */
export interface FromAuditWorker {
  readonly id: number;
  readonly ids?: readonly number[];
  readonly entries?: readonly AuditEntry[];
  readonly error: string | null;
}
