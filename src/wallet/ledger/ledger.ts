import { TRUC_VERSION } from '../../policy/truc.ts';
import { type ParsedTransaction, parseTransaction, weightOf } from '../../primitives/block.ts';
import type { Txid } from '../../primitives/hash.ts';
import { hasWitness, isCoinbase, type Transaction } from '../../primitives/transaction.ts';
import { equalBytes } from '../../util/bytes.ts';
import { type Clock, unixSeconds } from '../../util/clock.ts';
import { runSteps, type Steps } from '../../util/slices.ts';
import { TxStateCode } from '../store/wallet-schema.ts';
import type { WalletStore } from '../store/wallet-store.ts';
import type { WalletTxRecord } from '../store/wallet-tx-reads.ts';
import type { TxBlock } from '../store/wallet-tx-store.ts';
import { isDecided, stateCodeOf, type TxLocation } from './tx-location.ts';
import { inactiveDescendants, isEquivalentTo } from './tx-relations.ts';

/** The part of a wallet's scripts that the ledger needs. */
export interface ScriptOwner {
  owns(script: Uint8Array): boolean;
  /** Notes a payment to a script of the wallet, which may derive more scripts. */
  markPaid(script: Uint8Array): void;
}

export interface LedgerDeps {
  readonly store: WalletStore;
  readonly owner: ScriptOwner;
  readonly clock: Clock;
  /** Called for each script that is spent from. */
  onSpend?(script: Uint8Array): void;
}

/** Tolerance for transaction times ahead of the clock, seconds. */
const TIME_TOLERANCE_S = 300;
/** Outputs that are processed in one step, a few milliseconds. */
const OUTPUTS_A_STEP = 250;

/**
 * The transactions of a wallet and their effect on its coins, by Core's rules: confirmed, conflicted, abandoned, in the
 * mempool or inactive. Called inside a write of the store.
 */
export class Ledger {
  readonly #store: WalletStore;
  readonly #owner: ScriptOwner;
  readonly #clock: Clock;
  readonly #onSpend: (script: Uint8Array) => void;

  constructor({ store, owner, clock, onSpend = () => {} }: LedgerDeps) {
    this.#store = store;
    this.#owner = owner;
    this.#clock = clock;
    this.#onSpend = onSpend;
  }

  /**
   * Applies a transaction. Returns its id, or null where it does not concern the wallet. `old`: its block is scanned
   * again, long after it was connected.
   */
  syncTransaction(
    parsed: ParsedTransaction,
    state: TxLocation,
    options: { readonly old?: boolean } = {},
  ): number | null {
    return runSteps(this.syncSteps(parsed, state, options));
  }

  /**
   * Applies a transaction in steps: it may pay the wallet thousands of times. After an interruption the same steps
   * complete it.
   */
  *syncSteps(
    parsed: ParsedTransaction,
    state: TxLocation,
    { old = false }: { readonly old?: boolean } = {},
  ): Steps<number | null> {
    const { txs } = this.#store;
    const { tx, txid } = parsed;
    const ours = yield* this.#ownScripts(tx);
    for (const script of ours.values()) {
      this.#owner.markPaid(script);
      yield;
    }
    // One step from here to the row of the transaction.
    if (state.in === 'block')
      for (const { prevout } of tx.inputs)
        for (const id of txs.spenders(prevout))
          if (!equalBytes(txs.byId(id).txid, txid)) this.#contradict(id, state.block);
    const known = txs.byTxid(txid);
    if (!known && ours.size === 0 && !tx.inputs.some(({ prevout }) => txs.coin(prevout) !== null)) return null;
    return yield* this.addSteps(parsed, state, { old });
  }

  /** Adds a transaction of the wallet's own, whether it concerns its scripts or not. Returns its id. */
  addTransaction(parsed: ParsedTransaction, state: TxLocation): number {
    return runSteps(this.addSteps(parsed, state));
  }

