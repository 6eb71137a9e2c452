import { X509Certificate } from 'node:crypto';
import { ConfigError } from '../config/load.ts';
import type { Setting } from '../config/setting.ts';
import { type Config, KEYS, type Key, SETTINGS, valueOfKey } from '../config/settings.ts';
import type { TlsPair } from '../http/live-options.ts';
import { type Log, setLogLevels } from '../util/log.ts';
import { type CategoryLevels, categoryLevels } from '../util/log-levels.ts';
import { reopenLogFile } from '../util/process-log.ts';
import { readTlsFiles } from './tls-files.ts';

interface ReloadDeps {
  /** The settings of the start. */
  readonly config: Config;
  /** The certificate of the start; null without TLS. */
  readonly tls: TlsPair | null;
  /** Reads the present settings. Throws ConfigError. */
  readonly read: () => Config;
  readonly log: Log;
  /** Sets the levels on the other threads; rejects while the node is not open. */
  readonly announce: (levels: CategoryLevels) => Promise<unknown>;
  /**
   * Applies the settings of the API and a new certificate, if there is one, once requests are answered. Resolves to false
   * where a front has not applied them. Rejects where the certificate cannot be used.
   */
  readonly apply: (next: Config, tls: TlsPair | null) => Promise<boolean>;
}

/** Settings whose files are read at each reload. */
const TLS_KEYS: readonly Key[] = ['http.tls.cert', 'http.tls.key'];

/** Opens `log.file` again and applies the settings that can change. A mistake in the settings changes none of them. */
export class SettingsReload {
  readonly #deps: ReloadDeps;
  /** The values in use, as JSON. */
  readonly #used: Map<Key, string | undefined>;
  #tls: TlsPair | null;
  #running: Promise<void> | null = null;
  #next: Promise<void> | null = null;

  constructor(deps: ReloadDeps) {
    this.#deps = deps;
    this.#used = new Map(KEYS.map((key) => [key, textOfKey(deps.config, key)]));
    this.#tls = deps.tls;
  }

  /** Runs a reload, after the one that runs. Requests for one while another waits are that other one. */
  run(): Promise<void> {
    if (!this.#running) return this.#start();
    this.#next ??= this.#running.then(() => {
      this.#next = null;
      return this.#start();
    });
    return this.#next;
  }

  #start(): Promise<void> {
    this.#running = this.#reload().finally(() => (this.#running = null));
    return this.#running;
  }

  async #reload(): Promise<void> {
    const { config, read, log, announce } = this.#deps;
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
    await announce(levels).catch((error) =>
      log.warn('the levels of the log apply in part', { reason: reasonOf(error) }),
    );
    const refused = await this.#apply(next);
    const changed = KEYS.filter((key) => textOfKey(next, key) !== this.#used.get(key) && !refused.includes(key));
    const applied = changed.filter((key) => this.#isLive(key, next));
    const waiting = changed.filter((key) => !applied.includes(key));
    for (const key of applied) this.#used.set(key, textOfKey(next, key));
    log.info('settings were read again', {
      level: next.log.level,
      levels: next.log.levels.map(({ category, level }) => `${category}=${level}`).join(',') || undefined,
      applied: applied.length > 0 ? applied : undefined,
      needRestart: waiting.length > 0 ? waiting : undefined,
    });
  }

  /** Applies the settings of the API and the certificate. Returns the keys that were refused. */
  async #apply(next: Config): Promise<readonly Key[]> {
    const { log, apply } = this.#deps;
    const pair = this.#readTls(next);
    const isNew = pair !== null && (pair.cert !== this.#tls?.cert || pair.key !== this.#tls.key);
    let isRefused = pair === null && this.#tls !== null && hasTls(next);
    try {
      // The limits first, since the certificate may be refused.
      const isComplete = [await apply(next, null), !isNew || (await apply(next, pair))];
      if (isComplete.includes(false)) log.error('a front has not applied the changed settings: restart the node');
      if (!isNew) return isRefused ? TLS_KEYS : [];
      this.#tls = pair;
      const { validTo } = new X509Certificate(pair.cert);
      log.info('new connections use the new TLS certificate', { file: next.http.tls.cert, validTo });
    } catch (error) {
      isRefused = isNew;
      const fields = { file: next.http.tls.cert ?? undefined, reason: reasonOf(error) };
      log.error('the TLS certificate cannot be used, and the earlier one stays in use', fields);
    }
    return isRefused ? TLS_KEYS : [];
  }

  /** Returns the present pair; null without TLS, or where a file cannot be used. */
  #readTls(next: Config): TlsPair | null {
    if (this.#tls === null) return null;
    try {
      return readTlsFiles(next.http.tls);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      const [reason] = error.lines;
      this.#deps.log.error('the TLS certificate cannot be used, and the earlier one stays in use', { reason });
      return null;
    }
  }

  /** Whether a reload applies a change of the setting. TLS itself is switched on and off by a restart. */
  #isLive(key: Key, next: Config): boolean {
    if (TLS_KEYS.includes(key) && (this.#tls === null || !hasTls(next))) return false;
    return (SETTINGS[key] as Setting<unknown>).live === true;
  }
}

function hasTls({ http }: Config): boolean {
  return http.tls.cert !== null;
}

/** Returns the value of a key as text, by which values are compared. */
function textOfKey(config: Config, key: Key): string | undefined {
  return JSON.stringify(valueOfKey(config, key));
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
