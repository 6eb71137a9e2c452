import { sha256 } from '../crypto/hash-functions.ts';
import { type ParsedBlock, parseTransaction } from '../primitives/block.ts';
import { hashFromHex, hashToHex, type Txid } from '../primitives/hash.ts';
import { sumOutputs } from '../primitives/transaction.ts';
import { type ReadEndpoint, textAnswer } from '../queries/answer.ts';
import { parsedBlock } from '../queries/block-body.ts';
import { blockByHash, headerTime } from '../queries/block-facts.ts';
import type { ReadEnv } from '../queries/read-env.ts';
import type { WalletFileState } from '../queries/wallet-readers.ts';
import type { HeaderRecord } from '../storage/header-store.ts';
import { WalletTxViews } from '../views/core/wallet-tx.ts';
import { WalletView } from '../wallet/read/wallet-view.ts';
import type { WalletCursor } from '../wallet/store/wallet-meta.ts';
import type { WalletReads } from '../wallet/store/wallet-reads.ts';
import { TxStateCode } from '../wallet/store/wallet-schema.ts';
import type { WalletTxRecord } from '../wallet/store/wallet-tx-reads.ts';
import type { TxBlock } from '../wallet/store/wallet-tx-store.ts';
import { walletPlace } from './event-cursor.ts';

/** Returns the name of a loaded wallet and its file, without the state that changes. */
export function fileStateOf({ name, load, path }: WalletFileState): WalletFileState {
  return { name, load, path };
}

/** Effect of an event of the log on a transaction of a wallet. */
export type WalletPhase = 'mempool' | 'confirmed' | 'reverted' | 'conflicted' | 'removed' | 'abandoned';

export interface WalletBlockQuestion {
  /** Display order. */
  readonly hash: string;
  /** True if the block was connected, false if it was disconnected. */
  readonly connected: boolean;
  readonly wallets: readonly WalletFileState[];
}

/** Reason for which a transaction left the mempool, and the transaction that replaced it; null if it did not leave. */
interface Cause {
  readonly reason: string | null;
  readonly replacedBy: string | null;
}

export interface WalletTxQuestion extends Cause {
  /** Display order. */
  readonly txid: string;
  readonly phase: WalletPhase;
  readonly wallets: readonly WalletFileState[];
}

/** Result while a wallet has not processed the block. */
export const WALLET_BEHIND = 'behind';

const NO_CAUSE: Cause = { reason: null, replacedBy: null };

/**
 * Returns the messages of a block for wallets, one per line: the place within the event, and the rest of the JSON. They are
 * derived from the block and from the data of the wallets at that block, so a replay derives the same ones.
 */
export const walletBlockEndpoint: ReadEndpoint<WalletBlockQuestion> = {
  name: 'event-wallet-block',
  run(env, { hash, connected, wallets }) {
    const { trustsOwn } = env.settings.wallet;
    const block = blockByHash(env, hash);
    const active = env.reads.headers.isActive(block);
    const lines: Line[] = [];
    let parsed: ParsedBlock | null = null;
    for (const wallet of wallets) {
      const { name } = wallet;
      const reads = env.wallets!(wallet);
      const followed = reads.snapshot(() => {
        const current = active && hasFollowed(env, block, reads.cursor());
        // A block that has left the active chain is not waited for.
        if (connected && active && !current) return false;
        // Most blocks do not concern the wallet, which needs no scan of the block.
        if (current && !reads.hasTransactionsAt(block.height)) return true;
        parsed ??= parsedBlock(env, block);
        lines.push(
          ...linesOfBlock(
            new WalletEventFormatter(env, name, new WalletView(reads, { tip: block, trustsOwn })),
            parsed,
            block,
            connected,
          ),
        );
        return true;
      });
      if (!followed) return textAnswer(WALLET_BEHIND, 'none');
    }
    return textAnswer(inOrder(lines), 'none');
  },
};

/** Returns the messages of a transaction that has entered or left the mempool, or was abandoned. */
export const walletTxEndpoint: ReadEndpoint<WalletTxQuestion> = {
  name: 'event-wallet-tx',
  run(env, { txid, phase, reason, replacedBy, wallets }) {
    const lines: Line[] = [];
    for (const wallet of wallets) {
      const { name } = wallet;
      const reads = env.wallets!(wallet);
      reads.snapshot(() => {
        const record = reads.txs.byTxid(hashFromHex(txid));
        if (!record) return;
        const formatter = new WalletEventFormatter(env, name, new WalletView(reads, env.settings.wallet));
        lines.push(formatter.line(null, standing(record, phase, null), phase, { reason, replacedBy }));
      });
    }
    return textAnswer(inOrder(lines), 'none');
  },
};

function hasFollowed({ reads }: ReadEnv, { height }: HeaderRecord, cursor: WalletCursor | null): boolean {
  const at = cursor && reads.headers.byHash(cursor.hash);
  return at !== null && at.height >= height && reads.headers.isActive(at);
}

