import { afterEach, describe, expect, spyOn, test } from 'bun:test';
import { regtest } from '../../src/params/regtest.ts';
import { addChecksum } from '../../src/wallet/descriptor/checksum.ts';
import { importDescriptors } from '../../src/wallet/import-descriptors.ts';
import { KeypoolFiller } from '../../src/wallet/keypool-filler.ts';
import { ExtendedPrivateKey, formatExtendedPublicKey } from '../../src/wallet/keys/extended-key.ts';
import { PlainChainReads } from './plain-chain-reads.ts';
import { WalletFixture } from './wallet-fixture.ts';

const never = new AbortController().signal;

/** Each reading of the clock is a millisecond later, so that a slice of 8 ms has 8 steps. */
function stepsTakeAMillisecond(): void {
  let now = 0;
  spyOn(performance, 'now').mockImplementation(() => now++);
}

afterEach(() => {
  spyOn(performance, 'now').mockRestore();
});

class Fixture extends WalletFixture {
  constructor(options: ConstructorParameters<typeof WalletFixture>[0] = {}, keypool?: number) {
    super(options, keypool);
    const index = new PlainChainReads(this.chain);
    this.deps.chain.reads = () => index.reads;
  }

  get filled(): number {
    return this.wallet.scripts.descriptors().reduce((sum, { record }) => sum + record.filled, 0);
  }
}

/** The most that `count` grew between two turns of the thread while a work goes on. */
async function mostBetweenTurns(work: Promise<unknown>, count: () => number): Promise<number> {
  let [most, before, done] = [0, count(), false];
  work.finally(() => (done = true)).catch(() => {});
  while (!done) {
    await new Promise(setImmediate);
    most = Math.max(most, count() - before);
    before = count();
  }
  await work;
  return most;
}

describe('keypoolrefill', () => {
  test('keypoolrefill derives all addresses in slices, also in a wallet that was filled before', async () => {
    using it = new Fixture();
    while (it.wallet.filler.fillSome());
    stepsTakeAMillisecond();
    const most = await mostBetweenTurns(it.wallet.refillKeypool(1000, never), () => it.filled);
    // A step derives 16 addresses, and a turn has 8 steps; the first also has those of the call itself.
    expect(most).toBeLessThanOrEqual(2 * 8 * 16);
    expect(it.filled).toBe(8 * 1000);
    expect(it.wallet.scripts.descriptors().every(({ record }) => record.rangeEnd === 1000)).toBe(true);
  });

  test('keypoolrefill ends when the client leaves, and addresses are available meanwhile and later', async () => {
    using it = new Fixture();
    const leaving = new AbortController();
    const refill = it.wallet.refillKeypool(1000, leaving.signal);
    await new Promise(setImmediate);
    const first = it.script();
    leaving.abort(new Error('the client has disconnected'));
    expect(await refill.catch(({ message }) => message)).toBe('the client has disconnected');
    const { filled } = it;
    expect(filled).toBeLessThan(8 * 1000);
    await new Promise(setImmediate);
    expect(it.filled).toBe(filled);
    expect(it.script()).not.toEqual(first);
    await it.reopen();
    await it.wallet.refillKeypool(0, never);
    expect(it.filled).toBe(8 * 1000);
  });

  test('keypoolrefill ends when the wallet is unloaded', async () => {
    using it = new Fixture();
    const refill = it.wallet.refillKeypool(5000, never);
    await new Promise(setImmediate);
    it.wallet.close();
    expect(await refill.catch(({ message }) => message)).toBe('the wallet is unloaded');
  });

  test('keypoolrefill refuses more than 100,000 addresses', async () => {
    using it = new Fixture();
    const before = it.wallet.scripts.descriptors().map(({ record }) => record);
    expect(await it.wallet.refillKeypool(100_001, never).catch((error) => error)).toMatchObject({
      kind: 'invalidParameter',
      message: 'Invalid parameter, newsize must not exceed 100000.',
    });
    expect(it.wallet.scripts.descriptors().map(({ record }) => record)).toEqual(before);
  });
});

