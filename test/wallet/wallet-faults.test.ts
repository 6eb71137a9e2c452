import { describe, expect, test } from 'bun:test';
import type { BroadcastResult } from '../../src/mempool/client-submissions.ts';
import { regtest } from '../../src/params/regtest.ts';
import type { ParsedTransaction } from '../../src/primitives/block.ts';
import type { Txid } from '../../src/primitives/hash.ts';
import { encodeWif } from '../../src/script/wif.ts';
import { abortable } from '../../src/util/abort.ts';
import { addChecksum } from '../../src/wallet/descriptor/checksum.ts';
import { importDescriptors } from '../../src/wallet/import-descriptors.ts';
import { parsed, TIME_0, WalletFixture } from './wallet-fixture.ts';

const FOREIGN = Uint8Array.of(0x51);
const FULL = new Error('database or disk is full');

function payment(seed: number): ParsedTransaction {
  const prevout = { txid: new Uint8Array(32).fill(seed) as Txid, vout: 0 };
  const input = { prevout, scriptSig: new Uint8Array(0), sequence: 0, witness: [] };
  return parsed({ version: 2, locktime: seed, inputs: [input], outputs: [{ value: 1000n, scriptPubKey: FOREIGN }] });
}

describe('failed writes', () => {
  test('a failed write leaves no address to which payments would be missed', () => {
    using it = new WalletFixture({}, 40);
    const { scripts, store } = it.wallet;
    const before = scripts.activeDescriptor('bech32', false)!.record;
    expect(() =>
      store.write(() => {
        while (scripts.fillSome());
        throw FULL;
      }),
    ).toThrow(FULL);
    expect(scripts.activeDescriptor('bech32', false)!.record).toEqual(before);
    for (let i = 0; i < 5; i++) expect(store.keys.scripts(it.script())).toHaveLength(1);
    expect(scripts.activeDescriptor('bech32', false)!.record).toMatchObject({ nextIndex: 5 });
    it.reopen();
    expect(it.wallet.scripts.activeDescriptor('bech32', false)!.record).toMatchObject({ nextIndex: 5 });
  });

  test('a failed write leaves no descriptor and no key', () => {
    using it = new WalletFixture();
    const { scripts, store, vault } = it.wallet;
    const descriptors = scripts.descriptors().map(({ id }) => id);
    const open = () => ids.filter((id) => vault.provider().privateKey(id) !== null).length;
    let ids = store.keys.keys().map(({ id }) => id);
    const before = open();
    expect(() =>
      store.write(() => {
        it.wallet.generateDescriptors();
        ids = store.keys.keys().map(({ id }) => id);
        expect(open()).toBe(before + 1);
        throw FULL;
      }),
    ).toThrow(FULL);
    expect(scripts.descriptors().map(({ id }) => id)).toEqual(descriptors);
    expect(open()).toBe(before);
  });

  test('a failed write does not keep the keys unlocked for longer than requested', async () => {
    using it = new WalletFixture();
    await it.wallet.encrypt(Buffer.from('a passphrase'));
    expect(it.wallet.vault.locked).toBe(true);
    it.wallet.store.write = () => {
      throw FULL;
    };
    expect(await it.wallet.unlock(Buffer.from('a passphrase'), 1).catch((error) => error)).toBe(FULL);
    while (!it.wallet.vault.locked) await new Promise((resolve) => setImmediate(resolve));
    expect(it.wallet.unlockedUntil).toBe(0);
  });
});

test('a right passphrase that is verified too late unlocks nothing', async () => {
  using it = new WalletFixture();
  await it.wallet.encrypt(Buffer.from('a passphrase'));
  const { vault } = it.wallet;
  const opening = vault.unlock(Buffer.from('a passphrase'));
  it.ending.abort(new Error('the node stops'));
  expect(opening).rejects.toThrow('the node stops');
  await opening.catch(() => {});
  expect(vault.locked).toBe(true);
});

