import type { ConsensusParams } from '../consensus/consensus-params.ts';
import { blockScriptFlags } from '../consensus/deployments.ts';
import type { BlockRejection } from '../consensus/rejection.ts';
import { AddressRows } from '../indexes/address-rows.ts';
import type { ParsedBlock } from '../primitives/block.ts';
import { scriptErrorMessage } from '../script/script-error.ts';
import { assert } from '../util/assert.ts';
import { bodyStats } from './body-stats.ts';
import type { ChainEntry } from './chain-entry.ts';
import type { ChainStore } from './chain-store.ts';
import { CoinsCache } from './coins-cache.ts';
import { connectBlock, disconnectBlock, scriptRejection, unindexBlock } from './connect-block.ts';
import type { ScriptVerifier } from './script-verifier.ts';
import type { StagedBlock } from './staged-block.ts';

/** Script checks that may be under way: enough to keep every worker busy, few enough to bound their memory. */
const PENDING_INPUTS_LIMIT = 24_000;
const PENDING_BLOCKS_LIMIT = 128;

/** A block whose scripts turned out to be invalid after it was connected. */
export interface FailedBlock {
  readonly entry: ChainEntry;
  readonly rejection: BlockRejection;
}

/**
 * The active chain from the committed tip on: blocks connected in memory whose scripts may still be judged, and
 * committed blocks that were disconnected. A commit writes the difference, and only what is judged valid.
 */
export class ActiveChain {
  readonly coins: CoinsCache;
  readonly rows = new AddressRows();
  readonly #store: ChainStore;
  readonly #params: ConsensusParams;
  readonly #staged: StagedBlock[] = [];
  readonly #disconnected: ChainEntry[] = [];
  #tip: ChainEntry;
  #committedTip: ChainEntry;
  #circulating: number;
  #utxos: number;
  #txs: number;
  #pendingInputs = 0;
  #pendingBlocks = 0;
  /** Told whenever a verdict arrives. */
  #onVerdict: (() => void) | null = null;

  constructor(store: ChainStore, params: ConsensusParams, tip: ChainEntry, cacheBytes: number) {
    this.#store = store;
    this.#params = params;
    this.#tip = tip;
    this.#committedTip = tip;
    const totals = store.headers.totals(tip.height);
    this.#circulating = totals?.circulating ?? 0;
    this.#utxos = totals?.utxos ?? 0;
    this.#txs = totals?.txs ?? 0;
    this.coins = new CoinsCache(store.coins, { limitBytes: cacheBytes, databaseEmpty: this.#utxos === 0 });
  }

  get tip(): ChainEntry {
    return this.#tip;
  }

  /** What readers see. */
  get committedTip(): ChainEntry {
    return this.#committedTip;
  }

  get staged(): readonly StagedBlock[] {
    return this.#staged;
  }

  get disconnected(): readonly ChainEntry[] {
    return this.#disconnected;
  }

  /** Begins the chain. The genesis coinbase cannot be spent: Core never put it into the set. */
  stageGenesis(block: ParsedBlock): void {
    this.#txs = block.txs.length;
    this.#staged.push({
      entry: this.#tip,
      effects: {
        undo: new Uint8Array(0),
        offsets: Uint32Array.from(block.txs, ({ offset }) => offset),
        undoOffsets: new Uint32Array(block.txs.length),
        txids: block.txids,
        fees: 0,
        valueChange: 0,
        utxoChange: 0,
        scripts: null,
      },
      rowsMark: 0,
      stats: bodyStats(block),
      circulating: 0,
      utxos: 0,
      txs: this.#txs,
      block: null,
      failure: null,
    });
  }

  /** Connects a child of the tip; a rejection leaves everything as it was. Its scripts are judged later. */
  connect(entry: ChainEntry, block: ParsedBlock, verifier: ScriptVerifier | null): BlockRejection | null {
    assert(entry.parent === this.#tip, 'a block connects to the tip');
    const rowsMark = this.rows.mark;
    const flags = blockScriptFlags(entry.hash, entry.height, this.#params);
    const connected = connectBlock(block, entry, {
      coins: this.coins,
      rows: this.rows,
      params: this.#params,
      flags,
      verifier,
    });
    if (!connected.ok) return connected;
    const effects = connected.value;
    this.#circulating += effects.valueChange;
    this.#utxos += effects.utxoChange;
    this.#txs += block.txs.length;
    const staged: StagedBlock = {
      entry,
      effects,
      rowsMark,
      stats: bodyStats(block),
      circulating: this.#circulating,
      utxos: this.#utxos,
      txs: this.#txs,
      block,
      failure: effects.scripts === null ? null : undefined,
    };
    if (effects.scripts === null) staged.block = null;
    else this.#await(staged, effects.scripts);
    this.#staged.push(staged);
    this.#tip = entry;
    return null;
  }

  /** Takes the tip off. */
  disconnectTip(): void {
    const entry = this.#tip;
    assert(entry.parent !== null, 'the genesis block stays');
    const staged = this.#staged.pop();
    if (staged !== undefined) {
      const block = staged.block ?? this.#store.readBlock(entry);
      disconnectBlock(block, staged.effects.undo, this.coins);
      this.rows.cutTo(staged.rowsMark);
      this.#circulating -= staged.effects.valueChange;
      this.#utxos -= staged.effects.utxoChange;
      this.#txs -= block.txs.length;
    } else {
      const block = this.#store.readBlock(entry);
      const undo = this.#store.readUndo(entry);
      disconnectBlock(block, undo, this.coins);
      const { valueChange, utxoChange } = unindexBlock(block, undo, entry.height, this.rows);
      this.#circulating -= valueChange;
      this.#utxos -= utxoChange;
      this.#txs -= block.txs.length;
      this.#disconnected.push(entry);
    }
    this.#tip = entry.parent;
  }

  /** The lowest connected block whose scripts are known to be invalid. */
  failure(): FailedBlock | null {
    for (const { entry, failure, block } of this.#staged)
      if (failure) return { entry, rejection: scriptRejection(block!, failure, scriptErrorMessage(failure.error)) };
    return null;
  }

  /** Resolves when few enough script checks are under way to connect another block. */
  async room(): Promise<void> {
    while (this.#pendingInputs > PENDING_INPUTS_LIMIT || this.#pendingBlocks > PENDING_BLOCKS_LIMIT)
      await this.#nextVerdict();
  }

  /** Resolves when every connected block is judged. */
  async judged(): Promise<void> {
    while (this.#staged.some(({ failure }) => failure === undefined)) await this.#nextVerdict();
  }

  /** Call when everything staged has been written. */
  committed(): void {
    this.#staged.length = 0;
    this.#disconnected.length = 0;
    this.#committedTip = this.#tip;
  }

  #await(staged: StagedBlock, scripts: Promise<StagedBlock['failure']>): void {
    const { inputs } = staged.stats;
    this.#pendingInputs += inputs;
    this.#pendingBlocks++;
    scripts.then((failure) => {
      staged.failure = failure ?? null;
      if (!failure) staged.block = null;
      this.#pendingInputs -= inputs;
      this.#pendingBlocks--;
      this.#onVerdict?.();
    });
  }

  #nextVerdict(): Promise<void> {
    return new Promise((resolve) => {
      this.#onVerdict = () => {
        this.#onVerdict = null;
        resolve();
      };
    });
  }
}
