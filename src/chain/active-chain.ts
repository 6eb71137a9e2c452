import type { ConsensusParams } from '../consensus/consensus-params.ts';
import { blockScriptFlags } from '../consensus/deployments.ts';
import type { BlockRejection } from '../consensus/rejection.ts';
import { AddressRows } from '../indexes/address-rows.ts';
import { addAddressRows } from '../indexes/index-rows.ts';
import type { ParsedBlock } from '../primitives/block.ts';
import { scriptErrorMessage } from '../script/script-error.ts';
import type { BodyStats, ChainTotals } from '../storage/header-store.ts';
import { spenderKeys } from '../storage/spender-store.ts';
import { assert } from '../util/assert.ts';
import type { Result } from '../util/result.ts';
import type { ChainEntry } from './chain-entry.ts';
import type { ChainStore } from './chain-store.ts';
import { CoinsCache } from './coins-cache.ts';
import {
  type BlockEffects,
  bodyStats,
  connectBlock,
  disconnectBlock,
  type SealedChange,
  type StagedBlock,
  scriptRejection,
  utxoGrowth,
} from './connect-block.ts';
import type { ScriptFailure, ScriptVerifier } from './script-verifier.ts';

/** Bounds on the script checks that run at once: enough to keep every worker busy, few enough to limit their memory. */
const PENDING_INPUTS_LIMIT = 64_000;
const PENDING_BLOCKS_LIMIT = 128;

/** The storage of a chain of connected blocks. */
export type ActiveChainStore = Pick<ChainStore, 'coins' | 'readBlock' | 'readUndo' | 'filters'> & {
  readonly headers: Pick<ChainStore['headers'], 'totals'>;
  readonly indexes: Pick<ChainStore['indexes'], 'isLive'>;
};

/** A connected block whose script checks failed afterwards. */
export interface FailedBlock {
  readonly entry: ChainEntry;
  readonly rejection: BlockRejection;
}

/**
 * The active chain from the committed tip on: staged blocks, which are connected in memory and whose script checks may
 * still run, and committed blocks that were disconnected. `sealStaged` closes the staged changes, and they are
 * committed once all their blocks are verified. More blocks are connected in between, so that the verify workers never
 * wait for the disk.
 */
export class ActiveChain {
  readonly coins: CoinsCache;
  readonly #store: ActiveChainStore;
  readonly #params: ConsensusParams;
  /** Rows of the address index for the next commit; null while that index is off or behind the committed tip. */
  #rows: AddressRows | null = null;
  /** Rows of the last commit, to be used again. */
  #spareRows: AddressRows | null = null;
  #staged: StagedBlock[] = [];
  #disconnected: ChainEntry[] = [];
  #sealed: SealedChange | null = null;
  #tip: ChainEntry;
  #committedTip: ChainEntry;
  #circulating = 0;
  #utxos = 0;
  #txs = 0;
  /** Inputs and outputs of the staged blocks. */
  #coinCount = 0;
  #pendingInputs = 0;
  #pendingBlocks = 0;
  /** The error after which scripts can no longer be verified; null without one. */
  #verifierError: Error | null = null;
  /** Called when the script checks of a block end. */
  #onScriptResult: (() => void) | null = null;

  constructor(store: ActiveChainStore, params: ConsensusParams, tip: ChainEntry, cacheBytes: number) {
    this.#store = store;
    this.#params = params;
    this.#tip = tip;
    this.#committedTip = tip;
    this.#loadTotals();
    this.coins = new CoinsCache(store.coins, { limitBytes: cacheBytes, databaseEmpty: this.#utxos === 0 });
  }

  get tip(): ChainEntry {
    return this.#tip;
  }

  /** Totals up to the tip. */
  get totals(): ChainTotals {
    return { circulating: this.#circulating, utxos: this.#utxos, txs: this.#txs };
  }

  /** The tip of the database, which readers see. */
  get committedTip(): ChainEntry {
    return this.#committedTip;
  }

  /** Whether staged changes wait to be sealed. */
  get hasStaged(): boolean {
    return this.#staged.length + this.#disconnected.length > 0;
  }

  /** Number of staged rows of the address index; without them, of inputs and outputs. */
  get rowCount(): number {
    return this.#rows?.size ?? this.#coinCount;
  }

  get sealed(): SealedChange | null {
    return this.#sealed;
  }

  /**
   * Stages the genesis block as the first of the chain. Its coinbase cannot be spent: Core never adds it to the UTXO
   * set.
   */
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
      rowsMark: null,
      stats: bodyStats(block),
      circulating: 0,
      utxos: 0,
      txs: this.#txs,
      filter: null,
      spends: null,
      scriptFailure: null,
    });
  }

