import { writeFileSync } from 'node:fs';
import { type HeaderEntry, medianTimePast } from '../../src/consensus/header-entry.ts';
import { witnessCommitmentIndex } from '../../src/consensus/witness-commitment.ts';
import { expandBits, hashMeetsTarget, workOf } from '../../src/consensus/work.ts';
import { assembleBlock, commitmentScript, transactionsRoot } from '../../src/mining/block-template.ts';
import { grindHeader } from '../../src/mining/grind.ts';
import { genesisBlock } from '../../src/params/genesis.ts';
import type { NetworkParams } from '../../src/params/network-params.ts';
import { regtest } from '../../src/params/regtest.ts';
import type { Amount } from '../../src/primitives/amount.ts';
import { type Block, encodeBlock, type ParsedBlock, parseBlock } from '../../src/primitives/block.ts';
import { txPosition } from '../../src/primitives/coin.ts';
import type { BlockHash, MerkleRoot } from '../../src/primitives/hash.ts';
import { type BlockHeader, headerHash } from '../../src/primitives/header.ts';
import { outpointKey } from '../../src/primitives/outpoint.ts';
import { isCoinbase, sumOutputs, type Transaction, type TxOutput, txidOf } from '../../src/primitives/transaction.ts';
import { ByteWriter, equalBytes } from '../../src/util/bytes.ts';
import { type Destination, type LockKind, lockOf, scriptOfDestination, type TestCoin } from './tx-builder.ts';

/** Version bits with none set, as Core mines where nothing is signalled. */
export const BLOCK_VERSION = 0x2000_0000;
const REGTEST_BITS = 0x207f_ffff;
/** November 2023: time of block 1 of a chain without a start time of its own. */
const DEFAULT_START_TIME = 1_700_000_000;

export interface ChainOptions {
  readonly params?: NetworkParams;
  /** Time of the first block, in seconds. */
  readonly startTime?: number;
  /** Seconds from block to block. */
  readonly spacing?: number;
  /** Destination of coinbases unless the block names its own. */
  readonly to?: Destination;
}

/**
 * The differences of a block from a valid one. Commitments to the changed part are renewed, so that only its own rule
 * breaks.
 */
export interface BlockOptions {
  readonly txs?: readonly Transaction[];
  /** Where the coinbase pays. */
  readonly to?: Destination;
  readonly time?: number;
  readonly version?: number;
  readonly bits?: number;
  /** Instead of subsidy and fees. */
  readonly coinbaseValue?: Amount;
  readonly coinbaseScriptSig?: Uint8Array;
  /** Any other change of the coinbase; the witness commitment is renewed afterwards, unless `commitment` forbids it. */
  readonly coinbase?: (coinbase: Transaction) => Transaction;
  /** Changes the list, coinbase included: leave it out, list it twice, repeat the end. */
  readonly list?: (txs: readonly Transaction[]) => readonly Transaction[];
  /** `none` leaves the witness commitment out, `wrong` spoils it. */
  readonly commitment?: 'none' | 'wrong';
  /** Witness of the coinbase: one item of 32 bytes in a good block. */
  readonly coinbaseWitness?: readonly Uint8Array[];
  readonly merkleRoot?: MerkleRoot;
  readonly previousHash?: BlockHash;
  /** False: the first nonce that does not meet the target. */
  readonly work?: boolean;
}

/** The coins that each transaction of a block spends and creates, by their outpoints. */
type BlockChanges = readonly {
  readonly spent: readonly string[];
  readonly created: readonly (readonly [key: string, coin: TestCoin])[];
}[];

function changesOf({ txs, height }: TestBlock): BlockChanges {
  return txs.map((tx, index) => {
    const txid = txidOf(tx);
    const spent = isCoinbase(tx) ? [] : tx.inputs.map(({ prevout }) => outpointKey(prevout));
    const created = tx.outputs.flatMap((output, vout): [string, TestCoin][] => {
      if (output.scriptPubKey[0] === 0x6a) return [];
      const outpoint = { txid, vout };
      return [[outpointKey(outpoint), { outpoint, output, position: txPosition(height, index) }]];
    });
    return { spent, created };
  });
}

/** Blocks are encoded into the same memory. */
const encoded = new ByteWriter(1 << 20);

/** A block at its position in a chain, with the ancestors' values that rules read. */
export class TestBlock implements HeaderEntry {
  readonly hash: BlockHash;
  readonly height: number;
  readonly chainwork: bigint;
  readonly raw: Uint8Array;
  #changes: BlockChanges | null = null;

  constructor(
    readonly block: Block,
    readonly parent: TestBlock | null,
  ) {
    this.hash = headerHash(block.header);
    this.height = parent === null ? 0 : parent.height + 1;
    this.chainwork = (parent?.chainwork ?? 0n) + workOf(block.header.bits);
    encoded.reset();
    encodeBlock(encoded, block);
    this.raw = encoded.finish().slice();
  }

