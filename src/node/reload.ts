import { ConfigError } from '../config/load.ts';
import { type Config, KEYS, type Key } from '../config/settings.ts';
import { type Log, setLogLevels } from '../util/log.ts';
import { type CategoryLevels, categoryLevels } from '../util/log-levels.ts';
import { reopenLogFile } from '../util/process-log.ts';

/** Settings that a running node reads again. All others apply after a restart. */
const CHANGEABLE: readonly Key[] = ['log.level', 'log.levels'];

interface ReloadDeps {
  /** The settings of the start. */
  readonly config: Config;
  /** Reads the present ones. Throws ConfigError. */
  readonly read: () => Config;
  readonly log: Log;
  /** Sets the levels on the other threads; rejects while the node is not open. */
  readonly announce: (levels: CategoryLevels) => Promise<unknown>;
}

/** Opens `log.file` again and applies the settings that can change. A mistake in the settings changes none of them. */
export async function reloadSettings({ config, read, log, announce }: ReloadDeps): Promise<void> {
  const { file, fd = null } = config.log;
  // Lines that are written before the switch belong to the earlier file.
  log.flush();
  try {
    if (file !== null && fd !== null) reopenLogFile(file, fd);
  } catch (error) {
    log.error('the log file cannot be opened again, and the earlier one stays in use', { reason: reasonOf(error) });
  }
  let next: Config;
  try {
    next = read();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    log.error('the settings cannot be read again, and none has changed', { problems: error.lines });
    return;
  }
  const levels = categoryLevels(next.log.level, next.log.levels);
  setLogLevels(levels, true);
  await announce(levels).catch((error) => log.warn('the levels of the log apply in part', { reason: reasonOf(error) }));
  const changed = KEYS.filter((key) => valueOfKey(next, key) !== valueOfKey(config, key));
  const waiting = changed.filter((key) => !CHANGEABLE.includes(key));
  log.info('settings were read again', {
    level: next.log.level,
    levels: next.log.levels.map(({ category, level }) => `${category}=${level}`).join(',') || undefined,
    needRestart: waiting.length > 0 ? waiting : undefined,
  });
}

function valueOfKey(config: Config, key: Key): string | undefined {
  let value: unknown = config;
  for (const name of key.split('.')) value = (value as Record<string, unknown>)[name];
  return JSON.stringify(value);
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
