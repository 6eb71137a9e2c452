import type { AuditEntry, AuditFilter, AuditRow } from './audit-store.ts';

/** Options of the audit worker. */
export interface AuditDatabase {
  readonly path: string;
  /** Number of rows that are kept. */
  readonly keep: number;
}

export type AuditRequest =
  | { readonly type: 'append'; readonly rows: readonly AuditRow[] }
  | {
      readonly type: 'page';
      readonly filter: AuditFilter;
      readonly before: number | null;
      readonly limit: number;
    };

/** Ids of the appended rows, or the entries of a page. */
export interface AuditAnswer {
  readonly ids?: readonly number[];
  readonly entries?: readonly AuditEntry[];
}