  get header(): BlockHeader {
    return this.block.header;
  }
  get version(): number {
    return this.header.version;
  }
  get time(): number {
    return this.header.time;
  }
  get bits(): number {
    return this.header.bits;
  }
  get txs(): readonly Transaction[] {
    return this.block.transactions;
  }
  get medianTimePast(): number {
    return medianTimePast(this);
  }

  /** The changes of the block in the set of coins, computed once: branches of a chain append the same blocks. */
  get changes(): BlockChanges {
    return (this.#changes ??= changesOf(this));
  }

  parsed(): ParsedBlock {
    return parseBlock(this.raw);
  }

  ancestor(height: number): TestBlock | null {
    if (height < 0 || height > this.height) return null;
    let at: TestBlock = this;
    while (at.height > height) at = at.parent!;
    return at;
  }
}

/**
 * A chain of blocks in memory without validation: it mines the given transactions, and knows the coins.
 *
 *     const chain = new RegtestChain();
 *     chain.mine(110);
 *     const tx = spend(chain.coin(1), [{ to: 'p2tr', value: 1_0000_0000n }]);
 *     chain.mine(1, { txs: [tx] });
 */
export class RegtestChain {
  readonly params: NetworkParams;
  readonly coins = new Map<string, TestCoin>();
  readonly #options: ChainOptions;
  /** Distinguishes a fork from its origin: its blocks would come out the same. */
  #branch: Uint8Array | undefined;
  #blocks: TestBlock[] = [];

  constructor(options: ChainOptions = {}) {
    this.#options = options;
    this.params = options.params ?? regtest;
    const { header, txs } = parseBlock(genesisBlock(this.params));
    // Its coinbase is no coin.
    this.#blocks.push(new TestBlock({ header, transactions: txs.map(({ tx }) => tx) }, null));
  }

  get tip(): TestBlock {
    return this.#blocks.at(-1)!;
  }
  get height(): number {
    return this.tip.height;
  }
  /** From genesis to tip. */
  get blocks(): readonly TestBlock[] {
    return this.#blocks;
  }

  at(height: number): TestBlock {
    const block = this.#blocks[height];
    if (block === undefined) throw new Error(`no block at height ${height}`);
    return block;
  }

  /** Returns the coin that the coinbase of the block at `height` created, spent or not. */
  coin(height: number): TestCoin {
    const coinbase = this.at(height).txs[0]!;
    return {
      outpoint: { txid: txidOf(coinbase), vout: 0 },
      output: coinbase.outputs[0]!,
      position: txPosition(height, 0),
    };
  }

  /** Unspent coins of a script, oldest first. */
  coinsOf(to: Destination): TestCoin[] {
    const script = scriptOfDestination(to);
    return [...this.coins.values()].filter(({ output }) => equalBytes(output.scriptPubKey, script));
  }

  /** Appends `count` blocks and returns the last one. Transactions go into the first of them. */
  mine(count = 1, { txs = [], ...options }: BlockOptions = {}): TestBlock {
    for (let i = 0; i < count; i++) this.append(this.build({ ...options, txs: i === 0 ? txs : [] }));
    return this.tip;
  }

