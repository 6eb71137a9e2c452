import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { cpSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { newMusigNonce } from '../../src/crypto/musig-nonce.ts';
import { PrivateKey } from '../../src/wallet/keys/private-key.ts';
import { HashFilter } from '../../src/wallet/ledger/hash-filter.ts';
import { openWalletReader } from '../../src/wallet/store/wallet-database.ts';
import { newMasterKey, openMasterKey, openSecret, sealMasterKey, sealSecret } from '../../src/wallet/vault/sealing.ts';
import { Wallet } from '../../src/wallet/wallet.ts';
import { WalletError } from '../../src/wallet/wallet-error.ts';
import { WalletFixture } from './wallet-fixture.ts';

const bytes = (text: string) => new TextEncoder().encode(text);

describe('sealing', () => {
  test('sealed data opens only unchanged, with the same key and context', () => {
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

  test('sealing the same text twice gives different bytes', () => {
    const key = newMasterKey();
    const all = Array.from({ length: 50 }, () => sealSecret(key, bytes(''), bytes('secret')).toHex());
    expect(new Set(all).size).toBe(50);
  });

  test('a passphrase with further zero bytes is a wrong one, but for wallets of earlier versions', async () => {
    const key = newMasterKey();
    const cost = { cost: 1024, blockSize: 8, parallel: 1 };
    const padded = Buffer.from('secret\0\0');
    const sealed = await sealMasterKey(key, Buffer.from('secret'), {
      cost: { ...cost, hashed: true },
      caller: '',
      integrity: true,
    });
    expect(await openMasterKey(sealed, Buffer.from('secret'), '')).toEqual(key);
    expect(await openMasterKey(sealed, padded, '')).toBeNull();
    expect([sealed.kdf, sealed.hashed]).toEqual(['sha256-scrypt', undefined]);
    // Some wallets have a member in place of the name.
    const between = { ...sealed, kdf: 'scrypt', hashed: true } as const;
    expect(await openMasterKey(between, Buffer.from('secret'), '')).toEqual(key);
    expect(await openMasterKey(between, padded, '')).toBeNull();
    // PBKDF2 pads short keys, which is why they are hashed now.
    const earlier = await sealMasterKey(key, Buffer.from('secret'), { cost, caller: '', integrity: true });
    expect(earlier).not.toHaveProperty('hashed');
    expect(await openMasterKey(earlier, padded, '')).toEqual(key);
  });

  test('a function of a later version is named, and no passphrase is called wrong', async () => {
    const sealing = { cost: { cost: 1024, blockSize: 8, parallel: 1 }, caller: '', integrity: true };
    const sealed = await sealMasterKey(newMasterKey(), Buffer.from('secret'), sealing);
    const later = { ...sealed, kdf: 'argon2id' as 'scrypt' };
    await expect(openMasterKey(later, Buffer.from('secret'), '')).rejects.toThrow('"argon2id", which this version');
  });

  test('only the right passphrase opens the master key', async () => {
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

/** Random private keys. */
const manyKeys = (count: number) => Array.from({ length: count }, () => crypto.getRandomValues(new Uint8Array(32)));

function keyOf(secret: Uint8Array) {
  const key = PrivateKey.fromOwnedSecret(secret.slice(), true);
  return { id: key.id, compressed: true, data: secret };
}

/** All pieces of eight bytes of some keys. */
function pieces(secrets: readonly Uint8Array[]): Set<bigint> {
  return new Set(secrets.flatMap((secret) => [...eachPiece(secret)]));
}

function* eachPiece(bytes: Uint8Array): Generator<bigint> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 0; at + 8 <= bytes.length; at++) yield view.getBigUint64(at);
}

/** The number of pieces of keys in a wallet's file and its WAL. */
function countPieces(path: string, known: ReadonlySet<bigint>): number {
  let count = 0;
  for (const file of [path, `${path}-wal`])
    if (existsSync(file)) for (const piece of eachPiece(readFileSync(file))) if (known.has(piece)) count++;
  return count;
}

const NONCE_USE = { secret: null, aggregateKey: null, message: null, extra: null };

describe('the vault of a wallet', () => {
  test('a locked vault shows no keys, which are sealed', async () => {
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

  test('an encrypted file has no remains of unencrypted keys, even in rows that SQLite has moved', async () => {
    using it = new WalletFixture();
    const { wallet } = it;
    const secrets = manyKeys(1500);
    // In random order and with removals, so that pages are split, merged and freed.
    for (let from = 0; from < secrets.length; from += 100)
      wallet.store.write(() => {
        for (const data of secrets.slice(from, from + 100)) wallet.store.keys.storeKey(keyOf(data));
      });
    const db = new Database(it.path);
    db.run("PRAGMA secure_delete = ON; DELETE FROM keys WHERE hex(id) > 'C8'");
    db.close();
    wallet.store.truncateWal();
    const known = pieces(secrets);
    expect(countPieces(it.path, known)).toBeGreaterThan(1000);
    const kept = wallet.store.keys.keys();
    await wallet.encrypt(Buffer.from('one'));
    expect(countPieces(it.path, known)).toBe(0);
    await it.reopen();
    expect(await it.wallet.unlock(Buffer.from('one'), 10)).toBe(true);
    for (const { id, data } of kept)
      expect(it.wallet.vault.provider().privateKey(id)!.reveal().toHex()).toBe(data.toHex());
  }, 60_000);

  test('encryption waits for a reader of the file before it overwrites unencrypted keys, and does not block other work', async () => {
    using it = new WalletFixture();
    const { wallet } = it;
    const known = pieces(wallet.store.keys.keys().map(({ data }) => data));
    const reader = openWalletReader(it.path);
    reader.run('BEGIN');
    reader.query('SELECT count(*) FROM keys').get();
    let attempts = 0;
    const { store } = wallet;
    const truncate = store.truncateWal.bind(store);
    const twice = Promise.withResolvers<void>();
    store.truncateWal = () => {
      if (++attempts === 2) twice.resolve();
      return truncate();
    };
    const encrypted = wallet.encrypt(Buffer.from('one'));
    await twice.promise;
    expect(countPieces(it.path, known)).toBeGreaterThan(0);
    reader.close();
    await encrypted;
    expect(countPieces(it.path, known)).toBe(0);
  }, 60_000);

  test('a restart overwrites the unencrypted keys if encryption crashed after they were sealed', async () => {
    using it = new WalletFixture();
    const { wallet } = it;
    const known = pieces(wallet.store.keys.keys().map(({ data }) => data));
    const { store } = wallet;
    const truncate = store.truncateWal.bind(store);
    const crashed = join(it.dir, 'crashed.db');
    store.truncateWal = () => {
      for (const suffix of ['', '-wal']) cpSync(`${it.path}${suffix}`, `${crashed}${suffix}`);
      return truncate();
    };
    await wallet.encrypt(Buffer.from('one'));
    expect(countPieces(crashed, known)).toBeGreaterThan(0);
    const again = Wallet.open(crashed, 'w', it.deps);
    expect(again.vault.locked).toBe(true);
    expect(countPieces(crashed, known)).toBe(0);
    again.close();
  }, 60_000);

  test('a vault with a passphrase of an earlier cost opens, and a new passphrase has the current cost', async () => {
    using it = new WalletFixture();
    const { vault, store } = it.wallet;
    await vault.encrypt(bytes('one'));
    const encryption = store.meta('encryption')!;
    const masterKey = (await openMasterKey(encryption, bytes('one'), ''))!;
    const cost = { cost: 2048, blockSize: 8, parallel: 1 };
    store.write(() => store.setMeta('encryption', { ...encryption, ...cost }));
    expect(await vault.unlock(bytes('one'))).toBe(false);
    const earlier = await sealMasterKey(masterKey, bytes('one'), { cost, caller: '', integrity: true });
    store.write(() => store.setMeta('encryption', earlier));
    expect(await vault.unlock(bytes('one'))).toBe(true);
    expect(await vault.changePassphrase(bytes('one'), bytes('two'))).toBe(true);
    expect(store.meta('encryption')).toMatchObject({ cost: 16_384, blockSize: 8, parallel: 1 });
    expect(await vault.unlock(bytes('two'))).toBe(true);
  });

  test('a vault whose file requires excessive memory for a passphrase is rejected', async () => {
    using it = new WalletFixture();
    const { vault, store } = it.wallet;
    await vault.encrypt(bytes('one'));
    store.write(() => store.setMeta('encryption', { ...store.meta('encryption')!, cost: 2 ** 24 }));
    await expect(vault.unlock(bytes('one'))).rejects.toThrow('asks for 16384 MiB of memory');
    await expect(vault.changePassphrase(bytes('one'), bytes('two'))).rejects.toThrow('asks for 16384 MiB of memory');
  });

  test('only one of two simultaneous changes of the passphrase succeeds', async () => {
    using it = new WalletFixture();
    const { vault } = it.wallet;
    await vault.encrypt(bytes('one'));
    const changes = ['two', 'three'].map((next) => vault.changePassphrase(bytes('one'), bytes(next), next));
    expect((await Promise.all(changes)).sort()).toEqual([false, true]);
  });

  test('addresses continue in order, whether the wallet is locked or not', async () => {
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

test('the hash filter has no false negatives and almost no false positives', () => {
  const filter = new HashFilter();
  const key = (n: number) => bytes(`script ${n}`);
  for (let i = 0; i < 20_000; i++) filter.add(key(i));
  for (let i = 0; i < 20_000; i++) expect(filter.has(key(i))).toBe(true);
  let wrong = 0;
  for (let i = 20_000; i < 120_000; i++) if (filter.has(key(i))) wrong++;
  expect(wrong).toBeLessThan(10);
});

test('a passphrase change succeeds although the wallet seals its master key meanwhile', async () => {
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

test('earlier programs refuse a wallet whose passphrase is hashed, and one that was sealed in between opens', async () => {
  using it = new WalletFixture();
  const { wallet } = it;
  const { store } = wallet;
  const schema = () => {
    using db = new Database(it.path, { readonly: true });
    return db.query<{ value: unknown }, []>("SELECT value FROM meta WHERE key = 'schema'").get()!.value;
  };
  const EARLIER_READS_UP_TO = 2;
  expect(Number(schema())).toBe(1);
  await wallet.encrypt(bytes('first'));
  expect(Number(schema())).toBe(EARLIER_READS_UP_TO + 1);
  // As a program between both versions has left it.
  const { kdf: _, ...rest } = store.meta('encryption')!;
  const write = new Database(it.path);
  store.write(() => store.setMeta('encryption', { ...rest, kdf: 'scrypt', hashed: true }));
  write.run("UPDATE meta SET value = 2 WHERE key = 'schema'");
  write.close();
  expect(await wallet.unlock(bytes('first'), 10)).toBe(true);
  expect(Number(schema())).toBe(EARLIER_READS_UP_TO);
  expect(await wallet.vault.changePassphrase(bytes('first'), bytes('second'))).toBe(true);
  expect(Number(schema())).toBe(EARLIER_READS_UP_TO + 1);
  expect(store.meta('encryption')!.kdf).toBe('sha256-scrypt');
  wallet.lock();
  expect(await wallet.unlock(bytes('second'), 10)).toBe(true);
});