  /** Adds a transaction in steps: first its row and inputs, then its outputs that pay the wallet. */
  *addSteps(
    parsed: ParsedTransaction,
    state: TxLocation,
    { old = false }: { readonly old?: boolean } = {},
  ): Steps<number> {
    const { txs } = this.#store;
    const known = txs.byTxid(parsed.txid);
    // A transaction that was created a second time keeps its state.
    if (known && state.in === 'nothing' && isDecided(known)) return known.id;
    const coinbase = isCoinbase(parsed.tx);
    let id: number;
    if (known) {
      id = known.id;
      this.#move(known, parsed, state);
    } else id = this.#insert(parsed, state, coinbase, old);
    this.refreshInputs(parsed.tx);
    yield* this.addCoinsSteps(id, parsed);
    // A coinbase that is no longer in a block is void, and so are its descendants.
    if (coinbase && state.in === 'nothing')
      this.#cascade(id, ({ id: each }) => {
        txs.setState(each, TxStateCode.ABANDONED, null);
        return true;
      });
    return id;
  }

  /** Applies the disconnection of all blocks above a height. */
  disconnectAbove(height: number): void {
    runSteps(this.disconnectSteps(height));
  }

  /**
   * Applies the disconnection of all blocks above a height, one transaction in each step. After an interruption the same
   * steps complete it.
   */
  *disconnectSteps(height: number): Steps<void> {
    const { txs } = this.#store;
    for (let moved = txs.highestAbove(height); moved; moved = txs.highestAbove(height)) {
      const { id, coinbase } = moved;
      txs.setState(id, coinbase ? TxStateCode.ABANDONED : TxStateCode.INACTIVE, null);
      this.#preferLightest(id);
      this.refreshInputs(parseTransaction(txs.raw(id)).tx);
      if (coinbase)
        this.#cascade(id, (tx) => {
          if (tx.id !== id && tx.state === TxStateCode.ABANDONED) return false;
          txs.setState(tx.id, TxStateCode.ABANDONED, null);
          return true;
        });
      yield;
    }
  }

  /** Applies a transaction that entered the mempool. */
  mempoolAdded(parsed: ParsedTransaction): void {
    const { txs } = this.#store;
    const { tx, txid } = parsed;
    if (txs.byTxid(txid)?.state === TxStateCode.CONFIRMED) return;
    this.syncTransaction(parsed, { in: 'mempool' });
    for (const { prevout } of tx.inputs)
      for (const spender of txs.spenders(prevout)) {
        if (equalBytes(txs.byId(spender).txid, txid)) continue;
        this.#cascade(spender, ({ id }) => txs.addMempoolConflict(id, txid));
      }
    if (tx.version === TRUC_VERSION) for (const { prevout } of tx.inputs) this.#excludeSiblings(prevout.txid, txid);
  }

  /** An unconfirmed TRUC transaction has one child in the mempool, so each other one conflicts with it (BIP-431). */
  #excludeSiblings(parent: Txid, child: Uint8Array): void {
    const { txs } = this.#store;
    const known = txs.byTxid(parent);
    if (known === null || (isDecided(known) && known.state !== TxStateCode.MEMPOOL)) return;
    const { tx } = parseTransaction(txs.raw(known.id));
    for (let vout = 0; vout < tx.outputs.length; vout++)
      for (const spender of txs.spenders({ txid: parent, vout })) {
        if (equalBytes(txs.byId(spender).txid, child)) continue;
        this.#cascade(spender, ({ id }) => txs.addMempoolConflict(id, child));
      }
  }

  /** Applies the removal of a transaction from the mempool for any reason but a block. */
  mempoolRemoved(txid: Uint8Array): void {
    const { txs } = this.#store;
    const known = txs.byTxid(txid);
    if (known?.state === TxStateCode.MEMPOOL) {
      txs.setState(known.id, TxStateCode.INACTIVE, null);
      this.refreshInputs(parseTransaction(txs.raw(known.id)).tx);
    }
    this.#dropConflict(txid);
  }

  /**
   * Marks all mempool transactions as inactive, one in each step and write; the next start completes an interrupted
   * run.
   */
  *forgetMempool(): Steps<void> {
    const { txs } = this.#store;
    for (let id = txs.touchedByMempool(); id !== null; id = txs.touchedByMempool()) {
      const tx = id;
      this.#store.writeRelaxed(() => {
        txs.forgetMempool(tx);
        this.refreshInputs(parseTransaction(txs.raw(tx)).tx);
      });
      yield;
    }
  }

  /**
   * Abandons a transaction and its descendants in steps, each whole. A transaction comes after its descendants, so that
   * an interruption leaves none inactive whose parent is abandoned. Returns the txids of the abandoned ones, parents
   * first; null where the transaction is confirmed, conflicted or in the mempool.
   */
  *abandonSteps(txid: Uint8Array): Steps<readonly Uint8Array[] | null> {
    const { txs } = this.#store;
    const known = txs.byTxid(txid);
    if (!known || known.state === TxStateCode.CONFIRMED || known.state === TxStateCode.CONFLICTED) return null;
    if (known.state === TxStateCode.MEMPOOL) return null;
    const abandoned: Uint8Array[] = [];
    for (const id of yield* inactiveDescendants(txs, known.id)) {
      // A block or the mempool may have the transaction by now.
      const record = txs.findById(id);
      if (record?.state !== TxStateCode.INACTIVE) continue;
      txs.setState(id, TxStateCode.ABANDONED, null);
      this.refreshInputs(parseTransaction(txs.raw(id)).tx);
      abandoned.push(record.txid);
      yield;
    }
    return abandoned.reverse();
  }

  /** Adds the outputs of a wallet transaction that pay the wallet, also those of scripts imported since. */
  addCoins(id: number, parsed: ParsedTransaction): void {
    runSteps(this.addCoinsSteps(id, parsed));
  }

  /** Adds the outputs in steps, each of them whole and once. */
  *addCoinsSteps(id: number, { tx, txid }: ParsedTransaction): Steps<void> {
    const coinbase = isCoinbase(tx);
    const { txs } = this.#store;
    const ours = yield* this.#ownScripts(tx);
    if (ours.size === 0) return;
    let height = this.#confirmedAt(id);
    for (const [vout, { value, scriptPubKey }] of tx.outputs.entries()) {
      if (vout % OUTPUTS_A_STEP === OUTPUTS_A_STEP - 1) {
        yield;
        // Its block may have been disconnected between two steps.
        height = this.#confirmedAt(id);
      }
      if (!ours.has(scriptPubKey.toHex())) continue;
      if (!txs.addCoin(id, vout, { value: Number(value), script: scriptPubKey, height, coinbase })) continue;
      const outpoint = { txid, vout };
      const spenders = txs.spenders(outpoint);
      for (const spender of spenders) txs.addDebit(spender, Number(value));
      if (spenders.length > 0) txs.refreshSpent({ tx: id, vout }, outpoint);
    }
  }

  #confirmedAt(id: number): number | null {
    const { state, height } = this.#store.txs.byId(id);
    return state === TxStateCode.CONFIRMED ? height : null;
  }

  /** Returns the wallet's scripts that a transaction pays, each once, by hex. */
  *#ownScripts({ outputs }: Transaction): Steps<Map<string, Uint8Array>> {
    const scripts = new Map<string, Uint8Array>();
    for (const { scriptPubKey } of outputs) scripts.set(scriptPubKey.toHex(), scriptPubKey);
    let checked = 0;
    for (const [hex, script] of scripts) {
      if (!this.#owner.owns(script)) scripts.delete(hex);
      if (++checked % OUTPUTS_A_STEP === 0) yield;
    }
    return scripts;
  }

  /** Updates the spent state of the coins that a transaction spends. */
  refreshInputs(tx: Transaction): void {
    this.#store.txs.refreshInputs(tx.inputs.map(({ prevout }) => prevout));
  }

  #insert(parsed: ParsedTransaction, state: TxLocation, coinbase: boolean, old: boolean): number {
    const { txs } = this.#store;
    const { tx, txid, wtxid, raw } = parsed;
    const receivedAt = unixSeconds(this.#clock);
    const block = state.in === 'block' ? state.block : null;
    const time = this.#timeOf(block, receivedAt, old);
    const fresh = { txid, wtxid, raw, state: stateCodeOf(state), block, receivedAt, time, coinbase };
    const id = txs.insertTransaction(fresh);
    let debit = 0;
    if (!coinbase) {
      const spent = tx.inputs.map(({ prevout }) => prevout);
      txs.addSpends(spent, id);
      this.#store.unlockEach(spent);
      for (const { value, script } of txs.coinsAmong(spent)) {
        debit += value;
        this.#onSpend(script);
      }
      for (const first of txs.firstSpenders(spent)) if (first !== id) this.#copyDetails(first, tx, id);
    }
    if (debit > 0) txs.addDebit(id, debit);
    const birth = this.#store.meta('birthTime');
    if (birth !== null && time < birth) this.#store.setMeta('birthTime', time);
    return id;
  }

  #move(known: WalletTxRecord, parsed: ParsedTransaction, state: TxLocation): void {
    const { txs } = this.#store;
    if (!equalBytes(known.wtxid, parsed.wtxid)) this.#variant(known, parsed, state);
    const code = stateCodeOf(state);
    if (state.in === 'block') txs.setState(known.id, code, state.block);
    else if (known.state !== code) txs.setState(known.id, code, null);
  }

  /** A confirmed witness wins; otherwise any witness over none, and the lighter one. */
  #variant(known: WalletTxRecord, parsed: ParsedTransaction, state: TxLocation): void {
    const { txs } = this.#store;
    const other = parseTransaction(txs.raw(known.id));
    const better = state.in === 'block' || (known.state !== TxStateCode.CONFIRMED && isPreferred(parsed, other));
    txs.addVariant(known.id, known.wtxid, other.raw);
    txs.addVariant(known.id, parsed.wtxid, parsed.raw);
    if (better) txs.setRaw(known.id, parsed.wtxid, parsed.raw);
  }

  /** Chooses among the witnesses of a transaction that is no longer confirmed. */
  #preferLightest(id: number): void {
    const { txs } = this.#store;
    const variants = txs.variantRaws(id);
    if (variants.length === 0) return;
    const best = variants.map(parseTransaction).reduce((a, b) => (isPreferred(b, a) ? b : a));
    txs.setRaw(id, best.wtxid, best.raw);
  }

  /** Marks a transaction as conflicting with a block, and its descendants. */
  #contradict(id: number, block: TxBlock): void {
    const { txs } = this.#store;
    this.#cascade(id, ({ id: each, state, height }) => {
      if (state === TxStateCode.CONFLICTED && height! <= block.height) return false;
      txs.setState(each, TxStateCode.CONFLICTED, block);
      return true;
    });
  }

  #dropConflict(txid: Uint8Array): void {
    const { txs } = this.#store;
    for (const id of txs.dropMempoolConflict(txid)) this.refreshInputs(parseTransaction(txs.raw(id)).tx);
  }

  /** Changes a transaction and, where that had an effect, its descendants. */
  #cascade(first: number, change: (tx: WalletTxRecord) => boolean): void {
    const { txs } = this.#store;
    const todo = [first];
    const done = new Set<number>();
    for (let id = todo.pop(); id !== undefined; id = todo.pop()) {
      if (done.has(id)) continue;
      done.add(id);
      const record = txs.byId(id);
      if (!change(record)) continue;
      const { tx } = parseTransaction(txs.raw(id));
      this.refreshInputs(tx);
      for (let vout = 0; vout < tx.outputs.length; vout++)
        todo.push(...txs.spenders({ txid: record.txid as Txid, vout }));
    }
  }

  /** A payment with the same inputs and outputs keeps the comments of the first one. */
  #copyDetails(first: number, tx: Transaction, id: number): void {
    const { txs } = this.#store;
    if (isEquivalentTo(parseTransaction(txs.raw(first)).tx, tx)) txs.copyDetails(first, id);
  }

  /** Core's ComputeTimeSmart: the time of the block, within the order in which the wallet saw its transactions. */
  #timeOf(block: TxBlock | null, receivedAt: number, old: boolean): number {
    if (!block) return receivedAt;
    if (old) return block.time;
    const latest = this.#store.txs.latestTime(receivedAt + TIME_TOLERANCE_S) ?? 0;
    return Math.max(latest, Math.min(block.time, Math.max(receivedAt, latest)));
  }
}

/** Whether one of two transactions that differ in their witnesses is preferred while neither is confirmed, as in Core. */
function isPreferred(one: ParsedTransaction, other: ParsedTransaction): boolean {
  const difference = Number(one.tx.inputs.some(hasWitness)) - Number(other.tx.inputs.some(hasWitness));
  return (difference || weightOf(other) - weightOf(one)) > 0;
}
