import type { AuditEntry, AuditFilter, AuditStore } from '../auth/audit/audit-store.ts';
import { loadConfig } from '../config/load.ts';
import { sleep } from '../util/abort.ts';
import { hostClock, unixSeconds } from '../util/clock.ts';
import { didYouMean } from '../util/suggest.ts';
import { openAuthStore } from './auth-access.ts';
import { type Command, type CommandContext, UsageError } from './command.ts';
import { COMMON_OPTIONS } from './help-text.ts';
import { splitOwnFlags } from './own-flags.ts';
import { readMoment, secondsText } from './time-input.ts';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000_000;
const PAGE = 1000;
const FOLLOW_MS = 500;
/** Seconds that --follow waits for the outcome of an announced call before it prints the call without one. */
const PATIENCE_SECONDS = 60;

export const command: Command = {
  usage: 'audit log [options]',
  description: `Shows which administrative, spending and key-management calls were made, by which key, from where, and with what
outcome, oldest first. The node may be running or stopped. A call without outcome was announced and not completed: the
node ended before, or the call is still running.

Each row holds a hash over itself and the row before it. --check recomputes all hashes and prints the last one. Keep it
elsewhere and pass it to --expect later to detect a log that was truncated or rewritten.`,
  options: [
    ['--since WHEN', 'only entries since then: a duration back (24h) or a date (2027-01-31)'],
    ['--who ID', 'only entries of one key ID, or of static, cookie, rpcauth:USER, cli:UID'],
    ['--method NAME', 'only entries of one method, such as sendtoaddress or createapikey'],
    ['--limit N', `only the newest N entries (default ${DEFAULT_LIMIT}; with --since all)`],
    ['--follow', 'keep printing new entries until interrupted'],
    ['--json', 'print one JSON object per line'],
    ['--check', 'verify that no row was changed or removed; exit status 1 if one was'],
    ['--expect ID:HASH', 'with --check: verify that the row printed by an earlier check still exists'],
    ...COMMON_OPTIONS,
  ],
  examples: [
    'obverse audit log --since 24h',
    'obverse audit log --who 6tq5nldvoc --method sendtoaddress --json',
    'obverse audit log --check',
  ],
  async run(args, context) {
    const [name = '', ...rest] = args;
    if (name !== 'log') throw new UsageError(`audit takes log${didYouMean(name, ['log'])}`);
    const { values, rest: settings } = splitOwnFlags(rest, {
      '--since': 'text',
      '--who': 'text',
      '--method': 'text',
      '--limit': 'text',
      '--expect': 'text',
      '--follow': 'switch',
      '--json': 'switch',
      '--check': 'switch',
    });
    const { config, positionals } = loadConfig(settings);
    if (positionals.length > 0) throw new UsageError(`audit log takes no ${positionals[0]}`);
    const text = (flag: string) => values.get(flag)?.[0] ?? null;
    const expected = text('--expect');
    if (expected !== null && !values.has('--check')) throw new UsageError('--expect goes with --check');
    const since = text('--since');
    const filter = {
      who: text('--who'),
      method: text('--method'),
      since: since === null ? null : readMoment('--since', since, unixSeconds(hostClock), 'back'),
    };
    const limit = readLimit(text('--limit'), since !== null);
    const wanted = expected === null ? null : readExpected(expected);
    const store = openAuthStore(config, `audit ${args.join(' ')}`);
    try {
      if (values.has('--check')) return check(store.audit, wanted, context);
      const line = values.has('--json') ? (entry: AuditEntry) => JSON.stringify(entry) : lineOf;
      const print = (entries: readonly AuditEntry[]) => {
        for (const entry of entries) context.out(`${line(entry)}\n`);
      };
      const shown = newest(store.audit, filter, limit);
      print(shown);
      if (values.has('--follow')) await follow(store.audit, filter, shown.at(-1)?.id ?? 0, print, context.signal);
      return 0;
    } finally {
      store.close();
    }
  },
};

/** Returns the newest entries of a filter, oldest first. */
function newest(audit: AuditStore, filter: AuditFilter, limit: number, after = 0): AuditEntry[] {
  const found: AuditEntry[] = [];
  for (;;) {
    const page = audit.page(filter, found.at(-1)?.id ?? null, Math.min(PAGE, limit - found.length));
    found.push(...page.filter(({ id }) => id > after));
    if (page.length < PAGE || found.length >= limit || page.at(-1)!.id <= after) return found.reverse();
  }
}

/**
 * Prints entries in order as they are added. An entry without outcome holds back those behind it for PATIENCE_SECONDS.
 */
async function follow(
  audit: AuditStore,
  filter: AuditFilter,
  from: number,
  print: (entries: readonly AuditEntry[]) => void,
  signal: AbortSignal,
): Promise<void> {
  for (let after = from; !signal.aborted; ) {
    await sleep(FOLLOW_MS, signal).catch(() => {});
    const added = newest(audit, filter, MAX_LIMIT, after);
    const oldest = unixSeconds(hostClock) - PATIENCE_SECONDS;
    const running = added.findIndex(({ outcome, time }) => outcome === null && time > oldest);
    const complete = running < 0 ? added : added.slice(0, running);
    print(complete);
    after = complete.at(-1)?.id ?? after;
  }
}

function check(
  audit: AuditStore,
  expected: { readonly id: number; readonly hash: string } | null,
  { out, err }: CommandContext,
): number {
  const found = audit.check(expected);
  if (!found.ok) {
    err(`the audit log is damaged at row ${found.id}: ${found.problem}\n`);
    return 1;
  }
  out(`${found.rows} rows, none changed or missing; last row ${found.lastId}:${found.head}\n`);
  return 0;
}

function readExpected(text: string): { id: number; hash: string } {
  const [, id, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (id === undefined) throw new UsageError('--expect takes ID:HASH, as --check prints it');
  return { id: Number(id), hash: hash! };
}

function readLimit(text: string | null, all: boolean): number {
  if (text === null) return all ? MAX_LIMIT : DEFAULT_LIMIT;
  const limit = /^\d{1,7}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > MAX_LIMIT) throw new UsageError(`--limit is a number from 1 to ${MAX_LIMIT}, not ${text}`);
  return limit;
}

/** `2027-01-31 12:00Z  6tq5nldvoc  10.0.0.1  sendtoaddress  hot  ok  txid` */
function lineOf({ time, who, ip, method, wallet, keyId, txid, outcome, requestId }: AuditEntry): string {
  const about = [wallet && `wallet=${wallet}`, keyId && `key=${keyId}`, txid && `txid=${txid}`].filter(Boolean);
  const line = [secondsText(time), who, ip, method, outcome ?? 'unknown', ...about, `request=${requestId}`].join('  ');
  // The name of a wallet comes from a client, and must not rewrite the terminal.
  return line.replaceAll(/\p{Cc}/gu, '?');
}
