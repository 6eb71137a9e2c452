import type { Chain } from '../chain/chain.ts';
import { nextWorkRequired } from '../consensus/difficulty.ts';
import { medianTimePast } from '../consensus/header-entry.ts';
import type { BlockRejection } from '../consensus/rejection.ts';
import { computeBlockVersion, VersionBitsCache } from '../consensus/version-bits.ts';
import type { Mempool } from '../mempool/pool.ts';
import { type Block, encodeBlock, parseBlock } from '../primitives/block.ts';
import type { BlockHash } from '../primitives/hash.ts';
import { headerHash } from '../primitives/header.ts';
import type { Transaction } from '../primitives/transaction.ts';
import { ByteWriter } from '../util/bytes.ts';
import { type Clock, unixSeconds } from '../util/clock.ts';
import { assembleBlock } from './block-template.ts';
import { grindBlock, NonceSpaceExhausted } from './grind.ts';
import { minimumTime } from './minimum-time.ts';
import type { MiningDeps } from './mining-deps.ts';
import { DEFAULT_MINING_OPTIONS, type MiningOptions } from './mining-options.ts';
import { emptySelection, type SlotSelection, selectTransactions } from './select-transactions.ts';

export interface MinedBlock {
  readonly hash: BlockHash;
  readonly raw: Uint8Array;
  /** Number of hashes tried. */
  readonly tries: number;
}

/** Figures of an assembled block: its weight, and the number of its transactions without the coinbase. */
export interface Assembled {
  readonly weight: number;
  readonly txs: number;
}

/** Mines blocks on the tip at the difficulty of regtest. */
export class Miner {
  readonly #chain: Chain;
  readonly #mempool: Mempool;
  readonly #clock: Clock;
  readonly #versions = new VersionBitsCache();
  readonly #limits: MiningOptions;
  readonly #blockVersion: number | null;
  #last: Assembled | null = null;

  constructor(deps: MiningDeps) {
    this.#chain = deps.chain;
    this.#mempool = deps.mempool;
    this.#clock = deps.clock;
    this.#limits = deps.limits ?? DEFAULT_MINING_OPTIONS;
    this.#blockVersion = deps.blockVersion ?? null;
  }

  /** The last assembled block or template. */
  get last(): Assembled | null {
    return this.#last;
  }

  /** Records a selection as the last assembled block. */
  assembled({ slots, weight }: SlotSelection): void {
    this.#last = { weight, txs: slots.length };
  }

  /** Mines a block with the best transactions of the mempool; null if `maxTries` hashes do not suffice. */
  mine(coinbaseScript: Uint8Array, maxTries: number): Promise<MinedBlock | null> {
    return this.#chain.whenSettled(() => {
      const selection = selectTransactions(this.#mempool, this.#chain, { limits: this.#limits });
      this.assembled(selection);
      const transactions = selection.txs.map(({ tx }) => tx);
      return grind(this.#assemble(coinbaseScript, transactions, BigInt(selection.fees)), maxTries);
    });
  }

  /** Assembles a block with exactly these transactions, without its proof of work; its coinbase claims no fees. */
  assembleThese(coinbaseScript: Uint8Array, transactions: readonly Transaction[]): Promise<Block> {
    return this.#chain.whenSettled(() => {
      this.assembled(emptySelection(this.#limits));
      return this.#assemble(coinbaseScript, transactions, 0n);
    });
  }

  /**
   * Validates an assembled block except for its proof of work, without storing it; resolves to its rejection or null.
   */
  test(block: Block): Promise<BlockRejection | null> {
    return this.#chain.testBlock(parseBlock(blockBytes(block)), { proofOfWork: false, merkleRoot: false });
  }

  /** Submits a mined block; resolves to its rejection, or to null once it is accepted. */
  async submit({ raw }: MinedBlock): Promise<BlockRejection | null> {
    const outcome = await this.#chain.submitBlock(raw);
    return outcome.status === 'rejected' ? outcome.rejection : null;
  }

  #assemble(coinbaseScript: Uint8Array, transactions: readonly Transaction[], fees: bigint): Block {
    const { tip, params } = this.#chain;
    const time = Math.max(minimumTime(tip, params.consensus), unixSeconds(this.#clock));
    return assembleBlock({
      parent: { hash: tip.hash, height: tip.height, medianTimePast: medianTimePast(tip) },
      bits: nextWorkRequired(tip, time, params.consensus),
      version: this.#blockVersion ?? computeBlockVersion(tip, params.consensus, this.#versions),
      time,
      transactions,
      fees,
      coinbaseScript,
      params: params.consensus,
    });
  }
}

/** Mines a block; null if `maxTries` hashes do not suffice. */
export function grind(block: Block, maxTries: number): MinedBlock | null {
  try {
    const mined = grindBlock(block, maxTries);
    return { hash: headerHash(mined.header), raw: blockBytes(mined), tries: mined.header.nonce + 1 };
  } catch (error) {
    if (error instanceof NonceSpaceExhausted) return null;
    throw error;
  }
}

function blockBytes(block: Block): Uint8Array {
  const w = new ByteWriter(1 << 16);
  encodeBlock(w, block);
  return w.finish();
}
