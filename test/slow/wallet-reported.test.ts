import { Database } from 'bun:sqlite';
import { afterEach, describe, expect, test } from 'bun:test';
import { chmodSync, existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanUpAfterTests, NodeProcess, runProgram, startNode, tempDir } from '../lib/node-process.ts';

cleanUpAfterTests();

const WARNING = /private keys of this wallet are not encrypted/;
const KEYPOOL = '--wallet.keypool=2';

let node: NodeProcess;
afterEach(async () => {
  await node?.stop();
});

function encryption(): { cost: number } {
  const db = new Database(join(node.networkDir, 'wallets/default.db'), { readonly: true });
  try {
    const row = db.query<{ value: string }, []>("SELECT value FROM meta WHERE key = 'encryption'").get()!;
    return JSON.parse(row.value);
  } finally {
    db.close();
  }
}

describe('the wallet that a node creates by itself', () => {
  const warnings = async (method: string) => (await node.api.rpc<{ warnings?: string[] }>(method)).warnings ?? [];
  const metrics = async () => (await node.api.request('/metrics')).text;

  test('is reported on main until it is encrypted', async () => {
    node = await startNode({ network: 'main', args: [KEYPOOL] });
    const { datadir } = node;
    await node.output('stderr', WARNING);
    await node.stop();
    node = await startNode({ network: 'main', datadir, args: [KEYPOOL] });
    await node.output('stderr', WARNING);
    expect(await warnings('getwalletinfo')).toEqual([expect.stringMatching(WARNING)]);
    for (const method of ['getnetworkinfo', 'getblockchaininfo', 'getmininginfo'])
      expect(await warnings(method)).toContainEqual(expect.stringMatching(/^Wallet "default": .* not encrypted/));
    // That one is for everyone.
    expect((await node.api.request('/api/info')).text).not.toMatch(WARNING);
    expect(await metrics()).toContain('obverse_wallet_unencrypted{wallet="default"} 1');

    await node.api.rpc('encryptwallet', ['open sesame']);
    expect(encryption()).toMatchObject({ cost: 262_144, blockSize: 8, parallel: 1 });
    expect(await warnings('getwalletinfo')).toEqual([]);
    for (const warning of await warnings('getnetworkinfo')) expect(warning).not.toMatch(WARNING);
    expect(await metrics()).toContain('obverse_wallet_unencrypted{wallet="default"} 0');
    await node.stop();
    node = await startNode({ network: 'main', datadir, args: [KEYPOOL] });
    expect(node.stderr).not.toMatch(WARNING);
  });

  test('is encrypted from the start with the passphrase of a file that only the node can read', async () => {
    const datadir = tempDir();
    const file = join(tempDir(), 'passphrase');
    const passphrase = `open sesame ${crypto.randomUUID()}`;
    writeFileSync(file, `${passphrase}\n`);
    chmodSync(file, 0o644);
    const args = [KEYPOOL, `--wallet.passphraseFile=${file}`];
    const command = ['start', '--network', 'regtest', '--datadir', datadir, '--http.listen=127.0.0.1:0', ...args];
    const refused = await runProgram([...command, '--p2p.enabled=false'], { timeoutMs: 30_000 });
    expect([refused.status, refused.stderr]).toEqual([
      2,
      expect.stringMatching(/wallet\.passphraseFile: .* must be owned by the user .* it has mode 644/),
    ]);
    chmodSync(file, 0o600);
    node = await startNode({ datadir, args });
    expect(await node.api.rpc('getwalletinfo')).toMatchObject({ unlocked_until: 0, keypoolsize: expect.any(Number) });
    expect(await node.api.rpc<string>('getnewaddress', [])).toStartWith('bcrt1q');
    await node.api.rpc('walletpassphrase', [passphrase, 10]);
    expect(node.stderr).not.toContain(passphrase);
    // It is for that one wallet alone: the file may go.
    await node.stop();
    node = await startNode({ datadir, args: [KEYPOOL, '--wallet.passphraseFile=/nowhere'] });
    expect(await node.api.rpc('getwalletinfo')).toMatchObject({ unlocked_until: 0 });
  });

  test('has its keys after a crash during its creation and encryption', async () => {
    const datadir = tempDir();
    const file = join(tempDir(), 'passphrase');
    writeFileSync(file, 'open sesame', { mode: 0o600 });
    const options = { network: 'main', datadir, args: [KEYPOOL, `--wallet.passphraseFile=${file}`] };
    const wallets = join(datadir, 'main/wallets');
    const crashing = new NodeProcess(options);
    await crashing.until('the first file', () => existsSync(wallets) && readdirSync(wallets).length > 0, 30_000, 2);
    await crashing.stop('SIGKILL');
    expect(readdirSync(wallets)).not.toContain('default.db');
    node = await startNode(options);
    expect(await node.api.rpc('getwalletinfo')).toMatchObject({ unlocked_until: 0, blank: false });
    expect(await node.api.rpc<string>('getnewaddress', [])).toStartWith('bc1q');
    await node.api.rpc('walletpassphrase', ['open sesame', 10]);
    expect(readdirSync(wallets).filter((name) => !name.startsWith('default.db'))).toEqual([]);
    expect(readdirSync(wallets).filter((name) => name.includes('.part'))).toEqual([]);
  });

  test('accepts the credential of the service manager', async () => {
    const credentials = tempDir();
    writeFileSync(join(credentials, 'wallet-passphrase'), 'open sesame', { mode: 0o400 });
    node = await startNode({ args: [KEYPOOL], env: { CREDENTIALS_DIRECTORY: credentials } });
    await node.api.rpc('walletpassphrase', ['open sesame', 10]);
  });
});
