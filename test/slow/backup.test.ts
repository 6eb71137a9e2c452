import { beforeAll, describe, expect, test } from 'bun:test';
import { appendFileSync, cpSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  backup,
  coinsOf,
  directoryOf,
  type Figures,
  figuresOf,
  fileOf,
  fillNode,
  type OwnData,
  restore,
  settingsOf,
} from '../lib/backup-commands.ts';
import { ApiClient } from '../lib/node-client.ts';
import {
  cleanUpAfterTests,
  type NodeProcess as Node,
  NodeProcess,
  Program,
  poll,
  runProgram,
  startNode,
  tempDir,
  WITH_WALLET,
} from '../lib/node-process.ts';
import { runCommand } from '../lib/run-command.ts';

cleanUpAfterTests();

const ARGS = [WITH_WALLET, '--index.filter', '--webhooks.allowedNetworks=127.0.0.0/8'];
let node: Node;
let data: OwnData;
let before: Figures;
let folder: string;
let whole: string;
let small: string;

beforeAll(async () => {
  folder = tempDir('backup');
  const settings = join(folder, 'obverse.toml');
  writeFileSync(settings, 'service.name = "shop"\n');
  node = await startNode({ args: [...ARGS, '--wallet.autocreate=true', '--config', settings] });
  data = await fillNode(node);
  before = await figuresOf(node, data);
  whole = join(folder, 'whole');
  small = join(folder, 'small');
  for (const [dir, flags] of [
    [whole, ['--chain']],
    [small, []],
  ] as const) {
    const { status, stderr } = await backup(node, dir, ...flags);
    if (status !== 0) throw new Error(stderr);
  }
});

function filesIn(dir: string): string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(dir.length + 1))
    .sort();
}

/** A copy of the backup without the chain. */
function copyOf(dir: string): string {
  const to = join(tempDir('backup'), 'copy');
  cpSync(dir, to, { recursive: true });
  return to;
}

describe('obverse backup', () => {
  test('writes wallets, keys, watches, webhooks and settings, and the chain where it is asked for', () => {
    const own = ['auth.db', 'backup.json', 'lock', 'node.db', 'settings.toml', 'wallet-mac.key'];
    const stored = ['wallets/default.db', 'watches.db', 'webhooks.db'];
    expect(filesIn(small)).toEqual([...own, ...stored].sort());
    const chain = ['blocks/blk00000.dat', 'blocks/rev00000.dat', 'chain.db', 'filters/flt00000.dat'];
    expect(filesIn(whole)).toEqual([...own, ...stored, ...chain.map((name) => `chain/${name}`)].sort());
    expect(existsSync(`${whole}.part`)).toBe(false);
  });

  test('writes files and directories that only the owner can read', () => {
    for (const path of filesIn(whole)) expect([path, fileOf(whole, path).mode]).toEqual([path, 0o600]);
    expect(statSync(whole).mode & 0o777).toBe(0o700);
    expect(statSync(join(whole, 'wallets')).mode & 0o777).toBe(0o700);
  });

  test('a manifest has the tip, and the size and SHA-256 of each file', () => {
    const manifest = JSON.parse(fileOf(whole, 'backup.json').bytes.toString());
    expect(manifest).toMatchObject({ format: 1, network: 'regtest', tip: { height: 106 } });
    for (const { path, bytes, sha256 } of manifest.files) {
      const file = fileOf(whole, path).bytes;
      expect([path, file.length, new Bun.CryptoHasher('sha256').update(file).digest('hex')]).toEqual([
        ...[path, bytes, sha256],
      ]);
    }
    expect(manifest.files).toHaveLength(filesIn(whole).length - 2);
  });

  test('refuses a directory that exists, and continues in one that an interrupted backup has left', async () => {
    const again = await backup(node, whole);
    expect([again.status, again.stderr]).toEqual([
      1,
      `obverse: ${whole} already exists: name another directory for the backup\n`,
    ]);
    const target = join(tempDir('backup'), 'continued');
    cpSync(whole, `${target}.part`, { recursive: true });
    const part = `${target}.part`;
    rmSync(join(part, 'backup.json'));
    const foreign = await backup(node, target, '--chain');
    expect(foreign.stderr).toBe(`obverse: ${part} is not empty and is no unfinished backup: name another directory\n`);
    const genesisHash = '0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206';
    const marker = { network: 'regtest', genesisHash, networkDir: node.networkDir };
    writeFileSync(join(part, 'incomplete.json'), JSON.stringify(marker));
    // A kill amid a copy leaves a short or a wrong file, and files that have left the chain since.
    writeFileSync(join(part, 'chain/blocks/blk00000.dat'), Buffer.alloc(500, 7));
    writeFileSync(join(part, 'wallets/default.db.new'), 'half');
    mkdirSync(join(part, 'chain/runs'));
    writeFileSync(join(part, 'chain/runs/coins-00000009.run'), 'old');
    const { status, stdout } = await backup(node, target, '--chain', '--json');
    expect(status).toBe(0);
    const { bytes, written } = JSON.parse(stdout);
    // Filters and undo data were there.
    expect(bytes - written).toBe(
      fileOf(whole, 'chain/filters/flt00000.dat').bytes.length +
        fileOf(whole, 'chain/blocks/rev00000.dat').bytes.length,
    );
    expect(filesIn(target)).toEqual(filesIn(whole));
    for (const path of ['chain/blocks/blk00000.dat', 'chain/filters/flt00000.dat'])
      expect(fileOf(target, path).bytes.equals(fileOf(whole, path).bytes)).toBe(true);
  });

  test('names the files of the operator that it does not hold', async () => {
    const datadir = tempDir();
    const [passphrase, authorities] = ['passphrase', 'ca.pem'].map((name) => join(datadir, name)) as [string, string];
    writeFileSync(passphrase, 'a passphrase', { mode: 0o600 });
    writeFileSync(authorities, '');
    const stopped = await startNode({ datadir });
    await stopped.stop();
    const flags = ['--wallet.passphraseFile', passphrase, '--webhooks.authorities', authorities];
    const target = join(folder, 'with-files');
    const result = await runCommand(['backup', target, '--json', ...flags, ...directoryOf(datadir)]);
    expect(result).toMatchObject({ status: 0 });
    expect(JSON.parse(result.stdout).omitted).toEqual([
      { setting: 'wallet.passphraseFile', path: passphrase },
      { setting: 'webhooks.authorities', path: authorities },
    ]);
    expect(result.stderr).toBe(
      `obverse: ${passphrase} (wallet.passphraseFile) is not part of the backup: keep a copy of it elsewhere\n` +
        `obverse: ${authorities} (webhooks.authorities) is not part of the backup: keep a copy of it elsewhere\n`,
    );
  });

  test('an API key names a directory among the backups, the cookie any directory', async () => {
    const { key } = await node.api.rpc<{ key: string }>('createapikey', ['operator', ['admin']]);
    const operator = new ApiClient(node.api.url, key);
    for (const path of [join(folder, 'elsewhere'), '../elsewhere', '', 'night.part'])
      await expect(operator.rpc('backupnode', [path])).rejects.toThrow(
        'an API key names a directory among the backups',
      );
    const report = await operator.rpc<{ path: string; tip: unknown }>('backupnode', ['night']);
    expect(report).toMatchObject({ path: join(node.datadir, 'backups/night'), tip: null });
    await expect(operator.rpc('backupnode', ['night2', { rate: -1 }])).rejects.toThrow('rate must be between');
    const reader = new ApiClient(node.api.url, data.key.key);
    await expect(reader.rpc('backupnode', ['night2'])).rejects.toThrow('scope');
  });
});

