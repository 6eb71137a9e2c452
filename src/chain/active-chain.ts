import type { ConsensusParams } from '../consensus/consensus-params.ts';
import { blockScriptFlags } from '../consensus/deployments.ts';
import type { BlockRejection } from '../consensus/rejection.ts';
import { AddressRows } from '../indexes/address-rows.ts';
import type { ParsedBlock } from '../primitives/block.ts';
import { scriptErrorMessage } from '../script/script-error.ts';
import type { BodyStats } from '../storage/header-store.ts';
import { assert } from '../util/assert.ts';
import type { Result } from '../util/result.ts';
import type { ChainEntry } from './chain-entry.ts';
import type { ChainStore } from './chain-store.ts';
import { type CoinChange, CoinsCache } from './coins-cache.ts';
import {
  type BlockEffects,
  bodyStats,
  connectBlock,
  disconnectBlock,
  type StagedBlock,
  scriptRejection,
  unindexBlock,
} from './connect-block.ts';
import type { ScriptFailure, ScriptVerifier } from './script-verifier.ts';

/** Script checks that may be under way: enough to keep every worker busy, few enough to bound their memory. */
const PENDING_INPUTS_LIMIT = 64_000;
const PENDING_BLOCKS_LIMIT = 128;

/** A block whose scripts turned out to be invalid after it was connected. */
export interface FailedBlock {
  readonly entry: ChainEntry;
  readonly rejection: BlockRejection;
}

/** What the next commit writes: everything between the committed tip and `tip`. */
export interface SealedChange {
  readonly tip: ChainEntry;
  /** Ascending. */
  readonly connected: readonly StagedBlock[];
  /** Blocks of the committed chain that are no longer in it, the highest first. */
  readonly disconnected: readonly ChainEntry[];
  readonly coins: readonly CoinChange[];
  readonly rows: AddressRows;
}

/**
 * The active chain from the committed tip on: blocks connected in memory whose scripts may still be judged, and
 * committed blocks that were disconnected. A commit is sealed first, then written when all its blocks are judged valid;
 * blocks go on being connected in between, so that the verify workers never wait for the disk.
 */
export class ActiveChain {
  readonly coins: CoinsCache;
  readonly #store: ChainStore;
  readonly #params: ConsensusParams;
  #rows = new AddressRows();
  #staged: StagedBlock[] = [];
  #disconnected: ChainEntry[] = [];
  #sealed: SealedChange | null = null;
  #tip: ChainEntry;
  #committedTip: ChainEntry;
  #circulating = 0;
  #utxos = 0;
  #txs = 0;
  #pendingInputs = 0;
  #pendingBlocks = 0;
  /** Why scripts can no longer be judged, or null. */
  #verifierError: Error | null = null;
  /** Told whenever a verdict arrives. */
  #onScriptResult: (() => void) | null = null;

