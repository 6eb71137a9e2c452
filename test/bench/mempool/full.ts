import { closeSync, copyFileSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { sha256 } from '../../../src/crypto/hash-functions.ts';
import { type Transaction, transactionBytes, txidOf } from '../../../src/primitives/transaction.ts';
import { Op } from '../../../src/script/opcodes.ts';
import { p2wshOf } from '../../../src/script/templates.ts';
import { ByteWriter } from '../../../src/util/bytes.ts';
import { RegtestChain } from '../../lib/chain-builder.ts';
import { lockOf, type Payee, spend } from '../../lib/tx-builder.ts';
import { grouped, printGrid } from '../report.ts';
import { BenchNode, type NodeKind } from './nodes.ts';

const COINS_PER_BLOCK = 10_000;
const VALUE = 100_000n;
const FIRST_OUTPUT = 50_000n;
const MATURITY = 100;
/** Sizes of a signature and a key, so that the transactions have the size of ordinary ones. */
const SIGNATURE = new Uint8Array(72);
const KEY = new Uint8Array(33);
/** Drops both, so that no signature has to be made or verified. */
const SCRIPT = Uint8Array.of(Op.OP_2DROP, Op.OP_1);
const SETTLE_MS = 15_000;
const FILE_VERSION = 1n;

/** A node after it has imported a mempool file. Memory in bytes. */
interface Filled {
  /** Number of transactions in the mempool, and their memory as the node counts it. */
  readonly count: number;
  readonly usage: number;
  readonly resident: number;
  readonly seconds: number;
  readonly processorUs: number;
}

/** The files of a measurement. */
interface PoolFiles {
  readonly blocks: string;
  readonly height: number;
  /** Mempool files, each with transactions of its own. */
  readonly pools: readonly string[];
}

/**
 * Imports two mempool files with `count` transactions in total into nodes, and prints the memory of the whole process
 * after each: that of the first shows what does not grow with the transactions.
 */
export async function benchFullPool(count: number, first: number, kinds: readonly NodeKind[]): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'obverse-bench-'));
  try {
    const blocks = join(directory, 'blocks.dat');
    const counts = [Math.min(first, count), count - Math.min(first, count)];
    const pools = counts.map((_, i) => join(directory, `bench-mempool-${i}.dat`));
    const height = writeFiles(counts, blocks, pools);
    const lines: string[][] = [];
    for (const kind of kinds) {
      const { empty, peak, steps } = await fillPool(kind, { blocks, height, pools });
      const [few, full] = steps as [Filled, Filled];
      const processorUs = few.processorUs + full.processorUs;
      lines.push([
        kind.name,
        grouped(full.count),
        grouped(full.usage / 1e6),
        grouped(empty / 1e6),
        grouped(few.resident / 1e6),
        grouped(full.resident / 1e6),
        grouped((full.resident - few.resident) / (full.count - few.count)),
        grouped(full.usage / full.count),
        grouped(peak / 1e6),
        grouped(few.seconds + full.seconds, 1),
        grouped(processorUs / count),
      ]);
    }
    console.log(
      `mempool files of ${grouped(count)} transactions of one input and two outputs; memory of the process in MB`,
    );
    const sizes = ['empty', `with ${grouped(counts[0]!)}`, 'with all'];
    printGrid(
      ['', 'held', 'usage', ...sizes, 'bytes each beyond', 'usage each', 'peak', 'seconds', 'µs of processor each'],
      lines,
    );
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function fillPool(
  kind: NodeKind,
  { blocks, height, pools }: PoolFiles,
): Promise<{ empty: number; peak: number; steps: readonly Filled[] }> {
  await using node = await BenchNode.start(kind, blocks, height);
  await Bun.sleep(SETTLE_MS);
  const empty = node.memory.resident;
  const steps: Filled[] = [];
  for (const file of pools) steps.push(await importFile(node, kind, file));
  return { empty, peak: node.memory.peak, steps };
}

async function importFile(node: BenchNode, kind: NodeKind, file: string): Promise<Filled> {
  const name = basename(file);
  const path = join(node.datadir, 'regtest', name);
  copyFileSync(file, path);
  const before = node.processorUs;
  const startedAt = performance.now();
  await node.call('importmempool', kind.name === 'Bitcoin Core' ? path : name);
  const seconds = (performance.now() - startedAt) / 1000;
  const processorUs = node.processorUs - before;
  await Bun.sleep(SETTLE_MS);
  const { size, usage } = (await node.call('getmempoolinfo')) as { size: number; usage: number };
  return { count: size, usage, resident: node.memory.resident, seconds, processorUs };
}

/** Writes a chain with a coin for each transaction, and mempool files of these sizes. Returns the height of the chain. */
function writeFiles(counts: readonly number[], blocks: string, pools: readonly string[]): number {
  const count = counts.reduce((sum, one) => sum + one);
  const chain = new RegtestChain({ to: lockOf('p2wsh-anyone'), startTime: Math.floor(Date.now() / 1000) - 100_000 });
  const splits = Math.ceil(count / COINS_PER_BLOCK);
  chain.mine(MATURITY + splits);
  const lock = p2wshOf(SCRIPT);
  const w = new ByteWriter(1 << 20);
  const time = BigInt(Math.floor(Date.now() / 1000));
  let made = 0;
  const files = pools.map((path, i) => {
    const fd = openSync(path, 'w');
    w.u64(FILE_VERSION);
    w.u64(BigInt(counts[i]!));
    writeSync(fd, w.finish());
    w.reset();
    return fd;
  });
  for (let height = 1; made < count; height++) {
    const payees = Array.from({ length: COINS_PER_BLOCK }, (): Payee => ({ to: lock, value: VALUE }));
    const split = spend(chain.coin(height), payees);
    const txid = txidOf(split);
    chain.mine(1, { txs: [split] });
    for (let vout = 0; vout < COINS_PER_BLOCK && made < count; vout++, made++) {
      w.bytes(transactionBytes(ordinary({ txid, vout }, 200n + BigInt((made * 7919) % 5000))));
      w.u64(time);
      w.u64(0n);
      writeSync(made < counts[0]! ? files[0]! : files[1]!, w.finish());
      w.reset();
    }
  }
  for (const fd of files) {
    // No deltas of other transactions, and none that waits for a broadcast.
    writeSync(fd, Uint8Array.of(0, 0));
    closeSync(fd);
  }
  chain.mine(1);
  const out = openSync(blocks, 'w');
  for (const { raw } of chain.blocks.slice(1)) {
    const head = new Uint8Array(8);
    new DataView(head.buffer).setUint32(0, chain.params.magic, true);
    new DataView(head.buffer).setUint32(4, raw.length, true);
    writeSync(out, head);
    writeSync(out, raw);
  }
  closeSync(out);
  return chain.height;
}

const [FIRST_TO, SECOND_TO] = [lockOf('p2wpkh', 1).scriptPubKey, lockOf('p2wpkh', 2).scriptPubKey];

function ordinary(prevout: Transaction['inputs'][number]['prevout'], fee: bigint): Transaction {
  return {
    version: 2,
    inputs: [{ prevout, scriptSig: new Uint8Array(0), sequence: 0xffff_fffd, witness: [SIGNATURE, KEY, SCRIPT] }],
    outputs: [
      { value: FIRST_OUTPUT, scriptPubKey: distinct(FIRST_TO, prevout) },
      { value: VALUE - FIRST_OUTPUT - fee, scriptPubKey: distinct(SECOND_TO, prevout) },
    ],
    locktime: 0,
  };
}

/** Pays each output to another address, as most payments do. */
function distinct(script: Uint8Array, { txid, vout }: { txid: Uint8Array; vout: number }): Uint8Array {
  const own = script.slice();
  const seed = new Uint8Array(40);
  seed.set(txid);
  new DataView(seed.buffer).setUint32(32, vout, true);
  seed[36] = script[5]!;
  own.set(sha256(seed).subarray(0, 20), 2);
  return own;
}
