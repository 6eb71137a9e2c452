import { describe, expect, spyOn, test } from 'bun:test';
import { walletCalls } from '../../src/node/calls/wallet-calls.ts';
import { regtest } from '../../src/params/regtest.ts';
import type { ParsedTransaction } from '../../src/primitives/block.ts';
import type { Txid } from '../../src/primitives/hash.ts';
import type { Outpoint } from '../../src/primitives/outpoint.ts';
import { joined } from '../../src/rpc/engine/reply-body.ts';
import { addressOf } from '../../src/script/address.ts';
import { encodeWif } from '../../src/script/wif.ts';
import { runSteps } from '../../src/util/slices.ts';
import { addChecksum } from '../../src/wallet/descriptor/checksum.ts';
import { importDescriptors } from '../../src/wallet/import-descriptors.ts';
import { decodePsbtBase64, decodePsbtBase64Steps } from '../../src/wallet/psbt/decode-psbt.ts';
import { encodePsbtBase64, encodePsbtBase64Steps } from '../../src/wallet/psbt/encode.ts';
import { createPsbt } from '../../src/wallet/psbt/psbt.ts';
import { OwnedDescriptor } from '../../src/wallet/scripts/owned-descriptor.ts';
import { ORDINARY_SPEND } from '../../src/wallet/spend/spend-request.ts';
import { Wallet } from '../../src/wallet/wallet.ts';
import type { WalletManager } from '../../src/wallet/wallet-manager.ts';
import { PlainChainReads } from './plain-chain-reads.ts';
import { parsed, WalletFixture } from './wallet-fixture.ts';

const FEE = { feerate: 1000n, overrideLimits: false, target: null, mode: 'unset' as const };
const never = new AbortController().signal;
const outside = (vout: number): Outpoint => ({ txid: new Uint8Array(32).fill(0xee) as Txid, vout });
const emptyInput = (prevout: Outpoint) => ({ prevout, scriptSig: new Uint8Array(0), sequence: 0, witness: [] });

function pay(prevouts: readonly Outpoint[], scripts: readonly Uint8Array[]): ParsedTransaction {
  const outputs = scripts.map((scriptPubKey) => ({ value: 1000n, scriptPubKey }));
  return parsed({ version: 2, locktime: 0, inputs: prevouts.map(emptyInput), outputs });
}

/** Adds an address index to the fixture's chain. */
function withReads(it: WalletFixture): WalletFixture {
  const index = new PlainChainReads(it.chain);
  it.deps.chain.reads = () => index.reads;
  return it;
}

/** Returns the number of times that the steps yield. */
function countSteps<T>(steps: Generator<void, T, void>): { readonly steps: number; readonly result: T } {
  let count = 0;
  const result = runSteps(steps, () => count++);
  return { steps: count, result };
}

/** Imports so many private keys, a descriptor each. */
async function importKeys(it: WalletFixture, from: number, count: number) {
  const requests = Array.from({ length: count }, (_, i) => {
    const secret = new Uint8Array(32).fill(1);
    new DataView(secret.buffer).setUint32(0, from + i);
    return {
      timestamp: 'now' as const,
      desc: addChecksum(`wpkh(${encodeWif({ secret, compressed: true }, regtest.wif)})`),
    };
  });
  const outcomes = await importDescriptors(it.wallet, requests);
  expect(outcomes.filter(({ error }) => error !== null)).toEqual([]);
}

describe('loading a wallet', () => {
  test('a wallet is loaded in steps, and a cancelled load closes its file', async () => {
    using it = new WalletFixture({}, 130);
    while (it.wallet.scripts.fillSome());
    const own = it.script();
    const paid = Array.from({ length: 30 }, (_, i) => pay([outside(i)], [own]));
    for (const tx of paid) it.wallet.sync.mempoolAdded(tx);
    const before = it.wallet.scripts.descriptors().map(({ record }) => record);
    it.wallet.close();

    const given = Wallet.openSteps(it.path, 'w', it.deps);
    for (let i = 0; i < 5; i++) expect(given.next().done).toBe(false);
    given.return(undefined as never);
    // A transaction of the mempool each, 8 descriptors, and pages of 1,000 of some 1,000 scripts.
    const { steps, result } = countSteps(Wallet.openSteps(it.path, 'w', it.deps));
    it.wallet = result;
    expect(steps).toBeGreaterThanOrEqual(before.length + 2 + 30);
    expect(it.wallet.scripts.descriptors().map(({ record }) => record)).toEqual(before);
    expect(paid.map(({ txid }) => it.wallet.store.txs.byTxid(txid)!.state)).toEqual(paid.map(() => 0));
    // Whatever was left out in steps that were given up, it notices what touches its transactions.
    it.wallet.sync.mempoolAdded(pay([{ txid: paid[29]!.txid, vout: 0 }], [Uint8Array.of(0x51)]));
    expect(it.wallet.isSpent({ txid: paid[29]!.txid, vout: 0 })).toBe(true);
  });

  test('a loaded wallet drops mempool transactions one by one, and resumes after an interruption', () => {
    using it = new WalletFixture();
    const own = it.script();
    const first = pay([outside(1)], [own]);
    const spenders = [first, pay([{ txid: first.txid, vout: 0 }], [own]), pay([outside(2)], [own])];
    for (const tx of spenders) it.wallet.sync.mempoolAdded(tx);
    const { txs } = it.wallet.store;
    const states = () => spenders.map(({ txid }) => txs.byTxid(txid)!.state);
    expect(states()).toEqual([1, 1, 1]);
    const cut = it.wallet.ledger.forgetMempool();
    cut.next();
    cut.return();
    expect(states().filter((state) => state === 1)).toHaveLength(2);
    expect(countSteps(it.wallet.ledger.forgetMempool()).steps).toBe(2);
    expect(states()).toEqual([0, 0, 0]);
    expect(txs.coin({ txid: first.txid, vout: 0 })!.spent).toBe(3);
  });
});

