import type { KeyRecord } from '../auth/auth-store.ts';
import { momentText } from './time-input.ts';

/** Returns a table of keys, one line each. */
export function keyTable(keys: readonly KeyRecord[], now: number): string {
  const rows = keys.map((key) => [
    key.id,
    key.label || '-',
    key.scopes.join(','),
    stateOf(key, now),
    key.lastUsedAt === null ? 'never' : momentText(key.lastUsedAt),
    restrictionsOf(key) || '-',
  ]);
  const table = [['ID', 'LABEL', 'SCOPES', 'STATE', 'LAST USED', 'RESTRICTIONS'], ...rows];
  const widths = table[0]!.map((_, column) => Math.max(...table.map((row) => row[column]!.length)));
  return table
    .map(
      (row) =>
        `${row
          .map((cell, i) => cell.padEnd(widths[i]!))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

/** Returns one line for each member that a key has. */
export function keyDetails(key: KeyRecord, now: number): string {
  const lines: [string, string][] = [
    ['id', key.id],
    ['label', key.label || '-'],
    ['scopes', key.scopes.join(',')],
    ['state', stateOf(key, now)],
    ['created', momentText(key.createdAt)],
    ['last used', key.lastUsedAt === null ? 'never' : momentText(key.lastUsedAt)],
  ];
  if (key.allowedIps) lines.push(['addresses', key.allowedIps.join(', ')]);
  if (key.wallets) lines.push(['wallets', key.wallets.join(', ')]);
  if (key.rate) lines.push(['rate', rateText(key.rate)]);
  return lines.map(([name, value]) => `${name.padEnd(10)} ${value}\n`).join('');
}

function stateOf({ revokedAt, expiresAt }: KeyRecord, now: number): string {
  if (revokedAt !== null) return `revoked ${momentText(revokedAt)}`;
  if (expiresAt === null) return 'valid';
  return now < expiresAt ? `valid until ${momentText(expiresAt)}` : `expired ${momentText(expiresAt)}`;
}

function restrictionsOf({ allowedIps, wallets, rate }: KeyRecord): string {
  const parts: string[] = [];
  if (allowedIps) parts.push(`from ${allowedIps.join(',')}`);
  if (wallets) parts.push(`wallets ${wallets.join(',')}`);
  if (rate) parts.push(rateText(rate));
  return parts.join('; ');
}

function rateText({ perSecond, burst }: NonNullable<KeyRecord['rate']>): string {
  return `${perSecond}/s,${burst}`;
}
