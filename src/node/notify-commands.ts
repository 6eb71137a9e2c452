import type { Config } from '../config/settings.ts';
import type { EventPosition } from '../feed/event-cursor.ts';
import { type EventSources, nextEventPage } from '../feed/event-pages.ts';
import { NO_WATCHES } from '../feed/watches.ts';
import { sleep } from '../util/abort.ts';
import type { Log } from '../util/log.ts';
import { ShellCommands } from '../util/shell-commands.ts';

export type NotifySettings = Config['notify'];

export interface NotifyDependencies {
  readonly sources: EventSources;
  readonly log: Log;
}

/** Number of commands that run at a time; the next events wait in the log of events. */
const MAX_RUNNING = 8;
const COMMAND_LIMIT_MS = 600_000;
/** Time limit of `notify.shutdown`, for which the stop waits. */
const SHUTDOWN_LIMIT_MS = 10_000;
const PAGE = 100;
/** Pause after events could not be read, milliseconds. */
const RETRY_MS = 1000;
const MAX_WARNING = 1000;

/** Runs the operator's commands at events, as the `-…notify` options of Bitcoin Core do. */
export class NotifyCommands {
  readonly #settings: NotifySettings;
  readonly #deps: NotifyDependencies;
  readonly #commands: ShellCommands;
  readonly #ended = new AbortController();
  #shown: ReadonlySet<string> = new Set();
  #events: Promise<void> = Promise.resolve();

  /** Returns null where the configuration names no command. */
  static of(settings: NotifySettings, deps: NotifyDependencies): NotifyCommands | null {
    return Object.values(settings).some((command) => command !== null) ? new NotifyCommands(settings, deps) : null;
  }

  private constructor(settings: NotifySettings, deps: NotifyDependencies) {
    this.#settings = settings;
    this.#deps = deps;
    this.#commands = new ShellCommands({ log: deps.log, maxRunning: MAX_RUNNING, limitMs: COMMAND_LIMIT_MS });
  }

  /** Follows the events from now on, and runs `notify.startup`. The event log must be attached. */
  start(): void {
    const { startup, block, wallet } = this.#settings;
    if (startup !== null) void this.#commands.startCommand('notify.startup', startup);
    const types = [...(block === null ? [] : ['newBlock']), ...(wallet === null ? [] : ['walletTransaction'])];
    if (types.length > 0) this.#events = this.#follow(new Set(types), this.#deps.sources.events.end);
  }

  /** Runs `notify.alert` for each warning that was not shown before. */
  checkWarnings(warnings: readonly string[]): void {
    const { alert } = this.#settings;
    if (alert === null) return;
    for (const warning of warnings)
      if (!this.#shown.has(warning)) {
        const text = warning.replace(/\p{Cc}/gu, ' ').slice(0, MAX_WARNING);
        const asVariables = { s: ['NOTIFY_WARNING', text] } as const;
        void this.#commands.startCommand('notify.alert', alert, { inText: {}, asVariables });
      }
    this.#shown = new Set(warnings);
  }

  /** Runs `notify.shutdown`, and ends the other commands. Resolves when all has ended. */
  async stop(): Promise<void> {
    this.#ended.abort(new Error('the node stops'));
    const { shutdown } = this.#settings;
    if (shutdown !== null) await this.#commands.runLastCommand('notify.shutdown', shutdown, SHUTDOWN_LIMIT_MS);
    this.#commands.end();
    await this.#events;
  }

  async #follow(types: ReadonlySet<string>, from: EventPosition): Promise<void> {
    const { signal } = this.#ended;
    const { sources, log } = this.#deps;
    const request = { types, watches: NO_WATCHES, wallets: null, limit: PAGE, byCursor: true, signal };
    let end = from;
    while (!signal.aborted && !sources.events.closed) {
      try {
        const page = await nextEventPage(sources, { items: [], end }, request, signal);
        for (const item of page.items) await this.#runCommandOf(JSON.parse(item) as NotifiedEvent);
        end = page.end;
      } catch (error) {
        if (signal.aborted) return;
        log.warn('events for the notify commands could not be read', { error });
        await sleep(RETRY_MS, signal).catch(() => {});
      }
    }
  }

  async #runCommandOf({ type, data }: NotifiedEvent): Promise<void> {
    const { block, wallet } = this.#settings;
    if (type === 'newBlock' && block !== null) {
      // As in Bitcoin Core, blocks of the initial sync do not count.
      if (!data.initialSync) await this.#commands.startCommand('notify.block', block, { inText: { s: data.hash } });
    } else if (type === 'walletTransaction' && wallet !== null) {
      const isConfirmed = data.phase === 'confirmed';
      await this.#commands.startCommand('notify.wallet', wallet, {
        inText: {
          s: data.txid,
          b: isConfirmed ? data.blockhash : 'unconfirmed',
          h: isConfirmed ? String(data.blockheight) : '-1',
        },
        asVariables: { w: ['NOTIFY_WALLET', data.wallet] },
      });
    }
  }
}

type NotifiedEvent =
  | { readonly type: 'newBlock'; readonly data: { readonly hash: string; readonly initialSync: boolean } }
  | {
      readonly type: 'walletTransaction';
      readonly data: {
        readonly wallet: string;
        readonly txid: string;
        readonly phase: string;
        readonly blockhash: string;
        readonly blockheight: number;
      };
    };
