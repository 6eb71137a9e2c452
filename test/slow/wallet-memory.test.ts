import { Database } from 'bun:sqlite';
import { afterEach, describe, expect, test } from 'bun:test';
import { chmodSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { HDKey } from '@scure/bip32';
import { encodeWif } from '../../src/script/wif.ts';
import type { SealedMasterKey } from '../../src/wallet/store/wallet-meta.ts';
import { openMasterKey, openSecret } from '../../src/wallet/vault/sealing.ts';
import { scanMemory } from '../lib/memory-scan.ts';
import { cleanUpAfterTests, type NodeProcess, startNode, tempDir } from '../lib/node-process.ts';

cleanUpAfterTests();

const REGTEST = { private: 0x04358394, public: 0x043587cf };
const REGTEST_WIF = 0xef;
const HARDENED = 0x8000_0000;

let node: NodeProcess;
afterEach(async () => {
  await node?.stop();
});

async function call<T>(method: string, params: unknown = [], wallet = 'hot'): Promise<T> {
  const { body } = await node.api.request<{ result: T; error?: unknown }>(`/wallet/${wallet}`, {
    method: 'POST',
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  if (body.error) throw new Error(`${method}: ${JSON.stringify(body.error)}`);
  return body.result;
}

/** All that the keys of a wallet are for: each use leaves its own traces. */
async function useKeys(): Promise<void> {
  const address = await call<string>('getnewaddress', ['', 'bech32']);
  const taproot = await call<string>('getnewaddress', ['', 'bech32m']);
  const legacy = await call<string>('getnewaddress', ['', 'legacy']);
  await call('generatetoaddress', [1, address]);
  await call('generatetoaddress', [1, taproot]);
  await call('generatetoaddress', [100, await call('getnewaddress')]);
  await call('sendtoaddress', [legacy, 1]);
  await call('sendall', [[await call('getnewaddress', ['', 'bech32m'])]]);
  await call('signmessage', [legacy, 'a message']);
  const { psbt } = await call<{ psbt: string }>('walletcreatefundedpsbt', [[], [{ [address]: 2 }]]);
  const signed = await call<{ complete: boolean }>('walletprocesspsbt', [psbt]);
  expect(signed.complete).toBe(true);
  await call('derivehdkey', ['m/84h/1h/0h']);
}

/**
 * Returns the secrets that a thief looks for in memory: the key of the vault, and each private key in every form it is
 * written in.
 */
async function secretsOf(passphrase: string, earlier: readonly string[] = []): Promise<Map<string, Uint8Array>> {
  const secrets = new Map<string, Uint8Array>();
  const db = new Database(join(node.networkDir, 'wallets/hot.db'), { readonly: true });
  try {
    const encryption = db.query<{ value: string }, []>("SELECT value FROM meta WHERE key = 'encryption'").get()!;
    const vaultKey = (await openMasterKey(
      JSON.parse(encryption.value) as SealedMasterKey,
      Buffer.from(passphrase),
      '',
    ))!;
    addForms(secrets, 'vault', vaultKey);
    const chainCodes = chainCodesOf(db);
    const keys = db.query<{ id: Uint8Array; data: Uint8Array }, []>('SELECT id, data FROM keys').all();
    for (const { id, data } of keys) {
      const secret = openSecret(vaultKey, id, data)!;
      const master = new HDKey({
        privateKey: secret,
        chainCode: chainCodes.get(hex(id))!,
        versions: REGTEST,
      });
      for (const path of pathsInUse())
        addKey(
          secrets,
          [earlier.includes(hex(id)) ? 'an earlier key' : 'a key', ...path].join('/'),
          derived(master, path),
        );
    }
  } finally {
    db.close();
  }
  return secrets;
}

/** By the HASH160 of the extended key in a descriptor. */
function chainCodesOf(db: Database): Map<string, Uint8Array> {
  const codes = new Map<string, Uint8Array>();
  for (const { text } of db.query<{ text: string }, []>('SELECT text FROM descriptors').all()) {
    const key = HDKey.fromExtendedKey(/tpub\w+/.exec(text)![0], REGTEST);
    codes.set(hex(key.pubKeyHash!), key.chainCode!);
  }
  return codes;
}

function* pathsInUse(): Generator<number[]> {
  yield [];
  for (const purpose of [44, 49, 84, 86]) {
    const account = [purpose, 1, 0].map((step) => step + HARDENED);
    for (let depth = 1; depth <= 3; depth++) yield account.slice(0, depth);
    for (const side of [0, 1]) {
      yield [...account, side];
      for (let index = 0; index < 4; index++) yield [...account, side, index];
    }
  }
}

function derived(master: HDKey, path: readonly number[]): HDKey {
  return path.reduce((key, child) => key.deriveChild(child), master);
}

function addKey(secrets: Map<string, Uint8Array>, name: string, key: HDKey): void {
  addForms(secrets, name, key.privateKey!);
  secrets.set(`${name} WIF`, Buffer.from(encodeWif({ secret: key.privateKey!, compressed: true }, REGTEST_WIF)));
  secrets.set(`${name} extended`, Buffer.from(key.privateExtendedKey));
}

function addForms(secrets: Map<string, Uint8Array>, name: string, bytes: Uint8Array): void {
  secrets.set(`${name} raw`, bytes);
  secrets.set(`${name} as a number`, Uint8Array.from(bytes).reverse());
  secrets.set(`${name} hex`, Buffer.from(hex(bytes)));
  secrets.set(`${name} HEX`, Buffer.from(hex(bytes).toUpperCase()));
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

/** HASH160s of the public keys whose private keys the wallet stores. */
function keyIds(): string[] {
  const db = new Database(join(node.networkDir, 'wallets/hot.db'), { readonly: true });
  try {
    return db
      .query<{ id: Uint8Array }, []>('SELECT id FROM keys')
      .all()
      .map(({ id }) => hex(id));
  } finally {
    db.close();
  }
}

function found(needles: ReadonlyMap<string, Uint8Array>): Record<string, number> {
  const { counts, bytes } = scanMemory(node.pid, needles);
  expect(bytes).toBeGreaterThan(20_000_000);
  return Object.fromEntries([...counts].filter(([, count]) => count > 0));
}

function textForms(name: string, text: string): [string, Uint8Array][] {
  return [
    [name, Buffer.from(text)],
    [`${name} in UTF-16`, Buffer.from(text, 'utf16le')],
  ];
}

/** Other users than root may search only what is dumpable. */
const SEARCHABLE = process.getuid?.() === 0 ? {} : { OBVERSE_DUMPABLE: '1' };

describe.if(process.platform === 'linux')('memory of a node', () => {
  test('is not dumped, and other processes of its user cannot open it', async () => {
    // As another user, since root may open everything.
    const prefix = process.getuid?.() === 0 ? ['setpriv', '--reuid', '65534', '--clear-groups'] : [];
    const datadir = tempDir();
    chmodSync(datadir, 0o777);
    for (const dumpable of [false, true]) {
      node = await startNode({
        datadir,
        prefix,
        args: ['--wallet.enabled=false'],
        env: dumpable ? { OBVERSE_DUMPABLE: '1' } : {},
      });
      // The system gives the entries of a process that is not dumpable to root.
      const owner = statSync(`/proc/${node.pid}/mem`).uid;
      const limits = readFileSync(`/proc/${node.pid}/limits`, 'utf8');
      if (dumpable) expect(owner).not.toBe(0);
      else {
        expect(owner).toBe(0);
        expect(limits).toMatch(/Max core file size +0 +0 /);
      }
      await node.stop();
    }
  });
});

// Searching the memory of another process is Linux's.
describe.if(process.platform === 'linux')('the searched memory of a node', () => {
  test('holds the keys of an encrypted wallet while it is open, and nothing of them when it is locked', async () => {
    const passphrase = `open sesame ${crypto.randomUUID()}`;
    node = await startNode({ args: ['--wallet.keypool=5', '--wallet.fallbackFee=2'], env: SEARCHABLE });
    await call('createwallet', ['hot', false, false, passphrase], 'default');
    await call('walletpassphrase', [passphrase, 600]);
    await useKeys();
    const secrets = await secretsOf(passphrase);
    for (const [name, text] of textForms('passphrase', passphrase)) secrets.set(name, text);
    // The search finds the keys of an open wallet, which shows that the search works.
    expect(Object.keys(found(secrets)).sort()).toEqual(['a key raw', 'vault raw']);
    await call('walletlock');
    expect(found(secrets)).toEqual({});
  });

  test('holds nothing of the new keys and the passphrases of a wallet that was encrypted later', async () => {
    const [first, second] = [`first ${crypto.randomUUID()}`, `second ${crypto.randomUUID()}`];
    node = await startNode({ args: ['--wallet.keypool=5', '--wallet.fallbackFee=2'], env: SEARCHABLE });
    await call('createwallet', ['hot'], 'default');
    await useKeys();
    const earlier = keyIds();
    await call('encryptwallet', [first]);
    await call('walletpassphrasechange', [first, second]);
    await call('walletpassphrase', { passphrase: second, timeout: 600 });
    await useKeys();
    await call('walletlock');
    const secrets = await secretsOf(second, earlier);
    for (const [name, text] of [...textForms('first', first), ...textForms('second', second)]) secrets.set(name, text);
    // The last request that the server received stays in its buffer until as much is received again.
    await call('validateaddress', ['x'.repeat(1000)]);
    const { 'an earlier key raw': earlierCopies = 0, ...others } = found(secrets);
    expect(others).toEqual({});
    // SQLite wrote that one as it was, into memory that it gives back as it is.
    expect(earlierCopies).toBeLessThanOrEqual(1);
  });
});