  constructor(store: ChainStore, params: ConsensusParams, tip: ChainEntry, cacheBytes: number) {
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

  /** What readers see. */
  get committedTip(): ChainEntry {
    return this.#committedTip;
  }

  /** Whether a commit would change the chain; what is sealed already does not count. */
  get hasStaged(): boolean {
    return this.#staged.length + this.#disconnected.length > 0;
  }

  /** Rows of the address index that the next commit would write. */
  get rowCount(): number {
    return this.#rows.size;
  }

  get sealed(): SealedChange | null {
    return this.#sealed;
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
      filter: null,
      scriptFailure: null,
    });
  }

  /** Connects a child of the tip; a rejection leaves everything as it was. Its scripts are judged later. */
  connectBlock(
    entry: ChainEntry,
    block: ParsedBlock,
    verifier: ScriptVerifier | null,
  ): Result<BodyStats, BlockRejection> {
    const rowsMark = this.#rows.mark;
    const connected = this.#applyToTip(entry, block, verifier);
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
      filter: this.#store.filters?.filterForCommit(entry, block, effects.undo) ?? null,
      scriptFailure: effects.scripts === null ? null : undefined,
    };
    if (effects.scripts !== null) this.#trackScripts(staged, effects.scripts);
    this.#staged.push(staged);
    this.#tip = entry;
    return { ok: true, value: staged.stats };
  }

  /**
   * Whether a block could be connected to the tip, which it is not: everything is as before. Yields what the script checks
   * will say.
   */
  testConnect(
    entry: ChainEntry,
    block: ParsedBlock,
    verifier: ScriptVerifier,
  ): Result<Promise<ScriptFailure | null>, BlockRejection> {
    const rowsMark = this.#rows.mark;
    const connected = this.#applyToTip(entry, block, verifier);
    if (!connected.ok) return connected;
    disconnectBlock(block, connected.value.undo, this.coins);
    this.#rows.cutTo(rowsMark);
    return { ok: true, value: connected.value.scripts! };
  }

  /** Takes the tip off. What is sealed must have been written: it is behind the tip then. */
  disconnectTip(): void {
    const entry = this.#tip;
    assert(entry.parent !== null, 'the genesis block stays');
    const staged = this.#staged.at(-1);
    assert(staged !== undefined || this.#sealed === null, 'a sealed block is not disconnected before it is written');
    // Reading may fail; nothing is changed before it has not.
    const block = this.#store.readBlock(entry);
    if (staged !== undefined) {
      this.#staged.pop();
      disconnectBlock(block, staged.effects.undo, this.coins);
      this.#rows.cutTo(staged.rowsMark);
      this.#circulating -= staged.effects.valueChange;
      this.#utxos -= staged.effects.utxoChange;
    } else {
      const undo = this.#store.readUndo(entry);
      disconnectBlock(block, undo, this.coins);
      const { valueChange, utxoChange } = unindexBlock(block, undo, entry.height, this.#rows);
      this.#circulating -= valueChange;
      this.#utxos -= utxoChange;
      this.#disconnected.push(entry);
    }
    this.#txs -= block.txs.length;
    this.#tip = entry.parent;
  }

  /** The lowest connected block whose scripts are known to be invalid. */
  failedBlock(): FailedBlock | null {
    for (const list of [this.#sealed?.connected ?? [], this.#staged])
      for (const { entry, scriptFailure } of list)
        if (scriptFailure) {
          const text = scriptErrorMessage(scriptFailure.error);
          return { entry, rejection: scriptRejection(this.#store.readBlock(entry), scriptFailure, text) };
        }
    return null;
  }

  /** Resolves when few enough script checks are under way to connect another block. Rejects when they have broken down. */
  async belowPendingLimit(): Promise<void> {
    while (this.#pendingInputs > PENDING_INPUTS_LIMIT || this.#pendingBlocks > PENDING_BLOCKS_LIMIT)
      await this.#nextScriptResult();
  }

  /** Resolves when every connected block is judged. */
  async allVerified(): Promise<void> {
    while (!this.isVerified) await this.#nextScriptResult();
  }

  get isVerified(): boolean {
    return this.isSealedVerified && areVerified(this.#staged);
  }

  /** Whether all that is sealed is judged. */
  get isSealedVerified(): boolean {
    return this.#sealed === null || areVerified(this.#sealed.connected);
  }

  /** Takes everything up to the tip for one commit. */
  sealStaged(): SealedChange {
    assert(this.#sealed === null, 'one commit is written before the next is sealed');
    this.#sealed = {
      tip: this.#tip,
      connected: this.#staged,
      disconnected: this.#disconnected,
      coins: this.coins.sealChanges(),
      rows: this.#rows,
    };
    this.#staged = [];
    this.#disconnected = [];
    this.#rows = new AddressRows();
    return this.#sealed;
  }

  /** Call when what was sealed has been written. */
  markCommitted(): void {
    assert(this.#sealed !== null, 'something was sealed');
    this.#committedTip = this.#sealed.tip;
    this.#sealed = null;
    this.coins.releaseSealed();
  }

  /** Goes back to the committed tip, forgetting all that came after it. */
  resetToCommitted(): void {
    this.#sealed = null;
    this.#staged = [];
    this.#disconnected = [];
    this.#rows = new AddressRows();
    this.#tip = this.#committedTip;
    this.coins.reset();
    this.#loadTotals();
  }

  #applyToTip(
    entry: ChainEntry,
    block: ParsedBlock,
    verifier: ScriptVerifier | null,
  ): Result<BlockEffects, BlockRejection> {
    assert(entry.parent === this.#tip, 'a block connects to the tip');
    return connectBlock(block, entry, {
      coins: this.coins,
      rows: this.#rows,
      params: this.#params,
      flags: blockScriptFlags(entry.hash, entry.height, this.#params),
      verifier,
    });
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
    const settled = () => {
      this.#pendingInputs -= inputs;
      this.#pendingBlocks--;
      this.#onScriptResult?.();
    };
    scripts.then(
      (failure) => {
        staged.scriptFailure = failure ?? null;
        settled();
      },
      (error: Error) => {
        this.#verifierError ??= error;
        settled();
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
  // They are judged roughly in order, so the last ones are the ones to look at first.
  for (let i = blocks.length - 1; i >= 0; i--) if (blocks[i]!.scriptFailure === undefined) return false;
  return true;
}

/** What a commit changes for those who watch: a block that was taken off and put back did not move. */
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
