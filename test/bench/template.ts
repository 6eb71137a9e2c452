import { Mempool } from '../../src/mempool/pool.ts';
import { miningCalls } from '../../src/node/calls/mining-calls.ts';
import { parseTransaction } from '../../src/primitives/block.ts';
import type { Txid } from '../../src/primitives/hash.ts';
import { transactionBytes } from '../../src/primitives/transaction.ts';
import { RegtestChain } from '../lib/chain-builder.ts';
import { TestNode } from '../lib/chain-fixture.ts';
import { DEFAULT_RELAY_OPTIONS } from '../lib/default-options.ts';
import { ManualClock } from '../lib/manual-clock.ts';
import { lockOf, type Payee, spend } from '../lib/tx-builder.ts';
import { grouped, printTable } from './report.ts';

const MEBIBYTE = 1024 * 1024;
const ROUNDS = 15;
const ARRIVAL = { replaced: [], reaccepted: false, local: false, inPackage: false };

/** Makes block templates over a mempool of so many megabytes, as it counts them: some alone, some in chains. */
export async function benchTemplate(megabytes = 300): Promise<void> {
  const node = new TestNode();
  const chain = new RegtestChain({ to: lockOf('p2wpkh') });
  chain.mine(1);
  await node.take(chain.blocks.slice(1));
  const clock = new ManualClock(Date.now());
  const mempool = new Mempool(DEFAULT_RELAY_OPTIONS, {
    clock,
    observer: { added() {}, removed() {}, modified() {} },
  });
  const filling = performance.now();
  const first = fill(mempool, megabytes * 1_000_000);
  const filled = performance.now() - filling;
  const actions = miningCalls({ chain: node.chain, mempool, clock }, new AbortController().signal);
  const times: number[] = [];
  const worked: number[] = [];
  const kept: number[] = [];
  let bytes = 0;
  const { signal } = new AbortController();
  for (let i = 0; i < ROUNDS; i++) {
    mempool.prioritise(first, 1);
    clock.advance(6000);
    const startedAt = performance.now();
    const usage = process.cpuUsage();
    const { transactions } = await actions.blockTemplate(null, signal);
    times.push(performance.now() - startedAt);
    const { user, system } = process.cpuUsage(usage);
    worked.push((user + system) / 1000);
    bytes = transactions!.length;
    const again = performance.now();
    await actions.blockTemplate(null, signal);
    kept.push(performance.now() - again);
  }
  const [sorted, cpu] = [times, worked].map((values) => values.slice(1).sort((a, b) => a - b)) as [number[], number[]];
  const last = await actions.lastAssembled(signal);
  printTable(`block template over ${grouped(mempool.entries.count)} transactions`, [
    ['bytes as counted', grouped(mempool.usage)],
    ['filled in, s', grouped(filled / 1000, 1)],
    ['the first template, ms', grouped(times[0]!, 1)],
    ['later ones: median, ms', grouped(sorted[Math.floor(sorted.length / 2)]!, 1)],
    ['of processor time, ms', grouped(cpu[Math.floor(cpu.length / 2)]!, 1)],
    ['later ones: slowest, ms', grouped(sorted.at(-1)!, 1)],
    ['one that is kept: slowest, ms', grouped(Math.max(...kept), 2)],
    ['transactions in it', grouped(last!.txs)],
    ['weight', grouped(last!.weight)],
    ['JSON, MiB', grouped(bytes / MEBIBYTE, 2)],
  ]);
  await node[Symbol.asyncDispose]();
}

/** Adds ordinary spends with various fees; every third one begins a chain of up to twenty. Returns the first txid. */
function fill(mempool: Mempool, limit: number): Txid {
  const payees: Payee[] = [
    { to: 'p2wpkh', value: 50_000n },
    { to: 'p2wpkh', value: 40_000n },
  ];
  const outpoint = { txid: new Uint8Array(32) as Txid, vout: 0 };
  const output = { value: 100_000n, scriptPubKey: lockOf('p2wpkh').scriptPubKey };
  const form = transactionBytes(spend({ outpoint, output }, payees));
  // Offset of the spent txid, behind version, marker, flag and number of inputs.
  const at = 4 + 2 + 1;
  const spent = new Uint8Array(32);
  let first: Txid | null = null;
  let parent: { txid: Txid; slot: number } | null = null;
  let left = 0;
  for (let i = 1; mempool.usage < limit; i++) {
    const raw = form.slice();
    // Wallets use the height of the tip as locktime, so that mining an older block again earns nothing more.
    if (i % 2 === 0) new DataView(raw.buffer).setUint32(raw.length - 4, 1, true);
    if (left === 0) parent = null;
    if (parent) raw.set(parent.txid, at);
    else new DataView(raw.buffer).setUint32(at, i, true);
    const parsed = parseTransaction(raw);
    const weight = parsed.strippedSize * 3 + raw.length;
    // Most feerates are low, as in a full mempool.
    const fee = Math.ceil((weight / 4) * (1 + 200 * ((i * 7919) % 10_007) ** 3 * 1e-12));
    const slot = mempool.graph.add(fee, weight);
    if (parent) mempool.graph.addDependency(parent.slot, slot);
    const entry = { parsed, spent, fee, feeDelta: 0, weight, vsize: Math.ceil(weight / 4), sigopCost: 1, time: 0 };
    mempool.insert(slot, { ...entry, height: 1, locked: i % 2 === 0 }, ARRIVAL);
    first ??= parsed.txid;
    if (left > 0) left--;
    else if (i % 3 === 0) left = i % 20;
    parent = { txid: parsed.txid, slot };
  }
  // Acceptance checks this limit for every transaction.
  mempool.graph.isOversized();
  return first!;
}