describe('obverse restore', () => {
  test('restores the chain, wallets, keys, watches and webhooks, so that a node has the same figures', async () => {
    const datadir = tempDir('restored');
    const { status, stdout, stderr } = await restore(whole, datadir);
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toContain('the chain is at height 106');
    expect(stdout).toContain(`settings of the backup: ${join(datadir, 'regtest/restored-settings.toml')}`);
    expect(fileOf(join(datadir, 'regtest'), 'restored-settings.toml').bytes.toString()).toBe('service.name = "shop"\n');
    const verified = await runCommand(['verify', ...directoryOf(datadir)]);
    expect([verified.status, verified.stdout]).toEqual([0, expect.stringContaining('no damage')]);
    const restored = await startNode({ datadir, args: ARGS });
    expect(await figuresOf(restored, data)).toEqual(before);
    expect(await coinsOf(restored)).toEqual(await coinsOf(node));
    await restored.api.rpc('generatetoaddress', [1, data.address]);
    await restored.stop();
  });

  test('without a chain, wallets find their history as the blocks arrive', async () => {
    const datadir = tempDir('restored');
    const { status, stdout } = await restore(small, datadir);
    expect([status, stdout]).toEqual([0, expect.stringContaining('the node downloads the chain after its start')]);
    const restored = await startNode({ datadir, args: ARGS });
    for (let height = 1; height <= 106; height++) {
      const hash = await node.api.rpc<string>('getblockhash', [height]);
      await restored.api.rpc('submitblock', [await node.api.rpc<string>('getblock', [hash, 0])]);
    }
    expect(await figuresOf(restored, data)).toEqual(before);
    await restored.stop();
  });

  test('keeps the chain of a directory that has nothing else', async () => {
    const datadir = tempDir('restored');
    mkdirSync(join(datadir, 'regtest'));
    cpSync(join(whole, 'chain'), join(datadir, 'regtest/chain'), { recursive: true });
    const { status, stdout } = await restore(small, datadir);
    expect([status, stdout]).toEqual([0, expect.stringContaining('the chain of the directory is kept')]);
    const restored = await startNode({ datadir, args: ARGS });
    expect(await figuresOf(restored, data)).toEqual(before);
    await restored.stop();
  });

  test('refuses a directory with data, another network and a backup that is not complete', async () => {
    const full = await restore(small, node.datadir);
    expect([full.status, full.stderr]).toEqual([1, expect.stringContaining('is in use by another process')]);
    const datadir = tempDir('restored');
    mkdirSync(join(datadir, 'regtest'));
    writeFileSync(join(datadir, 'regtest/auth.db'), '');
    expect((await restore(small, datadir)).stderr).toBe(
      `obverse: ${join(datadir, 'regtest')} is not empty (auth.db): name an empty data directory with --into\n`,
    );
    const other = await runCommand(['restore', small, '--into', datadir, '--network', 'signet']);
    expect([other.status, other.stderr]).toEqual([
      1,
      `obverse: ${small} is a backup of the network regtest, and the settings name signet: add --network regtest\n`,
    ]);
    expect(existsSync(join(datadir, 'signet'))).toBe(false);
    const part = `${copyOf(small)}.part`;
    cpSync(small, part, { recursive: true });
    expect((await restore(part, tempDir())).stderr).toContain('was not completed: run obverse backup again');
    rmSync(part.replace('.part', ''), { recursive: true });
    expect((await restore(part.replace('.part', ''), tempDir())).stderr).toContain('was not completed');
    expect((await restore(dirname(part), tempDir())).stderr).toContain('holds no backup: it has no backup.json');
  });

  test('a damaged backup is refused before anything is restored', async () => {
    const damaged = copyOf(small);
    appendFileSync(join(damaged, 'wallets/default.db'), 'x');
    const datadir = tempDir('restored');
    const { status, stderr } = await restore(damaged, datadir);
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/wallets\/default\.db: it has \d+ bytes, not \d+: use/),
    ]);
    expect(readdirSync(join(datadir, 'regtest'))).toEqual(['lock']);
    const renamed = copyOf(small);
    const manifest = join(renamed, 'backup.json');
    writeFileSync(manifest, (await Bun.file(manifest).text()).replace('"auth.db"', '"../auth.db"'));
    expect((await restore(renamed, datadir)).stderr).toContain('its content does not match its checksum');
  });

  test('no node starts before an interrupted restore is complete, which the same command continues', async () => {
    const datadir = tempDir('restored');
    const networkDir = join(datadir, 'regtest');
    const { id } = JSON.parse(fileOf(whole, 'backup.json').bytes.toString());
    mkdirSync(join(networkDir, 'chain'), { recursive: true });
    writeFileSync(join(networkDir, 'restore'), `${id}\n`);
    writeFileSync(join(networkDir, 'chain/chain.db'), 'half');
    const refused = new NodeProcess({ datadir });
    expect((await refused.end()).status).toBe(1);
    expect(refused.stderr).toContain(
      `a restore into ${networkDir} was interrupted: run obverse restore with the same backup to complete it`,
    );
    expect((await restore(small, datadir)).stderr).toContain('a restore of another backup');
    writeFileSync(join(networkDir, 'restore'), `${id}\n/srv/wallets\n`);
    expect((await restore(whole, datadir)).stderr).toContain(
      'had the wallet.directory /srv/wallets: complete it with the same setting',
    );
    writeFileSync(join(networkDir, 'restore'), `${id}\n`);
    expect((await restore(whole, datadir)).status).toBe(0);
    expect(existsSync(join(networkDir, 'restore'))).toBe(false);
    const path = 'chain/chain.db';
    expect(fileOf(networkDir, path).bytes.equals(fileOf(whole, path).bytes)).toBe(true);
  });
});