describe('importdescriptors', () => {
  const xpubOf = (seed: number) =>
    formatExtendedPublicKey(ExtendedPrivateKey.fromSeed(new Uint8Array(32).fill(seed)).neuter(), regtest.bip32);
  const xpub = xpubOf(3);
  const keys = (count: number, tail = '') => Array.from({ length: count }, (_, i) => xpubOf(i + 1) + tail).join(',');

  test('importdescriptors adds one descriptor in each step', async () => {
    using it = new Fixture({ blank: true, disablePrivateKeys: true });
    const requests = Array.from({ length: 60 }, (_, i) => ({
      timestamp: 'now' as const,
      desc: addChecksum(`wpkh(${xpub}/${i})`),
    }));
    stepsTakeAMillisecond();
    const work = importDescriptors(it.wallet, requests);
    const most = await mostBetweenTurns(work, () => it.wallet.scripts.descriptors().length);
    expect(most).toBeLessThanOrEqual(2 * 8);
    expect((await work).every(({ error }) => error === null)).toBe(true);
    expect(it.wallet.scripts.descriptors()).toHaveLength(60);
  });

  test.each([
    ['participants', `tr(musig(${keys(31)})/0/*)`, 'Descriptor has 31 keys in musig(); a wallet takes at most 30'],
    [
      'participants in all',
      `tr(${xpub}/*,{pk(musig(${keys(16)})),pk(musig(${keys(15)}))})`,
      'Descriptor has 31 keys in musig(); a wallet takes at most 30',
    ],
    [
      'keys',
      `tr(${xpub}/*,{multi_a(1,${keys(200)}),{multi_a(1,${keys(200)}),{multi_a(1,${keys(200)}),{multi_a(1,${keys(200)}),multi_a(1,${keys(200)})}}}})`,
      'Descriptor has 1001 keys; a wallet takes at most 1000',
    ],
    [
      'paths',
      `wpkh(${xpub}/<0;1;2;3;4;5;6;7;8;9;10>/*)`,
      'Descriptor stands for 11 descriptors; a wallet takes at most 10',
    ],
    [
      'characters',
      `wpkh(${xpub}${'/0'.repeat(200_000)})`,
      'Descriptor has 400126 characters; a wallet takes at most 400000',
    ],
  ])('importdescriptors refuses a descriptor with too many %s', async (_, desc, message) => {
    using it = new Fixture({ blank: true, disablePrivateKeys: true });
    const outcomes = await importDescriptors(it.wallet, [{ timestamp: 'now', desc: addChecksum(desc) }]);
    expect(outcomes).toEqual([{ warnings: [], error: { kind: 'invalidAddressOrKey', message } }]);
    expect(it.wallet.scripts.descriptors()).toEqual([]);
  });

  test('a wider range begins with a lower index while no address was issued, and never issues one again', async () => {
    using it = new Fixture({ blank: true, disablePrivateKeys: true }, 2);
    const { scripts } = it.wallet;
    const widen = async (range: [number, number]) => {
      const request = { timestamp: 'now' as const, desc: addChecksum(`wpkh(${xpub}/*)`), range, active: true };
      expect(await importDescriptors(it.wallet, [request])).toMatchObject([{ error: null }]);
      return scripts.activeDescriptor('bech32', false)!;
    };
    expect((await widen([5, 10])).record.nextIndex).toBe(5);
    const wider = await widen([2, 10]);
    expect(wider.record.nextIndex).toBe(2);
    wider.update({ nextIndex: 3 });
    expect((await widen([0, 20])).record.nextIndex).toBe(3);
  });

  test('importdescriptors accepts the documented number of participants of musig()', async () => {
    using it = new Fixture({ blank: true, disablePrivateKeys: true }, 2);
    const desc = addChecksum(`tr(musig(${keys(30)})/0/*)`);
    expect(await importDescriptors(it.wallet, [{ timestamp: 'now', desc }])).toMatchObject([{ error: null }]);
  });
});

test('the derivation in the background is repeated after an error, and its search ends', async () => {
  using it = new Fixture();
  const { store, scripts, sync, scanner, signal } = it.wallet;
  // That of the wallet itself.
  const isLeft = () => scripts.unfilled().length > 0 || Object.keys(store.meta('filledUnseen') ?? {}).length > 0;
  while (isLeft()) await Bun.sleep(20);
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  const filler = new KeypoolFiller({ store, scripts, sync, scanner, clock: it.clock, signal, onError, retryMs: 1 });
  store.write(() => store.setMeta('filledUnseen', { [scripts.descriptors()[0]!.id]: 0 }));
  const full = new Error('database or disk is full');
  spyOn(store, 'writeRelaxed').mockImplementationOnce(() => {
    throw full;
  });
  filler.continueLater();
  while (errors.length === 0) await Bun.sleep(20);
  expect(errors).toEqual([full]);
  expect(filler.scanning).not.toBeNull();
  while (filler.scanning !== null) await Bun.sleep(20);
  expect(errors).toHaveLength(1);
  expect(store.meta('filledUnseen')).toEqual({});
}, 30_000);

test('a wallet that is opened has addresses ahead of the last issued one', async () => {
  using it = new Fixture({}, 1);
  const range = () => {
    const { nextIndex, rangeEnd, filled } = it.wallet.scripts.descriptors().find(({ id }) => id === 3)!.record;
    return { nextIndex, rangeEnd, filled };
  };
  it.script();
  expect(range()).toEqual({ nextIndex: 1, rangeEnd: 1, filled: 1 });
  await it.reopen();
  expect(range()).toEqual({ nextIndex: 1, rangeEnd: 2, filled: 2 });
  await it.reopen();
  expect(range()).toEqual({ nextIndex: 1, rangeEnd: 2, filled: 2 });
});
