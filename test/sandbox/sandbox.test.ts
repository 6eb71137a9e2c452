import { beforeAll, describe, expect, test } from 'bun:test';
import { regtest } from '../../src/params/regtest.ts';
import { parseBlock, parseTransaction, weightOf } from '../../src/primitives/block.ts';
import { hashToHex } from '../../src/primitives/hash.ts';
import { outpointKey } from '../../src/primitives/outpoint.ts';
import { sumOutputs, type Transaction, transactionBytes, txidOf } from '../../src/primitives/transaction.ts';
import { sandboxAccounts, sandboxAddresses } from '../../src/sandbox/accounts.ts';
import { liveBlockTime, seedBlockTime, untilDueMs } from '../../src/sandbox/block-times.ts';
import { sandboxPayments, startSandbox } from '../../src/sandbox/sandbox.ts';
import type { SandboxChain } from '../../src/sandbox/sandbox-chain.ts';
import { SeededRandom } from '../../src/sandbox/seeded-random.ts';
import { scriptType } from '../../src/script/templates.ts';
import { createLog } from '../../src/util/log.ts';
import { RegtestChain, TestBlock } from '../lib/chain-builder.ts';
import { ManualClock } from '../lib/manual-clock.ts';
import { validateBlock } from '../mining/validate-block.ts';

const NOW = 1_800_000_000;

/** A chain in memory that accepts valid blocks only. */
class MemoryChain implements SandboxChain {
  readonly chain = new RegtestChain();
  readonly clock: ManualClock;
  /** The reject reason of the next blocks, whatever their content. */
  refusal: string | null = null;
  submitted = 0;
  mempool: { tx: Transaction; at: number }[] = [];

  constructor(clock: ManualClock) {
    this.clock = clock;
  }

  tip() {
    const { hash, height, medianTimePast, time } = this.chain.tip;
    return { hash, height, medianTimePast, time, nextBits: 0x207f_ffff, nextVersion: 0x2000_0000 };
  }

  coinsOf(script: Uint8Array, limit: number) {
    const spent = new Set(this.mempool.flatMap(({ tx }) => tx.inputs.map(({ prevout }) => outpointKey(prevout))));
    return this.chain
      .coinsOf(script)
      .filter(({ outpoint }) => !spent.has(outpointKey(outpoint)))
      .slice(0, limit)
      .map(({ outpoint, output, position }) => ({ outpoint, value: output.value, position: position! }));
  }

  async offer(raw: Uint8Array) {
    this.mempool.push({ tx: parseTransaction(raw).tx, at: this.clock.nowMs() });
    return { ok: true };
  }

  async ripe() {
    const transactions = this.mempool.filter(({ at }) => this.clock.nowMs() - at >= 1000).map(({ tx }) => tx);
    const made = new Map(transactions.map((tx) => [hashToHex(txidOf(tx)), tx]));
    const value = ({ txid, vout }: Transaction['inputs'][number]['prevout']) =>
      made.get(hashToHex(txid))?.outputs[vout]?.value ??
      this.chain.coins.get(outpointKey({ txid, vout }))!.output.value;
    const fees = transactions.reduce(
      (sum, tx) => sum + tx.inputs.reduce((paid, { prevout }) => paid + value(prevout), 0n) - sumOutputs(tx),
      0n,
    );
    return { transactions, fees };
  }

  async submit(raw: Uint8Array) {
    this.submitted++;
    const { header, txs } = parseBlock(raw);
    const block = new TestBlock({ header, transactions: txs.map(({ tx }) => tx) }, this.chain.tip);
    const now = Math.floor(this.clock.nowMs() / 1000);
    const reason = this.refusal ?? validateBlock(this.chain, block, { now });
    if (reason !== null) return { ok: false, reason };
    this.chain.append(block);
    const mined = new Set(txs.map(({ txid }) => hashToHex(txid)));
    this.mempool = this.mempool.filter(({ tx }) => !mined.has(hashToHex(txidOf(tx))));
    return { ok: true };
  }
}

/** Runs the sandbox until it has waited `waits` times; every wait ends at once and advances the clock. */
async function run(chain: MemoryChain, { waits, interval = 5 }: { waits: number; interval?: number }) {
  // Unconfirmed transactions are lost with the process.
  chain.mempool = [];
  const stop = new AbortController();
  const waited: number[] = [];
  const lines: string[] = [];
  const decoder = new TextDecoder();
  const log = createLog({
    level: 'debug',
    format: 'text',
    write: (bytes) => lines.push(decoder.decode(bytes)) && bytes.length,
  });
  await startSandbox({
    chain,
    params: regtest,
    interval,
    signal: stop.signal,
    log,
    clock: chain.clock,
    wait: async (ms, signal) => {
      if (waited.length === waits) stop.abort();
      signal.throwIfAborted();
      waited.push(ms);
      chain.clock.advance(ms);
    },
  });
  log.flush();
  return { waited, text: lines.join('') };
}

