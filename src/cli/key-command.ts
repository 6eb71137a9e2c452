import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { resolve } from 'node:path';
import type { AuthStore, KeyRecord } from '../auth/auth-store.ts';
import { type InitialKey, initialKeyOf } from '../auth/initial-key.ts';
import { issuedKeyView, KeyAdmin, KeyError, keyView } from '../auth/key-admin.ts';
import { loadConfig } from '../config/load.ts';
import { DEFAULT_SCOPES, SCOPES } from '../http/scopes.ts';
import { hostClock, unixSeconds } from '../util/clock.ts';
import { OperatorError } from '../util/operator-error.ts';
import { didYouMean } from '../util/suggest.ts';
import { localUser } from './auth-access.ts';
import { type Command, type CommandContext, UsageError } from './command.ts';
import { COMMON_OPTIONS } from './help-text.ts';
import { keyDetails, keyTable } from './key-output.ts';
import { databaseKeys, nodeKeys } from './key-places.ts';
import { type FlagKind, splitOwnFlags } from './own-flags.ts';
import { readDuration, readMoment } from './time-input.ts';

interface Given {
  /** The words that follow the name of the action. */
  readonly words: readonly string[];
  readonly flags: ReadonlyMap<string, readonly string[]>;
}

interface Run extends Given {
  readonly keys: KeyAdmin;
  readonly now: number;
  readonly context: CommandContext;
  readonly json: boolean;
  /** Calls `undo` where the change is not stored. */
  onFailure(undo: () => void): void;
  /** Makes a change and its audit record in one transaction. */
  recorded<T extends { readonly id: string }>(method: string, change: () => T): T;
}

interface Action {
  readonly words: readonly string[];
  readonly flags: Readonly<Record<string, FlagKind>>;
  /** Whether it only reads. */
  readonly reads?: true;
  run(run: Run): void;
}

const ISSUING = { '--out': 'text' } as const;

const ACTIONS: Readonly<Record<string, Action>> = {
  create: {
    words: [],
    flags: {
      ...ISSUING,
      '--label': 'text',
      '--scopes': 'list',
      '--expires': 'text',
      '--ip': 'list',
      '--rate': 'text',
      '--wallet': 'list',
    },
    run(run) {
      const { flags, now, keys } = run;
      const expires = flags.get('--expires')?.[0];
      const rate = flags.get('--rate')?.[0];
      const request = {
        label: flags.get('--label')?.[0] ?? '',
        scopes: flags.has('--scopes') ? scopeList(flags.get('--scopes')!) : DEFAULT_SCOPES,
        expiresAt: expires === undefined ? null : readMoment('--expires', expires, now, 'ahead'),
        allowedIps: flags.get('--ip') ?? null,
        rate: rate === undefined ? null : readRate(rate),
        wallets: flags.get('--wallet') ?? null,
      };
      issue(run, 'createapikey', () => keys.create(request));
    },
  },
  list: {
    words: [],
    flags: {},
    reads: true,
    run: ({ keys, json, now, context }) =>
      context.out(json ? `${JSON.stringify(keys.list().map(keyView), null, 2)}\n` : keyTable(keys.list(), now)),
  },
  show: {
    words: ['ID'],
    flags: {},
    reads: true,
    run: (run) => show(run, run.keys.get(run.words[0]!)),
  },
  rotate: {
    words: ['ID'],
    flags: { ...ISSUING, '--overlap': 'text' },
    run(run) {
      const overlap = readDuration('--overlap', run.flags.get('--overlap')?.[0] ?? '24h');
      issue(run, 'rotateapikey', () => run.keys.rotate(run.words[0]!, overlap));
    },
  },
  scopes: {
    words: ['ID', 'SCOPES'],
    flags: {},
    run: (run) => change(run, { scopes: scopeList([run.words[1]!]) }),
  },
  revoke: {
    words: ['ID'],
    flags: {},
    run(run) {
      const { keys, words, context } = run;
      warnIfLastAdmin(run);
      const revoked = run.recorded('revokeapikey', () => keys.revoke(words[0]!, { force: true }));
      if (run.json) show(run, revoked);
      else context.out(`${revoked.id} is revoked\n`);
    },
  },
  expire: {
    words: ['ID', 'WHEN'],
    flags: {},
    run(run) {
      const when = run.words[1]!;
      change(run, { expiresAt: when === 'never' ? null : readMoment('WHEN', when, run.now, 'ahead') });
    },
  },
};

