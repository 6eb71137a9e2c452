import { closeSync, copyFileSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

interface FullPool {
  readonly count: number;
  readonly usage: number;
  readonly empty: number;
  readonly full: number;
  readonly peak: number;
  readonly seconds: number;
  readonly processorUs: number;
}

/** Imports a mempool file of so many transactions into nodes, and prints the memory that they take. */
export async function benchFullPool(count: number, kinds: readonly NodeKind[]): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'obverse-bench-'));
  try {
    const blocks = join(directory, 'blocks.dat');
    const file = join(directory, 'bench-mempool.dat');
    const height = writeFiles(count, blocks, file);
    const lines: string[][] = [];
    for (const kind of kinds) {
      const { empty, full, peak, ...pool } = await fillPool(kind, { blocks, height, file });
      lines.push([
        kind.name,
        grouped(pool.count),
        grouped(pool.usage / 1e6),
        grouped(empty / 1e6),
        grouped(full / 1e6),
        grouped((full - empty) / 1e6),
        grouped((full - empty) / pool.count),
        grouped(peak / 1e6),
        grouped(pool.seconds, 1),
        grouped(pool.processorUs / count),
      ]);
    }
    console.log(`a mempool file of ${grouped(count)} transactions of one input and two outputs; memory in MB`);
    printGrid(
      ['', 'held', 'usage', 'empty', 'full', 'difference', 'bytes each', 'peak', 'seconds', 'µs of processor each'],
      lines,
    );
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function fillPool(
  kind: NodeKind,
  { blocks, height, file }: { blocks: string; height: number; file: string },
): Promise<FullPool> {
  await using node = await BenchNode.start(kind, blocks, height);
  await Bun.sleep(SETTLE_MS);
  const empty = node.memory.resident;
  const name = join(node.datadir, 'regtest/bench-mempool.dat');
  copyFileSync(file, name);
  const before = node.processorUs;
  const startedAt = performance.now();
  await node.call('importmempool', kind.name === 'Bitcoin Core' ? name : 'bench-mempool.dat');
  const seconds = (performance.now() - startedAt) / 1000;
  const processorUs = node.processorUs - before;
  await Bun.sleep(SETTLE_MS);
  const { size, usage } = (await node.call('getmempoolinfo')) as { size: number; usage: number };
  const { resident, peak } = node.memory;
  return { count: size, usage, empty, full: resident, peak, seconds, processorUs };
}

/** Writes a chain with a coin for each transaction, and the mempool file. Returns the height of the chain. */
function writeFiles(count: number, blocks: string, file: string): number {
  const chain = new RegtestChain({ to: lockOf('p2wsh-anyone'), startTime: Math.floor(Date.now() / 1000) - 100_000 });
  const splits = Math.ceil(count / COINS_PER_BLOCK);
  chain.mine(MATURITY + splits);
  const lock = p2wshOf(SCRIPT);
  const fd = openSync(file, 'w');
  const w = new ByteWriter(1 << 20);
  w.u64(FILE_VERSION);
  w.u64(BigInt(count));
  const time = BigInt(Math.floor(Date.now() / 1000));
  let made = 0;
  for (let height = 1; made < count; height++) {
    const payees = Array.from({ length: COINS_PER_BLOCK }, (): Payee => ({ to: lock, value: VALUE }));
    const split = spend(chain.coin(height), payees);
    const txid = txidOf(split);
    chain.mine(1, { txs: [split] });
    for (let vout = 0; vout < COINS_PER_BLOCK && made < count; vout++, made++) {
      w.bytes(transactionBytes(ordinary({ txid, vout }, 200n + BigInt((made * 7919) % 5000))));
      w.u64(time);
      w.u64(0n);
    }
    writeSync(fd, w.finish());
    w.reset();
  }
  // No deltas of other transactions, and none that waits for a broadcast.
  writeSync(fd, Uint8Array.of(0, 0));
  closeSync(fd);
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
