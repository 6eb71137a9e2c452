import { durationText } from '../util/duration.ts';
import { countText } from './bar.ts';
import type { StatusFacts, WalletFacts } from './status-facts.ts';

const LABEL_WIDTH = 10;
/** Least time between two states that a rate is computed from. */
const LEAST_RATE_MS = 500;

/** Returns the lines of one screen. `earlier` is a former state, from which the rate of the sync follows. */
export function statusLines(facts: StatusFacts, earlier: StatusFacts | null): string[] {
  const { version, network, uptime, height, headers, hash, tipTime, atMs, peers, mempool, ready, warnings } = facts;
  const row = (label: string, text: string) => `${label.padEnd(LABEL_WIDTH)} ${text}`;
  const age = Math.max(0, atMs / 1000 - tipTime);
  const rows = [
    `obverse ${version}, ${network}, running for ${durationText(uptime)}`,
    row('tip', `height ${countText(height)} of ${countText(Math.max(height, headers))}, ${durationText(age)} old`),
    row('', hash),
    row('sync', syncText(facts, earlier)),
    row('peers', `${peers.outbound} outbound, ${peers.inbound} inbound`),
    row(
      'mempool',
      `${countText(mempool.size)} transactions, ${countText(mempool.vbytes)} vB, ${bytesText(mempool.usage)} of ${bytesText(mempool.max)}`,
    ),
    row('indexes', indexText(facts)),
    ...walletRows(facts.wallets).map((text, i) => row(i === 0 ? 'wallets' : '', text)),
    row('disk', diskText(facts)),
    row('ready', ready.status),
    ...ready.problems.map((problem) => row('', problem)),
    ...warnings.map((warning) => row('warning', warning)),
  ];
  // The names of wallets and warnings must not rewrite the terminal.
  return rows.map((line) => line.replaceAll(/\p{Cc}/gu, '?').trimEnd());
}

function syncText({ synced, progress, height, atMs, headers }: StatusFacts, earlier: StatusFacts | null): string {
  if (synced) return 'in sync';
  const percent = `${(Math.floor(progress * 10_000) / 100).toFixed(2)} % verified`;
  const seconds = earlier === null ? 0 : (atMs - earlier.atMs) / 1000;
  const blocks = earlier === null ? 0 : height - earlier.height;
  const done = earlier === null ? 0 : progress - earlier.progress;
  if (seconds * 1000 < LEAST_RATE_MS || (blocks <= 0 && done <= 0))
    return headers <= height && progress < 1 ? `${percent}, waiting for headers` : percent;
  const left = done > 0 ? `, ${durationText(((1 - progress) / done) * seconds)} left` : '';
  return `${percent}, ${countText(blocks / seconds)} blocks/s${left}`;
}

function indexText({ indexes, height }: StatusFacts): string {
  const parts = Object.entries(indexes).flatMap(([name, index]) => {
    if (!index.enabled) return [];
    const at = index.height ?? 0;
    return at >= height ? name : `${name} ${Math.floor((at / Math.max(1, height)) * 100)} %`;
  });
  return parts.length === 0 ? 'none' : parts.join(', ');
}

function walletRows({ shown, count }: StatusFacts['wallets']): string[] {
  if (count === 0) return ['none'];
  const rows = shown.map(walletText);
  return count > shown.length ? [...rows, `and ${count - shown.length} more`] : rows;
}

function walletText({ name, balance, pending, state }: WalletFacts): string {
  const more = pending !== null && Number(pending) > 0 ? `, ${pending} pending` : '';
  return `${name === '' ? '""' : name}: ${balance ?? 'balance unknown'}${more} (${state})`;
}

function diskText({ freeBytes, chainBytes, pruneHeight }: StatusFacts): string {
  const free = freeBytes === null ? 'free space unknown' : `${bytesText(freeBytes)} free`;
  const pruned = pruneHeight === null ? '' : `, pruned below height ${countText(pruneHeight)}`;
  return `${free}, blocks ${bytesText(chainBytes)}${pruned}`;
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

/** `0 B`, `812 kB`, `1.4 GB` */
export function bytesText(bytes: number): string {
  let value = bytes;
  let unit = 0;
  for (; value >= 1000 && unit < UNITS.length - 1; unit++) value /= 1000;
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}