const started = async (waits: number) => {
  const chain = new MemoryChain(new ManualClock(NOW * 1000));
  await run(chain, { waits });
  return chain;
};

let long: Promise<MemoryChain> | null = null;
/** Returns a chain with 110 blocks of payments, which is made once and must not be changed. */
const longChain = () => (long ??= started(110));

/** Returns the transactions of each block with payments. */
const paymentsOf = ({ chain }: MemoryChain): Transaction[][] => chain.blocks.slice(111).map(({ txs }) => txs.slice(1));

describe('the first start of the sandbox', () => {
  test('mines 110 blocks at once, in order of time, the last of them now', async () => {
    const { chain } = await started(0);
    expect(chain.height).toBe(110);
    expect(chain.tip.time).toBe(NOW);
    for (let height = 2; height <= 110; height++) {
      const step = chain.at(height).time - chain.at(height - 1).time;
      expect(step).toBeGreaterThanOrEqual(300);
      expect(step).toBeLessThanOrEqual(900);
    }
  });

  test('continues where it was interrupted, and counts blocks of other miners', async () => {
    const memory = new MemoryChain(new ManualClock(NOW * 1000));
    memory.chain.append(memory.chain.build({ time: NOW - 100 }));
    memory.chain.append(memory.chain.build({ time: NOW - 3 }));
    await run(memory, { waits: 0 });
    expect(memory.chain.height).toBe(110);
    expect(memory.chain.tip.time).toBeLessThanOrEqual(NOW + 7200);
  });

  test('logs its progress', async () => {
    const memory = new MemoryChain(new ManualClock(NOW * 1000));
    const { text } = await run(memory, { waits: 0 });
    expect(text).toContain('sandbox: mining the first blocks count=110');
    expect((await run(memory, { waits: 1 })).text).toBe('');
  });
});

describe('the blocks of the sandbox', () => {
  beforeAll(longChain, 60_000);

  test('come once per interval with three to six payments each', async () => {
    const memory = await longChain();
    expect(memory.chain.height).toBe(220);
    for (const payments of paymentsOf(memory)) {
      expect(payments.length).toBeGreaterThanOrEqual(3);
      expect(payments.length).toBeLessThanOrEqual(6);
      expect(payments[0]!.outputs.length).toBeGreaterThanOrEqual(4);
    }
    const times = memory.chain.blocks.slice(111).map(({ time }) => time);
    expect(times).toEqual(times.map((_, i) => NOW + 5 * (i + 1)));
  });

  test('pay between 1 and 20 satoshis per virtual byte', async () => {
    const memory = await longChain();
    const outputs = new Map<string, bigint>();
    for (const tx of memory.chain.blocks.flatMap(({ txs }) => txs)) {
      const txid = txidOf(tx);
      for (const [vout, { value }] of tx.outputs.entries()) outputs.set(outpointKey({ txid, vout }), value);
    }
    const rates = paymentsOf(memory)
      .flat()
      .map((tx) => {
        const paid = tx.inputs.reduce((sum, { prevout }) => sum + outputs.get(outpointKey(prevout))!, 0n);
        const raw = transactionBytes(tx);
        const strippedSize = transactionBytes(tx, { witness: false }).length;
        return Number(paid - sumOutputs(tx)) / Math.ceil(weightOf({ raw, strippedSize }) / 4);
      });
    expect(Math.min(...rates)).toBeGreaterThanOrEqual(1);
    expect(Math.max(...rates)).toBeLessThanOrEqual(20);
    expect(Math.max(...rates) - Math.min(...rates)).toBeGreaterThan(5);
  });

  test('contain every type of output and input, data outputs, and payments that depend on each other', async () => {
    const memory = await longChain();
    const blocks = paymentsOf(memory);
    const types = new Set(blocks.flat().flatMap(({ outputs }) => outputs.map((o) => scriptType(o.scriptPubKey).type)));
    expect([...types].sort()).toEqual([
      'nulldata',
      'pubkey',
      'pubkeyhash',
      'scripthash',
      'witness_v0_keyhash',
      'witness_v0_scripthash',
      'witness_v1_taproot',
    ]);
    const chained = blocks.filter((txs) => {
      const made = new Set(txs.map((tx) => hashToHex(txidOf(tx))));
      return txs.some(({ inputs }) => inputs.some(({ prevout }) => made.has(hashToHex(prevout.txid))));
    });
    expect(chained.length).toBeGreaterThan(5);
    expect(chained.length).toBeLessThan(blocks.length);
    // Every output exceeds the dust limit.
    for (const { value, scriptPubKey } of blocks.flat().flatMap(({ outputs }) => outputs))
      if (scriptPubKey[0] !== 0x6a) expect(value).toBeGreaterThan(1000n);
  });

  test('continue after a halving, with a bounded number of coins', async () => {
    const memory = await longChain();
    expect(memory.chain.height).toBe(220);
    expect(paymentsOf(memory).every((txs) => txs.length >= 3)).toBe(true);
    expect(memory.chain.coins.size).toBeLessThan(300);
    const total = [...memory.chain.coins.values()].reduce((sum, { output }) => sum + output.value, 0n);
    // No value is lost: the sum is 149 subsidies of 50 and 71 of 25.
    expect(total).toBe((149n * 50n + 71n * 25n) * 1_0000_0000n);
  });

  test('are equal on equal chains at equal times', async () => {
    expect((await started(12)).chain.tip.hash).toEqual((await started(12)).chain.tip.hash);
  });
});

