import { hostname } from 'node:os';
import { AuthStore } from '../auth/auth-store.ts';
import type { Loaded } from '../config/load.ts';
import { databaseProblem } from '../serve/database-session.ts';
import { KeyDatabase, type KeySnapshot } from '../serve/keys/key-database.ts';
import { OperatorError } from '../util/operator-error.ts';
import { openAuthStore } from './auth-access.ts';
import { type CommandContext, UsageError } from './command.ts';
import { refusePasswordInFlags } from './secret-flags.ts';

/** Time limit of a command at the database, which includes the changes of others that it waits for, milliseconds. */
const LIMIT_MS = 15_000;
/** Settings that name the database, the first one first. */
const URL_SETTINGS = ['serve.from', 'sink.postgres'] as const;
/** More than the records of one command. */
const MAX_RECORDS = 100;

/** Where keys are stored. */
export interface KeyPlace {
  /** Runs `work` on the stored keys, and stores what it changes. Throws its errors and OperatorError; then nothing is stored. */
  use(work: (store: AuthStore, context: CommandContext) => void, doing: 'read' | 'change'): Promise<void>;
}

/** Returns auth.db of a node. */
export function nodeKeys(config: Loaded['config'], command: string, context: CommandContext): KeyPlace {
  return {
    use: async (work) => {
      const store = openAuthStore(config, command);
      try {
        work(store, context);
      } finally {
        store.close();
      }
    },
  };
}

/** Returns the keys of the servers that have one database. Throws UsageError where the settings do not name it. */
export function databaseKeys(loaded: Loaded, context: CommandContext): KeyPlace {
  const url = databaseUrlOf(loaded);
  return {
    use: async (work, doing) => {
      const database = new KeyDatabase({ url, name: 'obverse key', limitMs: LIMIT_MS });
      // A change is reported when it is stored.
      const output: (() => void)[] = [];
      const held: CommandContext = {
        signal: context.signal,
        out: (text) => output.push(() => context.out(text)),
        err: (text) => output.push(() => context.err(text)),
      };
      try {
        if (doing === 'read') {
          inMemory(await database.read(), (store) => work(store, held));
        } else {
          await database.createTables();
          await database.change((before) =>
            inMemory(before, (store) => {
              work(store, held);
              return { keys: store.keys(), secrets: store.secrets(), records: recordsIn(store) };
            }),
          );
        }
      } catch (error) {
        if (error instanceof OperatorError || error instanceof UsageError) throw error;
        throw new OperatorError(
          `the keys in the database cannot be ${doing === 'read' ? 'read' : 'changed'}: ${databaseProblem(error)}`,
        );
      } finally {
        database.close();
      }
      for (const print of output) print();
    },
  };
}

function inMemory<T>({ keys, secrets }: KeySnapshot, work: (store: AuthStore) => T): T {
  const store = new AuthStore(null);
  try {
    store.replaceKeys(keys, secrets);
    return work(store);
  } finally {
    store.close();
  }
}

/** Returns the rows of the audit log in memory, which the work has written. */
function recordsIn(store: AuthStore) {
  return store.audit
    .page({}, null, MAX_RECORDS)
    .toReversed()
    .map(({ time, who, method, keyId }) => ({ time, who: `${who}@${hostname()}`, method, keyId: keyId! }));
}

function databaseUrlOf({ config, given }: Loaded): string {
  const url = config.serve.from ?? config.sink.postgres;
  if (url === null)
    throw new UsageError(
      '--database needs the URL of the database: set OBVERSE_SERVE_FROM, or serve.from in the settings file',
    );
  refusePasswordInFlags({ given }, URL_SETTINGS);
  return url;
}
