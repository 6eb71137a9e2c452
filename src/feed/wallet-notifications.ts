import { sleep } from '../util/abort.ts';
import type { WalletState } from '../wallet/wallet-state.ts';
import { headOf } from './frame.ts';
import { isBlockEvent, type LogEntry } from './log-entry.ts';
import {
  fileStateOf,
  WALLET_BEHIND,
  type WalletBlockQuestion,
  type WalletPhase,
  type WalletTxQuestion,
} from './wallet-event-lines.ts';

/** A message about a transaction of a wallet: its place within the event, and its data from the wallet name on. */
export interface WalletLine {
  readonly within: string;
  readonly text: string;
}

export interface WalletNotificationOptions {
  /** Returns the loaded wallets. */
  states(): readonly WalletState[];
  /** Whether a wallet has a transaction (display order). */
  knows(wallet: WalletState, txid: string): boolean;
  /** Runs a job on a reader worker. */
  run(name: string, input: WalletBlockQuestion | WalletTxQuestion): Promise<Uint8Array>;
  /** Ends the waiting for a wallet. */
  readonly stopping?: AbortSignal;
  /** Time limit for a wallet that has not processed the block, milliseconds. */
  readonly patienceMs?: number;
}

/** Interval of attempts while a wallet has not processed the block, milliseconds. */
const RETRY_MS = 100;
/** Default time limit for such a wallet, milliseconds. */
const PATIENCE_MS = 10_000;
/** Time for which a result is reused, milliseconds. Later the wallet may have more transactions. */
const GOOD_MS = 10_000;
const MAX_KEPT = 64;
const MAX_KEPT_BYTES = 16 * 1024 ** 2;

interface Kept {
  readonly lines: readonly WalletLine[];
  readonly bytes: number;
  readonly at: number;
}

const NOTHING: readonly WalletLine[] = [];

/** Derives the messages of events for wallets, once for all clients that subscribe to `walletTransaction`. */
export class WalletNotifications {
  readonly #options: WalletNotificationOptions;
  readonly #kept = new Map<number, Kept>();
  readonly #running = new Map<number, Promise<void>>();
  #bytes = 0;

  constructor(options: WalletNotificationOptions) {
    this.#options = options;
  }

  /**
   * Returns the messages of an event in the order of their places, or a promise after which the call is repeated. The
   * promise rejects if a wallet stays behind.
   */
  lines(entry: LogEntry): readonly WalletLine[] | Promise<void> {
    if (!CAUSES.has(entry.type) || entry.reason === 'block') return NOTHING;
    const { seq } = entry;
    const known = this.#kept.get(seq);
    if (known && performance.now() - known.at < GOOD_MS) return known.lines;
    const running = this.#running.get(seq);
    if (running) return running;
    const wallets = this.#options.states();
    if (wallets.length === 0) return NOTHING;
    try {
      const work = isBlockEvent(entry) ? this.#deriveBlock(entry) : this.#deriveTx(entry, wallets);
      if (work === null) return NOTHING;
      const made = work.finally(() => this.#running.delete(seq));
      this.#running.set(seq, made);
      return made;
    } catch (error) {
      // A wallet that is being unloaded cannot be read. The next attempt may succeed.
      return Promise.reject(error);
    }
  }

  async #deriveBlock({ seq, type, text }: LogEntry): Promise<void> {
    const { hash } = headOf(text);
    const found = await this.#untilSynced(async () => {
      const wallets = this.#options.states().map(fileStateOf);
      const body = await this.#query('event-wallet-block', { hash, connected: type === 'newBlock', wallets });
      return body === WALLET_BEHIND ? null : body;
    });
    this.#cacheLines(seq, found);
  }

  /** Returns null at once if the transaction concerns no wallet, as most do. */
  #deriveTx(entry: LogEntry, wallets: readonly WalletState[]): Promise<void> | null {
    const facts = factsOf(entry);
    const candidates = facts.wallet === null ? wallets : wallets.filter(({ name }) => name === facts.wallet);
    const unsure = (wallet: WalletState) => !wallet.settled && !this.#options.knows(wallet, facts.txid);
    const knowing = candidates.filter((wallet) => this.#options.knows(wallet, facts.txid));
    if (knowing.length === 0 && !candidates.some(unsure)) return null;
    const { wallet: _, ...question } = facts;
    const query = async () => {
      const loaded = this.#options.states().filter(({ name }) => candidates.some((each) => each.name === name));
      if (loaded.some(unsure)) return null;
      const having = loaded.filter((wallet) => this.#options.knows(wallet, facts.txid)).map(fileStateOf);
      return having.length === 0 ? '' : this.#query('event-wallet-tx', { ...question, wallets: having });
    };
    return this.#untilSynced(query).then((found) => this.#cacheLines(entry.seq, found));
  }

  /** Repeats `ask` while the result is null, since a wallet is catching up. */
  async #untilSynced(query: () => Promise<string | null>): Promise<string> {
    const until = performance.now() + (this.#options.patienceMs ?? PATIENCE_MS);
    for (;;) {
      const found = await query();
      if (found !== null) return found;
      if (performance.now() > until) throw new Error('a wallet has not followed the chain yet');
      await sleep(RETRY_MS, this.#options.stopping);
    }
  }

  async #query(name: string, question: WalletBlockQuestion | WalletTxQuestion): Promise<string> {
    return new TextDecoder().decode(await this.#options.run(name, question));
  }

  #cacheLines(seq: number, body: string): void {
    const lines = body === '' ? NOTHING : body.split('\n').map(lineOf);
    this.#evict(seq);
    this.#kept.set(seq, { lines, bytes: body.length, at: performance.now() });
    this.#bytes += body.length;
    for (const old of this.#kept.keys()) {
      if (old === seq || (this.#kept.size <= MAX_KEPT && this.#bytes <= MAX_KEPT_BYTES)) break;
      this.#evict(old);
    }
  }

  #evict(seq: number): void {
    this.#bytes -= this.#kept.get(seq)?.bytes ?? 0;
    this.#kept.delete(seq);
  }
}

/** Events that may concern a wallet. */
const PHASE_OF: Readonly<Record<string, WalletPhase>> = {
  newTransaction: 'mempool',
  transactionRemoved: 'removed',
  walletAbandoned: 'abandoned',
};
const CAUSES: ReadonlySet<string> = new Set(['newBlock', 'blockDisconnected', ...Object.keys(PHASE_OF)]);

/** Returns the facts of an event. `wallet` is null if it may concern any wallet. */
function factsOf({ type, text, reason }: LogEntry): Omit<WalletTxQuestion, 'wallets'> & { wallet: string | null } {
  const { txid, replacedBy, wallet } = JSON.parse(text).data as Record<string, string | undefined>;
  return { txid: txid!, phase: PHASE_OF[type]!, reason, replacedBy: replacedBy ?? null, wallet: wallet ?? null };
}

function lineOf(line: string): WalletLine {
  const tab = line.indexOf('\t');
  return { within: line.slice(0, tab), text: line.slice(tab + 1) };
}

/** Returns the wallet name at the beginning of a message. Throws without one, since access cannot be checked then. */
export function walletIn(text: string): string {
  return JSON.parse(/^"wallet":("(?:[^"\\]|\\.)*")/.exec(text)![1]!) as string;
}