describe('private keys of an unlocked wallet', () => {
  const PASSPHRASE = () => Buffer.from('a passphrase');

  test('private keys are decrypted on request or a page at a time', async () => {
    using it = withReads(new WalletFixture({ blank: true }));
    await importKeys(it, 1, 100);
    const { vault, store } = it.wallet;
    const ids = store.keys.keys().map(({ id }) => id);
    vault.lock();
    const read = spyOn(store.keys, 'key');
    expect(vault.provider().privateKey(ids[7]!)!.id).toEqual(ids[7]!);
    expect(read.mock.calls.length).toBe(1);
    expect(countSteps(vault.openKeys()).steps).toBeGreaterThanOrEqual(3);
    expect(read.mock.calls.length).toBe(100);
    read.mockRestore();
  });

  test('a provider from before walletlock cannot open private keys', async () => {
    using it = withReads(new WalletFixture({ blank: true }));
    await importKeys(it, 1, 100);
    await it.wallet.encrypt(PASSPHRASE());
    const { vault, store } = it.wallet;
    const ids = store.keys.keys().map(({ id }) => id);
    expect(await vault.unlock(PASSPHRASE())).toBe(true);
    const before = vault.provider();
    const [known, opening] = [before.privateKey(ids[0]!)!, vault.openKeys()];
    opening.next();
    vault.lock();
    expect(opening.next().done).toBe(true);
    expect(known.reveal()).toEqual(new Uint8Array(32));
    expect(() => vault.provider()).toThrow(/passphrase/);
    expect(await it.wallet.unlock(PASSPHRASE(), 60)).toBe(true);
    expect(it.wallet.integrity.state).toBe('sound');
    for (const id of ids) {
      expect(vault.provider().privateKey(id)).not.toBeNull();
      expect(before.privateKey(id)).toBeNull();
    }
  });

  test('the keys of a failed import are removed, and nothing else is read again', async () => {
    using it = withReads(new WalletFixture());
    await importKeys(it, 1, 20);
    const { scripts, store, vault } = it.wallet;
    const load = spyOn(OwnedDescriptor, 'load');
    const [kept] = store.keys.keys();
    try {
      let added: ReturnType<typeof store.keys.keys> = [];
      const failing = () =>
        store.write(() => {
          it.wallet.generateDescriptors();
          added = store.keys.keys();
          throw new Error('database or disk is full');
        });
      expect(failing).toThrow('disk is full');
      // The eight new descriptors that were written, and the eight active ones that they replaced.
      expect(load.mock.calls.length).toBeLessThanOrEqual(16);
      const stored = new Set(store.keys.keys().map(({ id }) => id.toHex()));
      const gone = added.filter(({ id }) => !stored.has(id.toHex()));
      expect(gone).toHaveLength(1);
      expect(vault.provider().privateKey(gone[0]!.id)).toBeNull();
      expect(vault.provider().privateKey(kept!.id)).not.toBeNull();
      expect(scripts.descriptors()).toHaveLength(28);
    } finally {
      load.mockRestore();
    }
  });
});

test('a script that a transaction pays thousands of times is looked up only a few times', () => {
  using it = new WalletFixture();
  const own = it.script();
  const { scripts, store } = it.wallet;
  const lookups = spyOn(store.keys, 'scripts');
  const paid = pay(
    [outside(1)],
    Array.from({ length: 3000 }, () => own),
  );
  it.wallet.sync.mempoolAdded(paid);
  expect(lookups.mock.calls.length).toBeLessThan(10);
  lookups.mockRestore();
  expect(store.txs.coinsOf(store.txs.byTxid(paid.txid)!.id)).toHaveLength(3000);
  expect(scripts.scriptRecords(own)).toHaveLength(1);
});

test('a replacement is compared once with the transaction it replaces, whatever inputs they share', () => {
  using it = new WalletFixture();
  const inputs = Array.from({ length: 100 }, (_, i) => outside(i));
  const own = it.script();
  const { store, ledger } = it.wallet;
  store.write(() => ledger.addTransaction(pay(inputs, [own]), { in: 'nothing' }));
  const reads = spyOn(store.txs, 'raw');
  store.write(() => ledger.addTransaction(pay(inputs, [own, own]), { in: 'nothing' }));
  expect(reads.mock.calls.length).toBe(1);
  reads.mockRestore();
});

