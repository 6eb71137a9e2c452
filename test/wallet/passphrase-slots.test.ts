import { describe, expect, test } from 'bun:test';
import { FairSlots } from '../../src/wallet/vault/fair-slots.ts';
import { checkScryptCost, passphraseKey, scryptCostOf } from '../../src/wallet/vault/passphrase-key.ts';
import { PassphraseLanes } from '../../src/wallet/vault/passphrase-lanes.ts';
import { WalletError } from '../../src/wallet/wallet-error.ts';

describe('slots for expensive work', () => {
  test('slots are bounded, and callers get them in alternation', async () => {
    const places = new FairSlots(2, 3);
    const order: string[] = [];
    let running = 0;
    const gate = Promise.withResolvers<void>();
    const work = (name: string) => async () => {
      expect(++running).toBeLessThanOrEqual(2);
      order.push(name);
      await gate.promise;
      running--;
      return name;
    };
    const all = ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2'].map((name) => places.run(name[0]!, work(name)));
    // Two of the first caller run and three wait: that is as many as may.
    expect(await places.run('a', work('a6'))).toBeNull();
    expect(order).toEqual(['a1', 'a2']);
    gate.resolve();
    expect(await Promise.all(all)).toEqual(['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2']);
    expect(order).toEqual(['a1', 'a2', 'a3', 'b1', 'a4', 'b2', 'a5']);
  });

  test('a slot is released when its work fails', async () => {
    const places = new FairSlots(1, 3);
    const failing = places.run('a', () => Promise.reject(new Error('no')));
    const next = places.run('b', () => Promise.resolve(1));
    await expect(failing).rejects.toThrow('no');
    expect(await next).toBe(1);
    expect(await places.run('b', () => Promise.resolve(2))).toBe(2);
  });
});

describe('passphrase attempts', () => {
  test('a wrong passphrase delays only its caller, whose queued attempts are bounded', async () => {
    const ended = new AbortController();
    const lanes = new PassphraseLanes(ended.signal);
    const wrong = [1, 2, 3, 4].map(() => lanes.run('guesser', () => Promise.resolve(null)).catch(() => 'given up'));
    expect(() => lanes.run('guesser', () => Promise.resolve(1))).toThrow('too many passphrases');
    // 250, 500, 1,000 and 2,000 milliseconds of the guesser.
    const from = performance.now();
    expect(await lanes.run('operator', () => Promise.resolve('open'))).toBe('open');
    expect(performance.now() - from).toBeLessThan(200);
    ended.abort(new Error('the wallet is unloaded'));
    expect(await Promise.all(wrong)).toEqual(Array.from({ length: 4 }, () => 'given up'));
  });
});

describe('the cost of a passphrase', () => {
  test('the scrypt cost on mainnet is 2^18', () => {
    for (const network of ['main', 'testnet4', 'signet'] as const)
      expect(scryptCostOf(network)).toEqual({ cost: 262_144, blockSize: 8, parallel: 1, hashed: true });
  });

  test('a file may use earlier scrypt costs, but no excessive one', async () => {
    for (const [cost, blockSize, parallel] of [
      [65_536, 8, 1],
      [262_144, 8, 1],
      [1_048_576, 8, 4],
      [2, 1, 1],
    ] as const)
      expect(() => checkScryptCost({ cost, blockSize, parallel })).not.toThrow();
    for (const [cost, blockSize, parallel] of [
      [2_097_152, 8, 1],
      [1_048_576, 16, 1],
      [1_048_576, 8, 5],
      [2, 1, 1e9],
      [65_535, 8, 1],
      [1, 8, 1],
      [0, 8, 1],
      [-2, 8, 1],
      [65_536, 8.5, 1],
      [Number.NaN, 8, 1],
      ['65536', 8, 1],
      [2 ** 60, 2 ** 60, 1],
    ] as [number, number, number][]) {
      expect(() => checkScryptCost({ cost, blockSize, parallel })).toThrow(WalletError);
      const key = passphraseKey(new Uint8Array(1), new Uint8Array(32), { cost, blockSize, parallel }, 'caller');
      await expect(key).rejects.toThrow('Error: the wallet file asks for');
    }
  });
});