  /**
   * Connects a child of the tip. A rejection leaves the state unchanged. The script checks end later: `failedBlock`
   * reports a failure.
   */
  connectBlock(
    entry: ChainEntry,
    block: ParsedBlock,
    verifier: ScriptVerifier | null,
  ): Result<BodyStats, BlockRejection> {
    this.#beginRows();
    const rowsMark = this.#rows?.mark ?? null;
    const connected = this.#applyToTip(entry, block, this.#rows, verifier);
    if (!connected.ok) return connected;
    const effects = connected.value;
    this.#circulating += effects.valueChange;
    this.#utxos += effects.utxoChange;
    this.#txs += block.columns.txCount;
    const staged: StagedBlock = {
      entry,
      effects,
      rowsMark,
      stats: bodyStats(block),
      circulating: this.#circulating,
      utxos: this.#utxos,
      txs: this.#txs,
      filter: this.#store.filters?.filterForCommit(entry, block, effects.undo) ?? null,
      spends: this.#store.indexes.isLive('spender') ? spenderKeys(block, entry.height) : null,
      scriptFailure: effects.scripts === null ? null : undefined,
    };
    if (effects.scripts !== null) this.#trackScripts(staged, effects.scripts);
    this.#staged.push(staged);
    this.#coinCount += staged.stats.inputs + staged.stats.outputs;
    this.#tip = entry;
    return { ok: true, value: staged.stats };
  }

  /**
   * Checks whether a block could be connected to the tip, and restores the state. The value resolves to the result of
   * the script checks.
   */
  testConnect(
    entry: ChainEntry,
    block: ParsedBlock,
    verifier: ScriptVerifier,
  ): Result<Promise<ScriptFailure | null>, BlockRejection> {
    const connected = this.#applyToTip(entry, block, null, verifier);
    if (!connected.ok) return connected;
    disconnectBlock(block, connected.value.undo, this.coins);
    return { ok: true, value: connected.value.scripts! };
  }