test('PSBTs are decoded and encoded one input or output per step', () => {
  const inputs = Array.from({ length: 200 }, (_, i) => emptyInput(outside(i)));
  const outputs = Array.from({ length: 50 }, () => ({ value: 1n, scriptPubKey: Uint8Array.of(0x51) }));
  const psbt = createPsbt({ version: 2, locktime: 0, inputs, outputs }, 2);
  const encoded = countSteps(encodePsbtBase64Steps(psbt));
  const text = joined(encoded.result.pieces);
  expect(text).toBe(encodePsbtBase64(psbt));
  expect(encoded.steps).toBeGreaterThanOrEqual(250);
  const decoded = countSteps(decodePsbtBase64Steps(text));
  expect(decoded.result).toEqual(decodePsbtBase64(text));
  expect(decoded.steps).toBeGreaterThanOrEqual(250);
});

describe('long PSBTs', () => {
  const output = { value: 1n, scriptPubKey: new Uint8Array(10_000).fill(0x51) };
  const psbtOf = (outputs: number, more: number) =>
    createPsbt(
      {
        version: 2,
        locktime: 0,
        inputs: [emptyInput(outside(0))],
        outputs: [
          ...Array.from({ length: outputs }, () => output),
          { value: 1n, scriptPubKey: new Uint8Array(more).fill(0x52) },
        ],
      },
      2,
    );

  // The lengths of the text modulo four, and of its pieces modulo three, all occur.
  test.each([0, 1, 2, 3, 4, 5])(
    'a long PSBT is encoded in pieces that join to the same text, with %p bytes more',
    (more) => {
      const psbt = psbtOf(350, more);
      const encoded = runSteps(encodePsbtBase64Steps(psbt));
      expect(encoded.pieces.length).toBe(4);
      const text = joined(encoded.pieces);
      expect(Bun.hash(text)).toBe(Bun.hash(encodePsbtBase64(psbt)));
      expect(encodePsbtBase64(decodePsbtBase64(text)) === text).toBe(true);
    },
  );

  test('a long PSBT is decoded in steps of a megabyte, and rejected unless all of it is canonical Base64', () => {
    const text = encodePsbtBase64(psbtOf(350, 0));
    const { steps } = countSteps(decodePsbtBase64Steps(text));
    expect(steps).toBeGreaterThanOrEqual(350 + Math.floor(text.length / 2 ** 20));
    const STEP = 2 ** 20;
    const replaced = (at: number, by: string) => text.slice(0, at) + by + text.slice(at + by.length);
    for (const wrong of [
      replaced(100, ' '),
      replaced(STEP - 2, '=='),
      replaced(STEP - 1, '='),
      replaced(STEP, '\n'),
      replaced(2 * STEP + 5, '-'),
      text.slice(0, STEP - 1),
      text.slice(0, STEP + 1),
      `${text}A`,
      `${text} `,
      `${text}====`,
    ])
      expect(() => decodePsbtBase64(wrong)).toThrow('invalid base64');
  });
});

describe('stored texts', () => {
  const LONG = 'é'.repeat(1001);

  test('texts that a wallet stores have at most 1,000 characters', async () => {
    using it = new WalletFixture();
    const act = walletCalls({ wallet: () => it.wallet } as unknown as WalletManager, it.deps.signer);
    const address = addressOf(it.script(), regtest.address)!;
    const refused = (name: string) => ({
      refused: 'invalidParameter',
      message: `Invalid parameter, ${name} has 1001 characters; at most 1000 are allowed`,
    });
    expect(await act.walletNewAddress('w', 'bech32', LONG, never)).toEqual(refused('label') as never);
    expect(await act.walletSetLabel('w', address, LONG, never)).toEqual(refused('label') as never);
    expect(await act.walletSetLabel('w', address, LONG.slice(1), never)).toBeNull();
    const recipients = [{ scriptPubKey: Uint8Array.of(0x51), value: 1000n, subtractFee: false }];
    const request = { ...ORDINARY_SPEND, recipients, fee: FEE };
    const notes = { comment: '', commentTo: '', requestId: null };
    for (const [name, given] of [
      ['comment', { ...notes, comment: LONG }],
      ['comment_to', { ...notes, commentTo: LONG }],
      ['request_id', { ...notes, requestId: LONG }],
    ] as const)
      expect(await act.walletSendMoney('w', request, given, never)).toEqual(refused(name) as never);
  });

  test('an import with a longer label is refused, and the others succeed', async () => {
    using it = withReads(new WalletFixture({ blank: true, disablePrivateKeys: true }));
    const desc = addChecksum('wpkh(0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798)');
    const [long, short] = await importDescriptors(it.wallet, [
      { timestamp: 'now', desc, label: LONG },
      { timestamp: 'now', desc, label: 'short' },
    ]);
    expect(long!.error?.message).toContain('label has 1001 characters');
    expect(short!.error).toBeNull();
  });
});