describe('the sandbox after a restart', () => {
  test('continues its payments from the coins of the chain', async () => {
    const whole = await started(20);
    const memory = await started(8);
    await run(memory, { waits: 12 });
    expect(memory.chain.tip.hash).toEqual(whole.chain.tip.hash);
  });

  test('mines no block before its interval has passed', async () => {
    const memory = await started(3);
    memory.clock.advance(2000);
    expect((await run(memory, { waits: 1 })).waited).toEqual([3000]);
    memory.clock.advance(3_600_000);
    const { height } = memory.chain;
    expect((await run(memory, { waits: 2 })).waited).toEqual([0, 5000]);
    expect(memory.chain.height).toBe(height + 2);
  });

  test('mines blocks without payments on a chain without its coins', async () => {
    const memory = new MemoryChain(new ManualClock(NOW * 1000));
    memory.chain.mine(130);
    await run(memory, { waits: 5 });
    expect(paymentsOf(memory).slice(-5)).toEqual([[], [], [], [], []]);
  });
});

describe('the sandbox', () => {
  test('logs a rejected block and tries again after an interval', async () => {
    const memory = await started(1);
    memory.refusal = 'database is locked';
    const { waited, text } = await run(memory, { waits: 3 });
    expect(waited).toEqual([5000, 5000, 5000]);
    expect(text).toContain('sandbox: block rejected height=112 reason="database is locked"');
    memory.refusal = null;
    await run(memory, { waits: 1 });
    expect(memory.chain.height).toBe(112);
  });

  test('waits after a rejected first block', async () => {
    const memory = new MemoryChain(new ManualClock(NOW * 1000));
    memory.refusal = 'no space left on device';
    expect((await run(memory, { waits: 2 })).waited).toEqual([5000, 5000]);
    expect(memory.submitted).toBe(3);
  });

  test('waits where the chain is far ahead of the clock', async () => {
    const memory = await started(20);
    memory.clock.set((NOW - 86_400) * 1000);
    const before = memory.submitted;
    const { text, waited } = await run(memory, { waits: 2 });
    expect(memory.submitted).toBe(before);
    expect(waited).toEqual([5000, 5000]);
    expect(text).toContain('too far ahead of the clock');
  });

  test('passes on an error of the node', async () => {
    const memory = new MemoryChain(new ManualClock(NOW * 1000));
    memory.submit = () => Promise.reject(new Error('disk'));
    await expect(run(memory, { waits: 0 })).rejects.toThrow('disk');
  });
});

describe('stopping', () => {
  const log = createLog({ level: 'error', format: 'json', write: (bytes) => bytes.length });

  test('ends a wait at once at the abort, and leaves no timer', async () => {
    const memory = await started(0);
    const stop = new AbortController();
    const running = startSandbox({
      chain: memory,
      params: regtest,
      interval: 3600,
      signal: stop.signal,
      log,
      clock: memory.clock,
    });
    stop.abort();
    await running;
    expect(memory.chain.height).toBe(110);
  });

  test('does not wait for a block that the node has not validated yet', async () => {
    const memory = new MemoryChain(new ManualClock(NOW * 1000));
    const stop = new AbortController();
    memory.submit = () => new Promise(() => {});
    const running = startSandbox({
      chain: memory,
      params: regtest,
      interval: 5,
      signal: stop.signal,
      log,
      clock: memory.clock,
    });
    stop.abort();
    await running;
  });

  test('does nothing when it is aborted before the start', async () => {
    const memory = new MemoryChain(new ManualClock(NOW * 1000));
    await startSandbox({
      chain: memory,
      params: regtest,
      interval: 5,
      signal: AbortSignal.abort(),
      log,
      clock: memory.clock,
    });
    expect(memory.submitted).toBe(0);
  });
});