test('a transaction that is abandoned while others are resubmitted is not submitted', async () => {
  const handedIn: Uint8Array[] = [];
  using it = new WalletFixture();
  const [first, second] = [payment(1), payment(2)];
  const { store, ledger } = it.wallet;
  store.write(() => {
    for (const tx of [first, second]) ledger.addTransaction(tx, { in: 'nothing' });
  });
  it.deps.mempool.broadcast = async (raw) => {
    handedIn.push(raw);
    if (handedIn.length === 1) await it.wallet.abandonTransaction(second.txid);
    return { status: 'accepted' } as BroadcastResult;
  };
  await it.wallet.resubmission.submitMissing();
  expect(handedIn).toEqual([first.raw]);
});

test('the next start resumes an interrupted import', async () => {
  using it = new WalletFixture({ blank: true });
  for (let i = 0; i < 30; i++) {
    it.chain.tip = it.chain.make(it.chain.tip, []);
    const bodies = [it.chain.bodies.get(it.chain.tip)!];
    it.wallet.sync.onChainMoved({ disconnected: [], connected: [it.chain.tip], bodies, tip: it.chain.tip });
  }
  const killed = new Error('the node was killed');
  it.wallet.sync.rescan = () => Promise.reject(killed);
  const key = encodeWif({ secret: new Uint8Array(32).fill(7), compressed: true }, regtest.wif);
  const desc = addChecksum(`wpkh(${key})`);
  await importDescriptors(it.wallet, [{ timestamp: TIME_0 + 25 * 600, desc }]).then(
    () => expect.unreachable(),
    (error) => expect(error).toBe(killed),
  );
  it.reopen();
  const ranges: number[][] = [];
  it.wallet.sync.rescan = async (from, to) => void ranges.push([from, to]);
  await it.wallet.start();
  // From two hours before.
  expect(ranges).toEqual([[13, 30]]);
  it.reopen();
  it.wallet.sync.rescan = async (from, to) => void ranges.push([from, to]);
  await it.wallet.start();
  expect(ranges).toHaveLength(1);
});

test('parallel scans are all notified of all new scripts', () => {
  using it = new WalletFixture({}, 5);
  const { scripts } = it.wallet;
  const one = scripts.startRecording();
  const other = scripts.startRecording();
  it.wallet.store.write(() => scripts.fillSome());
  expect(one.length).toBeGreaterThan(0);
  expect(other).toEqual(one);
  scripts.stopRecording(one);
  const heard = one.length;
  while (it.wallet.store.write(() => scripts.fillSome()));
  expect(one).toHaveLength(heard);
  expect(other.length).toBeGreaterThan(heard);
});

test('a refused import does not discard the remains of an interrupted one', async () => {
  using it = new WalletFixture({ blank: true });
  it.wallet.scanner.markUnscanned(0);
  expect(await importDescriptors(it.wallet, [{ timestamp: TIME_0, desc: 'pk(nonsense)' }])).toMatchObject([
    { error: expect.anything() },
  ]);
  expect(it.wallet.store.meta('unscannedFrom')).toBe(0);
  it.wallet.store.write(() => it.wallet.store.setMeta('unscannedFrom', null));
  await importDescriptors(it.wallet, [{ timestamp: TIME_0, desc: 'pk(nonsense)' }]);
  expect(it.wallet.store.meta('unscannedFrom')).toBeNull();
});

test('the remains of an import are kept while another scan runs, and discarded when its own scan is aborted', async () => {
  using it = new WalletFixture({ blank: true });
  const { wallet } = it;
  wallet.sync.startAtTip();
  let end = () => {};
  wallet.sync.rescan = () => new Promise<void>((resolve) => (end = resolve));
  const other = wallet.scanner.scan(0, 0);
  wallet.scanner.markUnscanned(0);
  await expect(wallet.scanner.scanMarked()).rejects.toThrow('Wallet is currently rescanning.');
  expect(wallet.store.meta('unscannedFrom')).toBe(0);
  end();
  await other;
  wallet.sync.rescan = (_from, _to, { signal }) => abortable(new Promise(() => {}), signal);
  const marked = wallet.scanner.scanMarked();
  const ended = marked.catch((error: Error) => error.message);
  for (let turns = 0; turns < 100 && !wallet.scanner.abort(); turns++)
    await new Promise((resolve) => setImmediate(resolve));
  expect(await ended).toBe('Rescan aborted.');
  expect(wallet.store.meta('unscannedFrom')).toBeNull();
});