  /** The next block, not appended. */
  build(options: BlockOptions = {}): TestBlock {
    const { txs = [], time = this.#nextTime(), version = BLOCK_VERSION } = options;
    const parent = this.tip;
    const good = assembleBlock({
      parent,
      bits: options.bits ?? REGTEST_BITS,
      version,
      // A time that is too early is no block the assembler would make.
      time: this.#nextTime(),
      transactions: txs,
      fees: this.#fees(txs),
      coinbaseScript: scriptOfDestination(options.to ?? this.#options.to ?? 'p2wpkh'),
      params: this.params.consensus,
      ...(this.#branch ? { extraNonce: this.#branch } : {}),
    });
    const transactions = applyToTransactions(good.transactions, options);
    const header: BlockHeader = {
      ...good.header,
      time,
      merkleRoot: options.merkleRoot ?? transactionsRoot(transactions),
      previousHash: options.previousHash ?? parent.hash,
    };
    return new TestBlock({ header: withWork(header, options.work ?? true), transactions }, parent);
  }

  /** Appends a block that was built on the tip. */
  append(block: TestBlock): void {
    if (block.parent !== this.tip) throw new Error('block was not built on the tip');
    this.#blocks.push(block);
    for (const { spent, created } of block.changes) {
      for (const key of spent) this.coins.delete(key);
      for (const [key, coin] of created) this.coins.set(key, coin);
    }
  }

  /** Another chain with the blocks up to `height` in common. Its own blocks differ from those of every other branch. */
  fork(height: number = this.height): RegtestChain {
    const branch = new RegtestChain(this.#options);
    branch.#blocks = [this.at(0)];
    for (const block of this.#blocks.slice(1, height + 1)) branch.append(block);
    branch.#branch = Uint8Array.of(++branches & 0xff, branches >> 8);
    return branch;
  }

  /** The bytes of a bootstrap file: `magic, size, block` for each block from `first` on. */
  bootstrap(first = 0): Uint8Array {
    const w = new ByteWriter(4096);
    for (const { raw } of this.#blocks.slice(first)) {
      w.u32(this.params.magic);
      w.u32(raw.length);
      w.bytes(raw);
    }
    return w.finish();
  }

  writeBootstrap(path: string, first = 0): void {
    writeFileSync(path, this.bootstrap(first));
  }

  #nextTime(): number {
    const { startTime = DEFAULT_START_TIME, spacing = 600 } = this.#options;
    const wanted = this.height === 0 ? startTime : this.tip.time + spacing;
    return Math.max(wanted, this.tip.medianTimePast + 1);
  }

  /** Returns the fees of the transactions, as far as the coins they spend are known. */
  #fees(txs: readonly Transaction[]): Amount {
    const made = new Map<string, TxOutput>();
    let fees = 0n;
    for (const tx of txs) {
      const spent = tx.inputs.map(({ prevout }) => {
        const key = outpointKey(prevout);
        return made.get(key) ?? this.coins.get(key)?.output;
      });
      const txid = txidOf(tx);
      for (const [vout, output] of tx.outputs.entries()) made.set(outpointKey({ txid, vout }), output);
      if (!spent.every((output) => output !== undefined)) continue;
      const fee = spent.reduce((sum, { value }) => sum + value, 0n) - sumOutputs(tx);
      if (fee > 0n) fees += fee;
    }
    return fees;
  }
}

let branches = 0;

/** A chain with mature coins of one kind: the first `coins` coinbases may be spent in the next block. */
export function chainWithCoins(coins: number, kind: LockKind = 'p2wpkh', options: ChainOptions = {}): RegtestChain {
  const chain = new RegtestChain({ ...options, to: lockOf(kind) });
  // The coinbase at height 1 may be spent at height 101.
  chain.mine(99 + coins);
  return chain;
}

function applyToTransactions(
  transactions: readonly Transaction[],
  { coinbaseValue, coinbaseScriptSig, coinbaseWitness, coinbase: change, list, commitment }: BlockOptions,
): readonly Transaction[] {
  let coinbase = transactions[0]!;
  if (coinbaseValue !== undefined) {
    const outputs = coinbase.outputs.map((output, i) => (i === 0 ? { ...output, value: coinbaseValue } : output));
    coinbase = { ...coinbase, outputs };
  }
  const [input, ...others] = coinbase.inputs;
  const scriptSig = coinbaseScriptSig ?? input!.scriptSig;
  coinbase = { ...coinbase, inputs: [{ ...input!, scriptSig }, ...others] };
  if (change) coinbase = change(coinbase);
  const all = [coinbase, ...transactions.slice(1)];
  const listed = list ? list(all) : all;
  // A list that lost its coinbase has nothing to commit with.
  if (listed[0] !== coinbase || !isCoinbase(coinbase)) return listed;
  return [committing(coinbase, listed.slice(1), commitment, coinbaseWitness), ...listed.slice(1)];
}

function committing(
  coinbase: Transaction,
  others: readonly Transaction[],
  commitment: BlockOptions['commitment'],
  witness: readonly Uint8Array[] | undefined,
): Transaction {
  const index = witnessCommitmentIndex(coinbase);
  const input = { ...coinbase.inputs[0]!, witness: witness ?? coinbase.inputs[0]!.witness };
  const inputs = [input, ...coinbase.inputs.slice(1)];
  if (index < 0) return { ...coinbase, inputs };
  if (commitment === 'none')
    return {
      ...coinbase,
      inputs: witness ? inputs : [{ ...input, witness: [] }, ...inputs.slice(1)],
      outputs: coinbase.outputs.filter((_, i) => i !== index),
    };
  const scriptPubKey = commitmentScript(others, input.witness[0]);
  if (commitment === 'wrong') scriptPubKey[scriptPubKey.length - 1]! ^= 1;
  const outputs = coinbase.outputs.map((output, i) => (i === index ? { ...output, scriptPubKey } : output));
  return { ...coinbase, inputs, outputs };
}

/** With a nonce that meets the target, or one that surely does not. Impossible bits get no work at all. */
function withWork(header: BlockHeader, work: boolean): BlockHeader {
  const expected = workOf(header.bits);
  if (expected === 0n || expected > 0x1_0000n) return header;
  if (work) return grindHeader(header);
  const { target } = expandBits(header.bits);
  for (let nonce = 0; ; nonce++) {
    const missed = { ...header, nonce };
    if (!hashMeetsTarget(headerHash(missed), target)) return missed;
  }
}