  /** Disconnects the tip. A sealed block must be committed before it can be disconnected. */
  disconnectTip(): void {
    const entry = this.#tip;
    assert(entry.parent !== null, 'the genesis block stays');
    const staged = this.#staged.at(-1);
    assert(staged !== undefined || this.#sealed === null, 'a sealed block is not disconnected before it is committed');
    // Read first: a read error must leave the state unchanged.
    const block = this.#store.readBlock(entry);
    if (staged !== undefined) {
      this.#staged.pop();
      disconnectBlock(block, staged.effects.undo, this.coins);
      if (staged.rowsMark !== null) this.#rows!.cutTo(staged.rowsMark);
      this.#coinCount -= staged.stats.inputs + staged.stats.outputs;
      this.#circulating -= staged.effects.valueChange;
      this.#utxos -= staged.effects.utxoChange;
    } else {
      const undo = this.#store.readUndo(entry);
      disconnectBlock(block, undo, this.coins);
      this.#beginRows();
      if (this.#rows !== null) addAddressRows(this.#rows, block, undo, { height: entry.height, removed: true });
      const { valueChange, utxoChange } = utxoGrowth(block, undo);
      this.#circulating -= valueChange;
      this.#utxos -= utxoChange;
      this.#disconnected.push(entry);
    }
    this.#txs -= block.columns.txCount;
    this.#tip = entry.parent;
  }

  /** Returns the lowest connected block whose script checks failed; null without one. */
  failedBlock(): FailedBlock | null {
    for (const list of [this.#sealed?.connected ?? [], this.#staged])
      for (const { entry, scriptFailure } of list)
        if (scriptFailure) {
          const text = scriptErrorMessage(scriptFailure.error);
          return { entry, rejection: scriptRejection(this.#store.readBlock(entry), scriptFailure, text) };
        }
    return null;
  }

  /**
   * Resolves when the number of running script checks allows another block. Rejects when scripts can no longer be
   * verified.
   */
  async belowPendingLimit(): Promise<void> {
    while (this.#pendingInputs > PENDING_INPUTS_LIMIT || this.#pendingBlocks > PENDING_BLOCKS_LIMIT)
      await this.#nextScriptResult();
  }

  /** Resolves when the script checks of all connected blocks have ended. Rejects as `belowPendingLimit` does. */
  async allVerified(): Promise<void> {
    while (!this.isVerified) await this.#nextScriptResult();
  }

  get isVerified(): boolean {
    return this.isSealedVerified && areVerified(this.#staged);
  }

  /** Whether the script checks of all sealed blocks have ended. */
  get isSealedVerified(): boolean {
    return this.#sealed === null || areVerified(this.#sealed.connected);
  }

  /** Seals everything up to the tip for one commit. */
  sealStaged(): SealedChange {
    assert(this.#sealed === null, 'one commit ends before the next is sealed');
    this.#sealed = {
      tip: this.#tip,
      connected: this.#staged,
      disconnected: this.#disconnected,
      coins: this.coins.sealChanges(),
      rows: this.#rows,
    };
    this.#staged = [];
    this.#disconnected = [];
    this.#rows = null;
    this.#coinCount = 0;
    return this.#sealed;
  }

  /** Moves the committed tip after the sealed changes were committed. */
  markCommitted(): void {
    assert(this.#sealed !== null, 'something was sealed');
    this.#committedTip = this.#sealed.tip;
    if (this.#sealed.rows !== null) {
      this.#spareRows = this.#sealed.rows;
      this.#spareRows.clear();
    }
    this.#sealed = null;
    this.coins.releaseSealed();
  }

  /** Moves to another tip that was committed, with other coins. Nothing may be staged. */
  moveTo(tip: ChainEntry): void {
    assert(!this.hasStaged && this.#sealed === null, 'nothing is staged');
    this.#committedTip = tip;
    this.resetToCommitted();
  }

  /** Returns to the committed tip and drops all later changes. */
  resetToCommitted(): void {
    this.#sealed = null;
    this.#staged = [];
    this.#disconnected = [];
    this.#rows = null;
    this.#coinCount = 0;
    this.#tip = this.#committedTip;
    this.coins.reset();
    this.#loadTotals();
  }

  #applyToTip(
    entry: ChainEntry,
    block: ParsedBlock,
    rows: AddressRows | null,
    verifier: ScriptVerifier | null,
  ): Result<BlockEffects, BlockRejection> {
    assert(entry.parent === this.#tip, 'a block connects to the tip');
    const { prevoutAt, firstInput } = block.columns;
    this.coins.loadCoins(block.raw, prevoutAt.subarray(firstInput[1]));
    return connectBlock(block, entry, {
      coins: this.coins,
      rows,
      params: this.#params,
      flags: blockScriptFlags(entry.hash, entry.height, this.#params),
      verifier,
    });
  }

  /** Decides for the next commit whether the rows of the address index are collected: for all of its blocks or for none. */
  #beginRows(): void {
    if (this.hasStaged || this.#rows !== null || !this.#store.indexes.isLive('address')) return;
    this.#rows = this.#spareRows ?? new AddressRows();
    this.#spareRows = null;
  }

  #loadTotals(): void {
    const totals = this.#store.headers.totals(this.#tip.height);
    this.#circulating = totals?.circulating ?? 0;
    this.#utxos = totals?.utxos ?? 0;
    this.#txs = totals?.txs ?? 0;
  }

  #trackScripts(staged: StagedBlock, scripts: Promise<StagedBlock['scriptFailure']>): void {
    const { inputs } = staged.stats;
    this.#pendingInputs += inputs;
    this.#pendingBlocks++;
    const ended = () => {
      this.#pendingInputs -= inputs;
      this.#pendingBlocks--;
      this.#onScriptResult?.();
    };
    scripts.then(
      (failure) => {
        staged.scriptFailure = failure ?? null;
        ended();
      },
      (error: Error) => {
        this.#verifierError ??= error;
        ended();
      },
    );
  }

  #nextScriptResult(): Promise<void> {
    if (this.#verifierError) return Promise.reject(this.#verifierError);
    return new Promise((resolve, reject) => {
      this.#onScriptResult = () => {
        this.#onScriptResult = null;
        if (this.#verifierError) reject(this.#verifierError);
        else resolve();
      };
    });
  }
}

function areVerified(blocks: readonly StagedBlock[]): boolean {
  // Checks end roughly in block order, so a pending one is found soonest from the end.
  for (let i = blocks.length - 1; i >= 0; i--) if (blocks[i]!.scriptFailure === undefined) return false;
  return true;
}

/**
 * Returns the blocks whose position changes with a commit: a block that was disconnected and connected again did not
 * move.
 */
export function netChange({ connected, disconnected }: SealedChange) {
  let common = 0;
  while (
    common < connected.length &&
    common < disconnected.length &&
    connected[common]!.entry === disconnected[disconnected.length - 1 - common]
  )
    common++;
  return { connected: connected.slice(common), disconnected: disconnected.slice(0, disconnected.length - common) };
}
