import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { newMusigNonce } from '../../src/crypto/musig-nonce.ts';
import { HashFilter } from '../../src/wallet/ledger/hash-filter.ts';
import { newMasterKey, openMasterKey, openSecret, sealMasterKey, sealSecret } from '../../src/wallet/vault/sealing.ts';
import { WalletError } from '../../src/wallet/wallet-error.ts';
import { WalletFixture } from './wallet-fixture.ts';

const bytes = (text: string) => new TextEncoder().encode(text);

describe('sealing', () => {
  test('only the same key and context open what was sealed, and only unchanged', () => {
    const key = newMasterKey();
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 200 }),
        fc.uint8Array({ maxLength: 40 }),
        fc.nat(),
        (plain, context, at) => {
          const sealed = sealSecret(key, context, plain);
          expect(sealed).toHaveLength(plain.length + 28);
          expect(openSecret(key, context, sealed)).toEqual(plain);
          const damaged = sealed.slice();
          damaged[at % sealed.length]! ^= 1;
          const nonceBit = at % sealed.length === 10 || at % sealed.length === 11;
          // Three bits short of two bytes of the nonce are not used.
          if (!nonceBit) expect(openSecret(key, context, damaged)).toBeNull();
          expect(openSecret(newMasterKey(), context, sealed)).toBeNull();
          expect(openSecret(key, bytes(`${context.join()}x`), sealed)).toBeNull();
        },
      ),
      { numRuns: 100 },
    );
    expect(openSecret(key, bytes(''), new Uint8Array(5))).toBeNull();
  });

  test('the same text is sealed in another way each time', () => {
    const key = newMasterKey();
    const all = Array.from({ length: 50 }, () => sealSecret(key, bytes(''), bytes('secret')).toHex());
    expect(new Set(all).size).toBe(50);
  });

  test('a passphrase opens the master key, another one does not', async () => {
    const key = newMasterKey();
    const cheap = { cost: { cost: 1024, blockSize: 8, parallel: 1 }, caller: '' };
    const sealed = await sealMasterKey(key, Buffer.from('pässword 🔑'), { ...cheap, integrity: false });
    expect(JSON.stringify(sealed)).not.toContain('pässword');
    expect(await openMasterKey(sealed, Buffer.from('pässword 🔑'), '')).toEqual(key);
    expect(await openMasterKey(sealed, Buffer.from('password'), '')).toBeNull();
    // The flag that rows have a MAC can be neither removed nor added.
    expect(await openMasterKey({ ...sealed, integrity: true }, Buffer.from('pässword 🔑'), '')).toBeNull();
    const protectedKey = await sealMasterKey(key, Buffer.from('pässword 🔑'), { ...cheap, integrity: true });
    expect(await openMasterKey(protectedKey, Buffer.from('pässword 🔑'), '')).toEqual(key);
    const { integrity: _, ...without } = protectedKey;
    expect(await openMasterKey(without, Buffer.from('pässword 🔑'), '')).toBeNull();
    expect([sealed.kdf, sealed.cost, sealed.blockSize, sealed.parallel]).toEqual(['scrypt', 1024, 8, 1]);
  });
});

const NONCE_USE = { secret: null, aggregateKey: null, message: null, extra: null };