describe('addresses', () => {
  test('has the same accounts everywhere', () => {
    const addresses = sandboxAddresses(regtest);
    expect(addresses).toHaveLength(12);
    expect(new Set(addresses.map(({ address }) => address)).size).toBe(12);
    expect(sandboxAccounts().accounts.at(-1)!.kind).toBe('P2PK');
    expect(sandboxAddresses(regtest)).toEqual(addresses);
    expect(addresses[0]!.address).toMatch(/^bcrt1q[0-9a-z]{38}$/);
    expect(addresses[1]!.address).toMatch(/^bcrt1p[0-9a-z]{58}$/);
  });
});

describe('block times', () => {
  const tip = { time: NOW, medianTimePast: NOW - 20 };

  test('are those of the clock, but later than the median time past', () => {
    expect(liveBlockTime(tip, NOW + 9)).toBe(NOW + 9);
    expect(liveBlockTime(tip, NOW - 10)).toBe(NOW - 10);
    expect(liveBlockTime(tip, NOW - 20)).toBe(NOW - 19);
    expect(liveBlockTime(tip, NOW - 19 - 7200)).toBe(NOW - 19);
    expect(liveBlockTime(tip, NOW - 20 - 7200)).toBeNull();
  });

  test('of the first blocks divide the remaining time', () => {
    expect(seedBlockTime({ time: 0, medianTimePast: 0 }, 110, NOW, 0)).toBe(NOW - 109 * 600);
    expect(seedBlockTime({ time: 0, medianTimePast: 0 }, 110, NOW, 0.999)).toBe(NOW - 109 * 600 - 299);
    expect(seedBlockTime({ time: NOW - 100, medianTimePast: NOW - 100 }, 50, NOW, 0)).toBe(NOW - 98);
    expect(seedBlockTime({ time: NOW, medianTimePast: NOW }, 50, NOW, 0)).toBe(NOW + 1);
    expect(seedBlockTime({ time: NOW - 600, medianTimePast: NOW - 600 }, 1, NOW, 0.9)).toBe(NOW);
  });

  test('leave one interval after the last block', () => {
    expect(untilDueMs(tip, 5, NOW * 1000)).toBe(5000);
    expect(untilDueMs(tip, 5, NOW * 1000 + 4750)).toBe(250);
    expect(untilDueMs(tip, 5, NOW * 1000 + 60_000)).toBe(0);
    // The clock was set back.
    expect(untilDueMs(tip, 5, NOW * 1000 - 60_000)).toBe(5000);
    expect(untilDueMs(tip, 0.5, NOW * 1000 + 100)).toBe(400);
  });
});

describe('SeededRandom', () => {
  test('depends only on its seed', () => {
    const draw = (seed: number) => {
      const random = new SeededRandom(Uint8Array.of(seed));
      return Array.from({ length: 200 }, () => random.between(3, 6));
    };
    expect(draw(1)).toEqual(draw(1));
    expect(draw(1)).not.toEqual(draw(2));
    expect([...new Set(draw(1))].sort()).toEqual([3, 4, 5, 6]);
  });

  test('shuffles without losing an item', () => {
    const items = Array.from({ length: 50 }, (_, i) => i);
    const shuffled = new SeededRandom(Uint8Array.of(7)).shuffled(items);
    expect(shuffled).not.toEqual(items);
    expect(shuffled.sort((a, b) => a - b)).toEqual(items);
  });
});

test('the next payments do not depend on the order in which the node lists coins', async () => {
  const memory = await started(15);
  const turned: SandboxChain = {
    tip: () => memory.tip(),
    coinsOf: (script, limit) => memory.coinsOf(script, limit).reverse(),
    offer: (raw) => memory.offer(raw),
    ripe: () => memory.ripe(),
    submit: (raw) => memory.submit(raw),
  };
  const payments = (chain: SandboxChain) => sandboxPayments(chain, chain.tip());
  expect(payments(memory).length).toBeGreaterThan(2);
  expect(payments(turned)).toEqual(payments(memory));
});
