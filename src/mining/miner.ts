import type { Chain } from '../chain/chain.ts';
import type { ChainEntry } from '../chain/chain-entry.ts';
import { nextWorkRequired } from '../consensus/difficulty.ts';
import { medianTimePast } from '../consensus/header-entry.ts';
import type { BlockRejection } from '../consensus/rejection.ts';
import { computeBlockVersion, VersionBitsCache } from '../consensus/version-bits.ts';
import type { Mempool } from '../mempool/pool.ts';
import { encodeBlock } from '../primitives/block.ts';
import type { BlockHash } from '../primitives/hash.ts';
import { headerHash } from '../primitives/header.ts';
import type { Transaction } from '../primitives/transaction.ts';
import { ByteWriter } from '../util/bytes.ts';
import { type Clock, unixSeconds } from '../util/clock.ts';
import { assembleBlock, earliestBlockTime } from './block-template.ts';
import { grindBlock, NonceSpaceExhausted } from './grind.ts';
import { selectTransactions } from './select-transactions.ts';

export interface MinedBlock {
  readonly hash: BlockHash;
  readonly raw: Uint8Array;
  /** Hashes tried. */
  readonly tries: number;
}

/** Makes blocks on the tip where the difficulty is that of regtest. */
export class Miner {
  readonly #chain: Chain;
  readonly #mempool: Mempool;
  readonly #clock: Clock;
  readonly #versions = new VersionBitsCache();

  constructor(deps: { readonly chain: Chain; readonly mempool: Mempool; readonly clock: Clock }) {
    this.#chain = deps.chain;
    this.#mempool = deps.mempool;
    this.#clock = deps.clock;
  }

  /** A block of the mempool's best; null where `maxTries` hashes do not suffice. */
  mine(coinbaseScript: Uint8Array, maxTries: number): Promise<MinedBlock | null> {
    return this.#chain.whenSettled(() => {
      const { txs, fees } = selectTransactions(this.#mempool, this.#chain);
      const transactions = txs.map(({ tx }) => tx);
      return this.#assemble(coinbaseScript, transactions, BigInt(fees), maxTries);
    });
  }

  /** A block of these transactions and no others; its coinbase takes no fees. */
  mineThese(coinbaseScript: Uint8Array, transactions: readonly Transaction[]): Promise<MinedBlock> {
    return this.#chain.whenSettled(() => this.#assemble(coinbaseScript, transactions, 0n, Number.MAX_SAFE_INTEGER)!);
  }

  /** What is wrong with a block that was made here, or null once the chain has taken it. */
  async submit({ raw }: MinedBlock): Promise<BlockRejection | null> {
    const outcome = await this.#chain.submit(raw);
    return outcome.status === 'rejected' ? outcome.rejection : null;
  }

  #assemble(
    coinbaseScript: Uint8Array,
    transactions: readonly Transaction[],
    fees: bigint,
    maxTries: number,
  ): MinedBlock | null {
    const { tip, params } = this.#chain;
    const parent = parentOf(tip);
    const time = Math.max(earliestBlockTime(parent), unixSeconds(this.#clock));
    const bits = nextWorkRequired(tip, time, params.consensus);
    const version = computeBlockVersion(tip, params.consensus, this.#versions);
    const block = assembleBlock({
      parent,
      bits,
      version,
      time,
      transactions,
      fees,
      coinbaseScript,
      params: params.consensus,
    });
    try {
      const mined = grindBlock(block, maxTries);
      const w = new ByteWriter(1 << 16);
      encodeBlock(w, mined);
      return { hash: headerHash(mined.header), raw: w.finish(), tries: mined.header.nonce + 1 };
    } catch (error) {
      if (error instanceof NonceSpaceExhausted) return null;
      throw error;
    }
  }
}

function parentOf(tip: ChainEntry) {
  return { hash: tip.hash, height: tip.height, medianTimePast: medianTimePast(tip) };
}