export const command: Command = {
  usage: 'key create|list|show|rotate|scopes|revoke|expire [arguments] [options]',
  description: `Manages the API keys of a node, whether it runs or not; a running node applies a change within two seconds, also to
open connections. A new key is printed once, alone on stdout; the node keeps only its hash. Each change is recorded in
the audit log.

With --database it manages the keys of the servers that obverse serve starts from a database: those of all servers, with
the same commands. OBVERSE_SERVE_FROM or serve.from in the settings file is the URL of the database.

Scopes: ${SCOPES.join(', ')}.`,
  options: [
    ['create', `create a key; with the scopes ${DEFAULT_SCOPES.join(',')} unless others are given`],
    ['  --label TEXT', 'description of its use'],
    ['  --scopes LIST', 'scopes, separated by commas'],
    ['  --expires WHEN', 'a duration (90d, 24h) or a date (2027-01-31)'],
    ['  --ip CIDR', 'client addresses that may use it; may be repeated'],
    ['  --rate N/s[,BURST]', 'calls per second, and the size of a burst'],
    ['  --wallet NAME', 'wallet that it may use (default all); may be repeated'],
    ['  --out FILE', 'write the key to a new file (mode 0600) instead of stdout; also for rotate'],
    ['list', 'list all keys, and say whether initial.key can be removed'],
    ['show ID', 'show one key'],
    ['rotate ID', 'replace the secret of a key'],
    ['  --overlap DURATION', 'time for which the old secret stays valid (default 24h)'],
    ['scopes ID LIST', 'replace its scopes'],
    ['revoke ID', 'end a key permanently; removes initial.key if it holds that key'],
    ['expire ID WHEN|never', 'change its expiry'],
    ['--database', 'manage the keys of servers, in the database of serve.from or sink.postgres'],
    ['--json', 'print JSON'],
    ...COMMON_OPTIONS,
  ],
  examples: [
    'obverse key create --label prometheus --scopes metrics --ip 10.0.0.0/8 --out /etc/prometheus/obverse.key',
    'obverse key create --label withdrawals --scopes read,wallet.read,wallet.spend --wallet hot --expires 90d',
    'obverse key list',
    'obverse key rotate 6tq5nldvoc --overlap 1h',
    'obverse key create --database --label shop --config /etc/obverse/serve.toml',
    'sudo -u obverse obverse key revoke 6tq5nldvoc --config /etc/obverse/obverse.toml',
  ],
  async run(args, context) {
    const [name = '', ...rest] = args;
    if (!Object.hasOwn(ACTIONS, name)) {
      const names = Object.keys(ACTIONS);
      throw new UsageError(`key takes one of ${names.join(', ')}${didYouMean(name, names)}`);
    }
    const action = ACTIONS[name]!;
    const { values, rest: settings } = splitOwnFlags(rest, {
      ...action.flags,
      ...{ '--json': 'switch', '--database': 'switch' },
    });
    const loaded = loadConfig(settings);
    const { config, positionals } = loaded;
    checkWords(name, action.words, positionals);
    const isNode = !values.has('--database');
    const place = isNode ? nodeKeys(config, `key ${args.join(' ')}`, context) : databaseKeys(loaded, context);
    const networkDir = isNode ? config.networkDir : null;
    const undos: (() => void)[] = [];
    try {
      await place.use(
        (store, placeContext) => {
          const now = unixSeconds(hostClock);
          action.run({
            ...{ words: positionals, flags: values, now, context: placeContext, json: values.has('--json') },
            keys: new KeyAdmin({ store, networkDir, now: () => now }),
            onFailure: (undo) => undos.push(undo),
            recorded: recorder(store, now),
          });
          const initial = networkDir === null ? null : initialKeyOf(networkDir, store, now);
          if (initial && (name === 'list' || name === 'create')) placeContext.err(initialKeyText(initial));
        },
        action.reads ? 'read' : 'change',
      );
      return 0;
    } catch (error) {
      for (const undo of undos) undo();
      if (error instanceof KeyError && error.problem === 'invalid') throw new UsageError(error.message);
      throw error;
    }
  },
};

function recorder(store: AuthStore, now: number): Run['recorded'] {
  return (method, change) =>
    store.transaction(() => {
      const changed = change();
      store.audit.append([
        {
          time: now,
          who: localUser(),
          ip: 'local',
          requestId: `cli-${process.pid}`,
          method,
          wallet: null,
          keyId: changed.id,
          txid: null,
          outcome: 'ok',
        },
      ]);
      return changed;
    });
}