describe('the vault of a wallet', () => {
  test('keeps its keys sealed, and shows none that is locked', async () => {
    using it = new WalletFixture();
    const { wallet } = it;
    const before = wallet.store.keys.keys();
    const plain = before.map(({ data }) => data.toHex());
    expect(wallet.vault.encrypted).toBe(false);
    await wallet.encrypt(Buffer.from('one'));
    expect([wallet.vault.encrypted, wallet.vault.locked, wallet.unlockedUntil]).toEqual([true, true, 0]);
    expect(() => wallet.vault.provider()).toThrow(WalletError);
    const file = readFileSync(it.path).toHex();
    for (const secret of plain) expect(file).not.toContain(secret);
    expect(await wallet.unlock(Buffer.from('two'), 10)).toBe(false);
    expect(await wallet.unlock(Buffer.from('one'), 10)).toBe(true);
    expect(wallet.unlockedUntil).toBe(it.clock.nowMs() / 1000 + 10);
    const key = wallet.vault.provider().privateKey(before[0]!.id)!;
    expect(key.reveal().toHex()).toBe(plain[0]!);
    const { musigNonces } = wallet.vault;
    const { secretNonce } = newMusigNonce({ ...NONCE_USE, publicKey: key.publicKey });
    musigNonces.add('session', secretNonce);
    // That it stays open for longer ends no session.
    expect(await wallet.unlock(Buffer.from('one'), 20)).toBe(true);
    expect(musigNonces.size).toBe(1);
    const sameKey = wallet.vault.provider().privateKey(before[0]!.id)!;
    // A reference from before the lock has no key.
    wallet.lock();
    expect(musigNonces.size).toBe(0);
    expect(() => secretNonce.use(sameKey.publicKey, () => null)).toThrow('used once');
    expect(sameKey.reveal().every((byte) => byte === 0)).toBe(true);
    expect(key.reveal().every((byte) => byte === 0)).toBe(true);
    expect(Bun.inspect(wallet.vault)).not.toContain(plain[0]!);
    await it.reopen();
    expect(it.wallet.vault.locked).toBe(true);
    expect(await it.wallet.vault.changePassphrase(Buffer.from('one'), Buffer.from('two'))).toBe(true);
    expect(await it.wallet.unlock(Buffer.from('two'), 10)).toBe(true);
  }, 180_000);

  test('with a passphrase of an earlier cost opens, and a new passphrase has the cost of today', async () => {
    using it = new WalletFixture();
    const { vault, store } = it.wallet;
    await vault.encrypt(bytes('one'));
    const encryption = store.meta('encryption')!;
    const masterKey = (await openMasterKey(encryption, bytes('one'), ''))!;
    const cost = { cost: 2048, blockSize: 8, parallel: 1 };
    store.write(() => store.setMeta('encryption', { ...encryption, ...cost }));
    expect(await vault.unlock(bytes('one'))).toBe(false);
    const earlier = await sealMasterKey(masterKey, bytes('one'), { cost, caller: '', integrity: true });
    store.write(() => store.setMeta('encryption', { ...encryption, ...earlier }));
    expect(await vault.unlock(bytes('one'))).toBe(true);
    expect(await vault.changePassphrase(bytes('one'), bytes('two'))).toBe(true);
    expect(store.meta('encryption')).toMatchObject({ cost: 16_384, blockSize: 8, parallel: 1 });
    expect(await vault.unlock(bytes('two'))).toBe(true);
  });

  test('is refused where its file asks for more memory than a passphrase may cost', async () => {
    using it = new WalletFixture();
    const { vault, store } = it.wallet;
    await vault.encrypt(bytes('one'));
    store.write(() => store.setMeta('encryption', { ...store.meta('encryption')!, cost: 2 ** 24 }));
    await expect(vault.unlock(bytes('one'))).rejects.toThrow('asks for 16384 MiB of memory');
    await expect(vault.changePassphrase(bytes('one'), bytes('two'))).rejects.toThrow('asks for 16384 MiB of memory');
  });

  test('of two callers who change its passphrase at once, one is late', async () => {
    using it = new WalletFixture();
    const { vault } = it.wallet;
    await vault.encrypt(bytes('one'));
    const changes = ['two', 'three'].map((next) => vault.changePassphrase(bytes('one'), bytes(next), next));
    expect((await Promise.all(changes)).sort()).toEqual([false, true]);
  });

  test('addresses go on where they were, whether it is locked or not', async () => {
    using it = new WalletFixture();
    const first = it.wallet.newAddress('bech32', '');
    await it.wallet.encrypt(Buffer.from('one'));
    const second = it.wallet.newAddress('bech32', '');
    expect(second).not.toBe(first);
    await it.reopen();
    const third = it.wallet.newAddress('bech32', '');
    expect(new Set([first, second, third]).size).toBe(3);
  }, 180_000);
});

test('the filter forgets nothing, and hardly ever takes one thing for another', () => {
  const filter = new HashFilter();
  const key = (n: number) => bytes(`script ${n}`);
  for (let i = 0; i < 20_000; i++) filter.add(key(i));
  for (let i = 0; i < 20_000; i++) expect(filter.has(key(i))).toBe(true);
  let wrong = 0;
  for (let i = 20_000; i < 120_000; i++) if (filter.has(key(i))) wrong++;
  expect(wrong).toBeLessThan(10);
});

test('a passphrase is changed although the wallet seals its master key again meanwhile', async () => {
  using it = new WalletFixture();
  const { wallet } = it;
  await wallet.encrypt(bytes('first'));
  const { store, vault } = wallet;
  const before = store.meta('encryption')!;
  const masterKey = (await openMasterKey(before, bytes('first'), ''))!;
  const sealing = { cost: before, caller: '', integrity: vault.hasIntegrity };
  const again = await sealMasterKey(masterKey, bytes('first'), sealing);
  const changing = vault.changePassphrase(bytes('first'), bytes('second'));
  // By now it computes the key of the passphrase.
  await new Promise(setImmediate);
  store.write(() => store.setMeta('encryption', again));
  expect(await changing).toBe(true);
  expect(await wallet.unlock(bytes('first'), 10)).toBe(false);
  expect(await wallet.unlock(bytes('second'), 10)).toBe(true);
});