test('a stopped node is backed up by the command itself', async () => {
  const datadir = tempDir('stopped');
  expect((await restore(whole, datadir)).status).toBe(0);
  const target = join(tempDir('backup'), 'stopped');
  const { status, stdout, stderr } = await runCommand(['backup', target, '--chain', ...directoryOf(datadir)]);
  expect([status, stderr]).toEqual([0, '']);
  expect(stdout).toContain('with the chain up to height 106');
  expect((await runCommand(['backup', `${target}2`, ...directoryOf(tempDir())])).stderr).toContain(
    'holds no data of a node: name its --datadir and --network',
  );
});

test('a stop of the node interrupts a backup, which the same command continues', async () => {
  const target = join(tempDir('backup'), 'slow');
  const begun = new RegExp(`"a backup begins","path":"${target}"`);
  const command = new Program(['backup', target, '--chain', '--rate', '1', ...settingsOf(node)]);
  await node.output('stderr', begun);
  await poll('the directory of the backup', () => existsSync(`${target}.part`));
  await node.stop();
  expect((await command.end()).status).toBe(1);
  expect(command.stderr).toBe('obverse: The backup was interrupted: the same call continues it\n');
  expect([existsSync(target), existsSync(`${target}.part`)]).toEqual([false, true]);
  const where = [...directoryOf(node.datadir), '--config', join(folder, 'obverse.toml')];
  expect(await runProgram(['backup', target, '--chain', ...where])).toMatchObject({ status: 0, stderr: '' });
  expect(await runProgram(['verify', '--backup', target])).toMatchObject({ status: 0 });
});
