import { sleep } from '../util/abort.ts';
import type { WalletState } from '../wallet/wallet-state.ts';
import { headOf } from './frame.ts';
import { isBlockEvent, type LogEntry } from './log-entry.ts';
import {
  nameOf,
  WALLET_BEHIND,
  type WalletBlockQuestion,
  type WalletPhase,
  type WalletTxQuestion,
} from './wallet-event-lines.ts';

/** A message about a transaction of a wallet: its place within the event, and its data from the name of the wallet on. */
export interface WalletLine {
  readonly within: string;
  readonly text: string;
}

export interface WalletToldOptions {
  /** The wallets that are loaded. */
  states(): readonly WalletState[];
  /** Whether one of them knows a transaction (display order). */
  knows(wallet: WalletState, txid: string): boolean;
  /** Does a job on a reader worker. */
  run(name: string, input: WalletBlockQuestion | WalletTxQuestion): Promise<Uint8Array>;
  /** Ends the waiting for a wallet. */
  readonly stopping?: AbortSignal;
  /** How long a wallet that has not followed the chain is waited for. */
  readonly patienceMs?: number;
}

/** A wallet that has not followed the chain is asked again after so long, and given up for now after so long. */
const RETRY_MS = 100;
const PATIENCE_MS = 10_000;
/** What was found serves all who are told of it now; a while later the wallet may know more. */
const GOOD_MS = 10_000;
const MAX_KEPT = 64;
const MAX_KEPT_BYTES = 16 * 1024 ** 2;

interface Kept {
  readonly lines: readonly WalletLine[];
  readonly bytes: number;
  readonly at: number;
}

const NOTHING: readonly WalletLine[] = [];

/** What events are to the wallets: asked only for clients that want `walletTransaction`, and once for all of them. */
export class WalletTold {
  readonly #options: WalletToldOptions;
  readonly #kept = new Map<number, Kept>();
  readonly #running = new Map<number, Promise<void>>();
  #bytes = 0;

  constructor(options: WalletToldOptions) {
    this.#options = options;
  }

  /** In order of their places; or a promise: ask again when it resolves. It rejects where a wallet stays behind. */
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
      const work = isBlockEvent(entry) ? this.#ofBlock(entry) : this.#ofTx(entry, wallets);
      if (work === null) return NOTHING;
      const made = work.finally(() => this.#running.delete(seq));
      this.#running.set(seq, made);
      return made;
    } catch (error) {
      // One that is being unloaded cannot be read; it may be better in a moment.
      return Promise.reject(error);
    }
  }

  async #ofBlock({ seq, type, text }: LogEntry): Promise<void> {
    const { hash } = headOf(text);
    const found = await this.#patiently(async () => {
      const wallets = this.#options.states().map(nameOf);
      const body = await this.#ask('event-wallet-block', { hash, connected: type === 'newBlock', wallets });
      return body === WALLET_BEHIND ? null : body;
    });
    this.#keep(seq, found);
  }

  /** Null where it is of no wallet, which most are: that is found here and now. */
  #ofTx(entry: LogEntry, wallets: readonly WalletState[]): Promise<void> | null {
    const told = factsOf(entry);
    const asked = told.wallet === null ? wallets : wallets.filter(({ name }) => name === told.wallet);
    const unsure = (wallet: WalletState) => !wallet.settled && !this.#options.knows(wallet, told.txid);
    const knowing = asked.filter((wallet) => this.#options.knows(wallet, told.txid));
    if (knowing.length === 0 && !asked.some(unsure)) return null;
    const { wallet: _, ...question } = told;
    const ask = async () => {
      const loaded = this.#options.states().filter(({ name }) => asked.some((each) => each.name === name));
      if (loaded.some(unsure)) return null;
      const having = loaded.filter((wallet) => this.#options.knows(wallet, told.txid)).map(nameOf);
      return having.length === 0 ? '' : this.#ask('event-wallet-tx', { ...question, wallets: having });
    };
    return this.#patiently(ask).then((found) => this.#keep(entry.seq, found));
  }

  /** Waits while the answer is null: a wallet catches up. */
  async #patiently(ask: () => Promise<string | null>): Promise<string> {
    const until = performance.now() + (this.#options.patienceMs ?? PATIENCE_MS);
    for (;;) {
      const found = await ask();
      if (found !== null) return found;
      if (performance.now() > until) throw new Error('a wallet has not followed the chain yet');
      await sleep(RETRY_MS, this.#options.stopping);
    }
  }

  async #ask(name: string, question: WalletBlockQuestion | WalletTxQuestion): Promise<string> {
    return new TextDecoder().decode(await this.#options.run(name, question));
  }

  #keep(seq: number, body: string): void {
    const lines = body === '' ? NOTHING : body.split('\n').map(lineOf);
    this.#drop(seq);
    this.#kept.set(seq, { lines, bytes: body.length, at: performance.now() });
    this.#bytes += body.length;
    for (const old of this.#kept.keys()) {
      if (old === seq || (this.#kept.size <= MAX_KEPT && this.#bytes <= MAX_KEPT_BYTES)) break;
      this.#drop(old);
    }
  }

  #drop(seq: number): void {
    this.#bytes -= this.#kept.get(seq)?.bytes ?? 0;
    this.#kept.delete(seq);
  }
}

/** Events that mean something to a wallet. */
const PHASE_OF: Readonly<Record<string, WalletPhase>> = {
  newTransaction: 'mempool',
  transactionRemoved: 'removed',
  walletAbandoned: 'abandoned',
};
const CAUSES: ReadonlySet<string> = new Set(['newBlock', 'blockDisconnected', ...Object.keys(PHASE_OF)]);

/** `wallet` is the one it is about, null where it may be any. */
function factsOf({ type, text, reason }: LogEntry): Omit<WalletTxQuestion, 'wallets'> & { wallet: string | null } {
  const { txid, replacedBy, wallet } = JSON.parse(text).data as Record<string, string | undefined>;
  return { txid: txid!, phase: PHASE_OF[type]!, reason, replacedBy: replacedBy ?? null, wallet: wallet ?? null };
}

function lineOf(line: string): WalletLine {
  const tab = line.indexOf('\t');
  return { within: line.slice(0, tab), text: line.slice(tab + 1) };
}

/** The name of the wallet at the beginning of a message's data. Throws without one: the message cannot be authorized then. */
export function walletIn(text: string): string {
  return JSON.parse(/^"wallet":("(?:[^"\\]|\\.)*")/.exec(text)![1]!) as string;
}