function linesOfBlock(
  formatter: WalletEventFormatter,
  { txs }: ParsedBlock,
  { height, hash, header }: HeaderRecord,
  connected: boolean,
): Line[] {
  const { reads } = formatter.view;
  const time = headerTime({ header });
  const lines: Line[] = [];
  const contradicted = new Map<number, TxBlock>();
  for (const [index, { tx, txid }] of txs.entries()) {
    const block = { height, hash, index, time };
    const record = reads.txs.byTxid(txid);
    const phase = connected ? 'confirmed' : 'reverted';
    if (record) lines.push(formatter.line({ index }, standing(record, phase, block), phase, NO_CAUSE));
    if (index === 0) continue;
    for (const { prevout } of tx.inputs)
      for (const id of reads.txs.spenders(prevout)) if (id !== record?.id) contradicted.set(id, block);
  }
  const phase = connected ? 'conflicted' : 'reverted';
  for (const [id, block] of withDescendants(reads, contradicted)) {
    const record = reads.txs.byId(id);
    // A lower block already conflicts with it.
    if (record.state === TxStateCode.CONFLICTED && record.height! < height) continue;
    // The txid alone orders it: other conflicts of the block depend on the data of the wallet at that time.
    const conflict = hashToHex(record.txid);
    lines.push(formatter.line({ conflict }, standing(record, phase, block), phase, NO_CAUSE));
  }
  return lines;
}

const MAX_CONFLICTS = 2 ** 19;

/** Returns the transactions that conflict with the block, and their descendants. */
function withDescendants(reads: WalletReads, first: ReadonlyMap<number, TxBlock>): ReadonlyMap<number, TxBlock> {
  const found = new Map(first);
  const pending = [...first];
  for (let next = pending.pop(); next && found.size < MAX_CONFLICTS; next = pending.pop()) {
    const [id, block] = next;
    const { tx, txid } = parseTransaction(reads.txs.raw(id));
    for (let vout = 0; vout < tx.outputs.length; vout++)
      for (const spender of reads.txs.spenders({ txid: txid as Txid, vout })) {
        if (found.has(spender)) continue;
        found.set(spender, block);
        pending.push([spender, block]);
      }
  }
  return found;
}

const STATE_OF: Readonly<Record<WalletPhase, number>> = {
  mempool: TxStateCode.MEMPOOL,
  confirmed: TxStateCode.CONFIRMED,
  reverted: TxStateCode.INACTIVE,
  conflicted: TxStateCode.CONFLICTED,
  removed: TxStateCode.INACTIVE,
  abandoned: TxStateCode.ABANDONED,
};

/** Returns the record of a transaction with its state at the time of the event. */
function standing(record: WalletTxRecord, phase: WalletPhase, block: TxBlock | null): WalletTxRecord {
  const state = record.coinbase && phase === 'reverted' ? TxStateCode.ABANDONED : STATE_OF[phase];
  const at = state === TxStateCode.CONFIRMED || state === TxStateCode.CONFLICTED ? block : null;
  return {
    ...record,
    state,
    height: at?.height ?? null,
    blockHash: at?.hash ?? null,
    blockIndex: at?.index ?? null,
    blockTime: at?.time ?? null,
  };
}

interface Line {
  readonly within: string;
  readonly text: string;
}

/** Below every number of confirmations, so that receipts of conflicting transactions are included. */
const ANY_DEPTH = Number.MIN_SAFE_INTEGER;

/** Formats messages about transactions of one wallet. */
class WalletEventFormatter {
  readonly #wallet: string;
  readonly #nameDigest: string;
  readonly view: WalletView;
  readonly #params: ReadEnv['params'];
  #views: WalletTxViews | null = null;

  constructor({ params }: ReadEnv, wallet: string, view: WalletView) {
    this.#wallet = wallet;
    this.#nameDigest = sha256(new TextEncoder().encode(wallet)).toHex();
    this.view = view;
    this.#params = params;
  }

  /** Returns a message. `of` distinguishes the messages of one event and wallet. Amounts are satoshis. */
  line(
    of: Parameters<typeof walletPlace>[1],
    tx: WalletTxRecord,
    phase: WalletPhase,
    { reason, replacedBy }: Cause,
  ): Line {
    this.#views ??= new WalletTxViews(this.view, this.#params, { amount: (satoshis) => satoshis });
    const { txid, time: _shownWith, ...about } = this.#views.about(tx);
    const details = this.#views.entries(tx, { minDepth: ANY_DEPTH, long: false, label: null, includeChange: false });
    const data = { wallet: this.#wallet, txid, phase, reason, replacedBy, ...this.#net(tx), ...about, details };
    const within = walletPlace(this.#nameDigest, of);
    return { within, text: `${within}\t${JSON.stringify(data).slice(1)}` };
  }

  /** Returns the change of the balance without the fee, and the fee (zero or negative) if the wallet spends coins. */
  #net(tx: WalletTxRecord): { amount: number; fee: number | null } {
    const { txs } = this.view.reads;
    const credit = txs.coinsOf(tx.id).reduce((sum, { value }) => sum + value, 0);
    if (tx.debit <= 0) return { amount: credit, fee: null };
    const fee = Number(sumOutputs(this.view.transaction(tx.id))) - tx.debit;
    return { amount: credit - tx.debit - fee, fee };
  }
}

/** Sorts the lines by place, which is also the order among several wallets. */
function inOrder(lines: readonly Line[]): string {
  return lines
    .toSorted((a, b) => (a.within < b.within ? -1 : 1))
    .map(({ text }) => text)
    .join('\n');
}
