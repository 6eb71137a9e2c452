import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { signatureEngine } from '../../src/crypto/secp256k1.ts';
import type { SignatureEngine } from '../../src/crypto/signature-engine.ts';
import { Mempool } from '../../src/mempool/pool.ts';
import { Acceptance } from '../../src/mempool/validation/acceptance.ts';
import { parseTransaction } from '../../src/primitives/block.ts';
import { transactionBytes } from '../../src/primitives/transaction.ts';
import { systemClock } from '../../src/util/clock.ts';
import { chainWithCoins } from '../lib/chain-builder.ts';
import { TestNode, trustingVerifier } from '../lib/chain-fixture.ts';
import { DEFAULT_RELAY_OPTIONS } from '../lib/default-options.ts';
import { vectorPath } from '../lib/vectors.ts';
import { buildExecutable } from './executable.ts';
import { benchFullPool } from './mempool/full.ts';
import { bitcoinCore, type NodeKind, obverse } from './mempool/nodes.ts';
import { benchSubmission } from './mempool/submit.ts';
import { grouped, printTable } from './report.ts';
import { COINS_PER_BLOCK, ordinarySpends } from './spends.ts';

const BLOCK_TXS = 4000;
const FIRST = 1000;

const CHAIN = 'chains/regtest-mixed-160.dat';
const FULL_COUNT = 500_000;
const FIRST_COUNT = 20_000;
const ROUNDS = 3;

/**
 * Measures the mempool: in this process, in a node that receives mixed transactions over JSON-RPC, and in one whose
 * mempool is filled with `--count N` transactions, the `--first N` of them on their own. `--core BITCOIND` runs Bitcoin
 * Core beside the nodes, `--base DIR` the node of another checkout, and `--only pool|submit|full` makes one of the
 * measurements.
 */
export async function benchMempool(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: {
      core: { type: 'string' },
      base: { type: 'string' },
      only: { type: 'string' },
      chain: { type: 'string', default: vectorPath(CHAIN) },
      rounds: { type: 'string', default: String(ROUNDS) },
      count: { type: 'string', default: String(FULL_COUNT) },
      first: { type: 'string', default: String(FIRST_COUNT) },
    },
    allowPositionals: true,
  });
  const isWanted = (name: string) => values.only === undefined || values.only === name;
  if (isWanted('pool')) await benchPool(Number(positionals[0]) || undefined);
  if (!isWanted('submit') && !isWanted('full')) return;
  const folder = mkdtempSync(join(tmpdir(), 'obverse-mempool-'));
  try {
    const kinds = await nodeKinds(folder, values.core, values.base);
    if (isWanted('submit')) await benchSubmission(values.chain, kinds, Number(values.rounds));
    if (isWanted('full')) await benchFullPool(Number(values.count), Number(values.first), kinds);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Builds the executables, as operators run them, in a folder. */
async function nodeKinds(folder: string, core: string | undefined, base: string | undefined): Promise<NodeKind[]> {
  const [own, other] = [join(folder, 'obverse'), join(folder, 'base')];
  await buildExecutable(own);
  if (base !== undefined) await buildExecutable(other, resolve(base));
  return [
    ...(core === undefined ? [] : [bitcoinCore(core)]),
    ...(base === undefined ? [] : [obverse('base', other)]),
    obverse('Obverse', own),
  ];
}

/** Accepts ordinary spends of one input and two outputs into an empty mempool, then removes a block of them. */
async function benchPool(count = 30_000): Promise<void> {
  const blocks = Math.ceil(count / COINS_PER_BLOCK);
  const chain = chainWithCoins(blocks, 'anyone');
  const spends = ordinarySpends(chain, count, (n) => 200n + BigInt(n % 5000));
  const txs = spends.map((tx) => parseTransaction(transactionBytes(tx)));
  // All coins stay in memory, so that none is read during the measurement.
  const node = new TestNode({ verifier: trustingVerifier, coinsCacheBytes: 2 ** 29 });
  await node.take(chain.blocks.slice(1));
  const engine = timedEngine(signatureEngine());
  const mempool = new Mempool(DEFAULT_RELAY_OPTIONS, {
    clock: systemClock,
    observer: { added() {}, removed() {}, modified() {} },
  });
  const acceptance = new Acceptance({ mempool, chain: node.chain, engine, clock: systemClock });
  Bun.gc(true);
  Bun.gc(true);
  const before = process.memoryUsage();
  const accept = (from: number, to: number) => {
    const startedAt = performance.now();
    for (const tx of txs.slice(from, to))
      if (acceptance.accept(tx).status !== 'accepted') throw new Error('a good transaction was refused');
    return performance.now() - startedAt;
  };
  const { first, middle, last } = await node.chain.whenSettled(() => ({
    first: accept(0, FIRST),
    middle: accept(FIRST, count - FIRST),
    last: accept(count - FIRST, count),
  }));
  const total = first + middle + last;
  const signatures = engine.ms;
  Bun.gc(true);
  Bun.gc(true);
  const after = process.memoryUsage();
  const { size, bytes } = mempool.entries.totals;
  // `heapUsed` includes external memory in this runtime.
  const memory = after.heapUsed - before.heapUsed;
  const removing = performance.now();
  mempool.removeForBlock(txs.slice(0, BLOCK_TXS), '');
  const removed = performance.now() - removing;
  printTable(`mempool: ${grouped(count)} spends of one input and two outputs`, [
    ['accepted a second', grouped((count / total) * 1000)],
    ['of that, signatures', `${grouped((signatures / total) * 100)} %`],
    ['microseconds each: first 1,000', grouped((first / FIRST) * 1000)],
    ['microseconds each: last 1,000', grouped((last / FIRST) * 1000)],
    ['serialized bytes', grouped(size)],
    ['bytes as counted', `${grouped(bytes)}  (${grouped(bytes / size, 2)} times)`],
    ['bytes of heap', `${grouped(memory)}  (${grouped(memory / size, 2)} times)`],
    [`a block of ${grouped(BLOCK_TXS)} taken out, ms`, grouped(removed, 1)],
  ]);
  await node[Symbol.asyncDispose]();
}

function timedEngine(engine: SignatureEngine): SignatureEngine & { ms: number } {
  const timed = {
    ms: 0,
    name: engine.name,
    verifyEcdsa(signature: Uint8Array, msg32: Uint8Array, key: Uint8Array) {
      const startedAt = performance.now();
      const good = engine.verifyEcdsa(signature, msg32, key);
      timed.ms += performance.now() - startedAt;
      return good;
    },
    verifySchnorr: engine.verifySchnorr.bind(engine),
    checkTapTweak: engine.checkTapTweak.bind(engine),
    isValidPublicKey: engine.isValidPublicKey.bind(engine),
  };
  return timed;
}