interface Issued {
  readonly key: string;
  readonly record: KeyRecord;
  readonly oldValidUntil?: number;
}

/** Creates a key or a secret, and prints it once. */
function issue(run: Run, method: string, make: () => Issued): void {
  const { flags, context, json } = run;
  const file = flags.get('--out')?.[0];
  const out = file === undefined ? null : openNew(resolve(file));
  if (out) run.onFailure(() => rmSync(out.path, { force: true }));
  try {
    const issued = run.recorded(method, () => {
      const made = make();
      // A secret that cannot be written to the file must not become valid.
      if (out) writeSync(out.fd, `${made.key}\n`);
      return { ...made, id: made.record.id };
    });
    if (json) context.out(`${JSON.stringify(issuedJson(out ? null : issued.key, issued))}\n`);
    else {
      if (!out) context.out(`${issued.key}\n`);
      context.err(`${keyDetails(issued.record, run.now)}${out ? `written to ${out.path}` : 'shown only this once'}\n`);
    }
  } finally {
    if (out) closeSync(out.fd);
  }
}

/** `key` is null when the secret went to a file. */
function issuedJson(key: string | null, { record, oldValidUntil }: Issued) {
  return { ...issuedKeyView(key, record), ...(oldValidUntil !== undefined && { oldValidUntil }) };
}

function openNew(path: string): { readonly fd: number; readonly path: string } {
  try {
    return { fd: openSync(path, 'wx', 0o600), path };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new OperatorError(
      `--out: ${path} ${code === 'EEXIST' ? 'already exists' : `cannot be created (${code})`}: nothing was changed`,
    );
  }
}

function change(run: Run, changes: Parameters<KeyAdmin['change']>[1]): void {
  const { keys, words } = run;
  if (changes.expiresAt != null || (changes.scopes && !changes.scopes.includes('admin'))) warnIfLastAdmin(run);
  show(
    run,
    run.recorded('setapikey', () => keys.change(words[0]!, changes, { force: true })),
  );
}

function show({ json, context, now }: Run, record: KeyRecord): void {
  context.out(json ? `${JSON.stringify(keyView(record), null, 2)}\n` : keyDetails(record, now));
}

/**
 * Over JSON-RPC, revoking the last admin key needs `force`. Here a warning is enough, since a user of the host can
 * always create another key.
 */
function warnIfLastAdmin({ keys, words, context }: Run): void {
  const key = keys.get(words[0]!);
  if (keys.isLastAdmin(key)) context.err(`warning: ${key.id} is the last key with the scope admin\n`);
}

function initialKeyText({ file, keyId, removable }: InitialKey): string {
  if (keyId === null) return `${file} holds no key: remove it\n`;
  return removable
    ? `${file} still holds the key ${keyId}, which has all rights: obverse key revoke ${keyId} ends it and removes the file\n`
    : `${file} holds the only key with the scope admin, in clear text: create another key with the scope admin, then revoke ${keyId}\n`;
}

function checkWords(name: string, wanted: readonly string[], given: readonly string[]): void {
  if (given.length < wanted.length)
    throw new UsageError(`key ${name} needs ${wanted.slice(given.length).join(' and ')}`);
  if (given.length > wanted.length)
    throw new UsageError(`key ${name} takes ${wanted.join(' and ') || 'no further words'}, and nothing behind it`);
}

function scopeList(texts: readonly string[]): string[] {
  const scopes = texts.flatMap((text) => text.split(',')).map((scope) => scope.trim());
  const unknown = scopes.find((scope) => !SCOPES.some((known) => known === scope));
  if (unknown !== undefined)
    throw new UsageError(
      `unknown scope '${unknown}'${didYouMean(unknown, SCOPES)}: the scopes are ${SCOPES.join(', ')}`,
    );
  return scopes;
}

/** Parses `100/s` or `100/s,200`. Throws UsageError. */
function readRate(text: string): { perSecond: number; burst: number } {
  const [, perSecond, burst] = /^(\d+(?:\.\d+)?)\/s(?:,(\d+))?$/.exec(text) ?? [];
  if (perSecond === undefined) throw new UsageError(`--rate takes calls a second, as 100/s or 100/s,200, not ${text}`);
  return {
    perSecond: Number(perSecond),
    burst: burst === undefined ? Math.max(1, Math.ceil(Number(perSecond))) : Number(burst),
  };
}
