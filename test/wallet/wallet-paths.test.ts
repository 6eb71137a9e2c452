import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { resolveLinks } from '../../src/util/confined-path.ts';
import { WalletError } from '../../src/wallet/wallet-error.ts';
import { lockWalletFolder } from '../../src/wallet/wallet-lock.ts';
import { WalletManager, type WalletManagerOptions } from '../../src/wallet/wallet-manager.ts';
import { WalletFixture, walletMemory } from './wallet-fixture.ts';

const BLANK = { disablePrivateKeys: true, blank: true, avoidReuse: false, passphrase: new Uint8Array(0) };
const OUTSIDE =
  'the path is outside of the directory that the setting wallet.pathRoot names, or among other data of the node';

/** Wallets whose names may be paths in `root`. */
class Wallets implements Disposable {
  readonly #fixture = new WalletFixture();
  readonly known = walletMemory();
  readonly base = resolveLinks(this.#fixture.dir)!;
  readonly root = join(this.base, 'root');
  readonly networkDir = join(this.root, 'regtest');
  readonly dir = join(this.networkDir, 'wallets');
  readonly backups = join(this.root, 'backups');
  manager: WalletManager;

  constructor(options: Partial<WalletManagerOptions> = {}) {
    for (const folder of [this.dir, this.backups, join(this.base, 'outside')]) mkdirSync(folder, { recursive: true });
    this.manager = this.start(options);
  }

  start(options: Partial<WalletManagerOptions> = {}): WalletManager {
    this.manager?.close();
    const { dir, backups: backupDir, root: pathRoot, known, networkDir } = this;
    const given = { dir, backupDir, pathRoot, known, autocreate: false, max: 50, passphrase: () => null };
    this.manager = new WalletManager({ ...given, nodeDirs: [networkDir], ...options }, this.#fixture.deps);
    this.manager.open();
    return this.manager;
  }

  create(name: string): Promise<string> {
    return answerOf(this.manager.createWallet(name, BLANK, null));
  }

  /** Everything below the directory of the test, with the content of small files. */
  tree(): string[] {
    return (readdirSync(this.base, { recursive: true }) as string[]).sort();
  }

  [Symbol.dispose](): void {
    this.manager.close();
    this.#fixture[Symbol.dispose]();
  }
}

/** 'done', or the kind and text of the error that a caller sees. */
function answerOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'done',
    (error) => (error instanceof WalletError ? `${error.kind}: ${error.message}` : `FAULT ${error}`),
  );
}

describe('wallets by path', () => {
  test('have a directory of their own, with modes for the owner alone', async () => {
    using it = new Wallets();
    expect(await it.create('plain')).toBe('done');
    expect(await it.create('sub/deep')).toBe('done');
    expect(await it.create(join(it.root, 'extern/w6'))).toBe('done');
    for (const folder of [join(it.dir, 'plain'), join(it.dir, 'sub/deep'), join(it.root, 'extern/w6')]) {
      expect(readdirSync(folder).toSorted()[0]).toBe('wallet.dat');
      expect(statSync(folder).mode & 0o777).toBe(0o700);
      expect(statSync(join(folder, 'wallet.dat')).mode & 0o777).toBe(0o600);
    }
    expect(it.manager.files.names()).toEqual(['plain', 'sub/deep']);
    expect(it.manager.states.map(({ name }) => name)).toEqual(['plain', 'sub/deep', join(it.root, 'extern/w6')]);
    await it.manager.unloadWallet('plain', null);
    expect(readdirSync(join(it.dir, 'plain'))).toEqual(['wallet.dat']);
    // A copied file may be readable for others.
    chmodSync(join(it.dir, 'plain/wallet.dat'), 0o644);
    await it.manager.loadWallet('plain', null);
    expect(statSync(join(it.dir, 'plain/wallet.dat')).mode & 0o777).toBe(0o600);
  });

  test('open beside those of earlier versions, and with the setting off where they have plain names', async () => {
    using it = new Wallets({ pathRoot: null });
    expect(await it.create('old')).toBe('done');
    expect(existsSync(join(it.dir, 'old.db'))).toBe(true);
    it.start();
    expect(await it.create('new')).toBe('done');
    expect(await it.create('a/b')).toBe('done');
    expect(await it.create('old')).toBe(
      `wallet: Wallet file verification failed. Failed to create database path '${join(it.dir, 'old')}'. Database already exists.`,
    );
    await it.manager.loadWallet('old', true);
    for (const name of ['new', 'a/b']) it.manager.files.remember(name, true);
    expect(it.manager.files.names()).toEqual(['a/b', 'new', 'old']);
    const off = it.start({ pathRoot: null });
    expect(off.states.map(({ name }) => name).toSorted()).toEqual(['new', 'old']);
    expect(off.failed).toEqual(['a/b']);
    expect(off.files.names()).toEqual(['new', 'old']);
    expect(await answerOf(off.loadWallet('a/b', null))).toStartWith('invalidParameter: a wallet name is not a path');
    // The list keeps what this start could not load.
    expect(
      it
        .start()
        .states.map(({ name }) => name)
        .toSorted(),
    ).toEqual(['a/b', 'new', 'old']);
  });

  test('refuse names that Core refuses', async () => {
    using it = new Wallets();
    const normalized = 'wallet: Wallet file verification failed. Wallet name given as a path must be normalized';
    for (const name of [
      'bad/./path',
      'bad/../path',
      '/bad/../path',
      '../',
      './',
      './wallet',
      'a//b',
      'a/',
      '../a/../b',
    ])
      expect([name, await it.create(name)]).toEqual([name, normalized]);
    for (const name of ['../wallets/wallet', '..', '.'])
      expect(await it.create(name)).toStartWith(
        'wallet: Wallet file verification failed. Wallet name given as a relative path cannot begin with ./ or ../',
      );
    expect(await it.create('/')).toBe('wallet: Wallet file verification failed. Wallet name cannot be the root path');
    expect(await it.create('x\0y')).toContain('or a NUL');
    expect(await it.create('x'.repeat(1025))).toContain('1024 bytes');
    expect(await it.create('x'.repeat(300))).toContain(OUTSIDE);
    for (const name of ['startup.json', 'a.db', 'a.db-wal', 'wallet.dat', 'w/wallet.dat', 'w/x.part'])
      expect(await it.create(name)).toContain('is reserved or too long');
    expect(it.manager.files.names()).toEqual([]);
  });

  test('leave the directory in no way, and no answer says what is outside', async () => {
    using it = new Wallets();
    const outside = join(it.base, 'outside');
    mkdirSync(join(outside, 'there'));
    writeFileSync(join(outside, 'there/wallet.dat'), 'SQLite format 3\0'.repeat(100));
    symlinkSync(outside, join(it.dir, 'out'));
    symlinkSync(join(outside, 'nothing'), join(it.dir, 'dangling'));
    expect(await it.create('loaded')).toBe('done');
    const before = it.tree();
    const refusal = `wallet: Wallet file verification failed. ${OUTSIDE}`;
    const names = [
      ...['out', 'out/there', 'out/none', 'out/there/wallet', 'dangling', 'dangling/x'],
      ...[outside, join(outside, 'there'), join(outside, 'none'), `${it.root}x`, '/etc', '/no-such-directory'],
      // Other data of the node.
      ...[it.networkDir, join(it.networkDir, 'chain'), join(it.networkDir, 'chain/x')],
    ];
    for (const name of names) {
      expect([name, await it.create(name)]).toEqual([name, refusal]);
      expect([name, await answerOf(it.manager.loadWallet(name, null))]).toEqual([name, refusal]);
    }
    const files = [
      ...['../../outside/x', '../../outside/there/wallet.dat', '/etc/passwd', '/no-such-file', outside],
      ...[join(it.dir, 'out/there/wallet.dat'), join(it.dir, 'out/none'), join(it.dir, 'dangling')],
      ...[join(it.networkDir, 'node.db'), join(it.networkDir, 'chain/chain.db')],
    ];
    for (const file of files) {
      for (const work of [
        it.manager.restoreWallet('r', file, null),
        it.manager.backups.write('loaded', file),
        it.manager.backups.write('loaded', file, { replace: true }),
        it.manager.backups.exportWatchOnly('loaded', file),
      ])
        expect([file, await answerOf(work)]).toEqual([file, `invalidParameter: ${OUTSIDE}`]);
    }
    expect(it.tree()).toEqual(before);
    expect(it.manager.files.names()).toEqual(['loaded']);
  });

  test('stay inside whatever the name is', async () => {
    using it = new Wallets();
    symlinkSync(join(it.base, 'outside'), join(it.dir, 'out'));
    symlinkSync('..', join(it.dir, 'up'));
    const { places } = it.manager.files;
    const part = fc.oneof(
      fc.constantFrom('out', 'up', 'a', '..', '.', '', 'wallets', it.root),
      fc.string({ maxLength: 6 }),
    );
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 6 }), (parts) => {
        for (const find of [() => places.wallet(parts.join('/')).path, () => places.backup(parts.join('/'))])
          try {
            expect(`${resolveLinks(find())}/`).toStartWith(`${it.root}/`);
          } catch (error) {
            if (!(error instanceof WalletError)) throw error;
          }
      }),
      { numRuns: 500 },
    );
  });

  test('are opened by one node and under one name at a time', async () => {
    using it = new Wallets();
    expect(await it.create('w7')).toBe('done');
    symlinkSync('w7', join(it.dir, 'w7_link'));
    const locked =
      'wallet: Wallet file verification failed. SQLiteDatabase: Unable to obtain an exclusive lock on the database, is it being used by another instance of Obverse?';
    expect(it.manager.files.names()).toEqual(['w7', 'w7_link']);
    expect(await answerOf(it.manager.loadWallet('w7_link', null))).toBe(locked);
    expect(await answerOf(it.manager.loadWallet(join(it.dir, 'w7'), null))).toBe(locked);
    await it.manager.unloadWallet('w7', null);
    expect(await answerOf(it.manager.loadWallet('w7_link', null))).toBe('done');
    await it.manager.unloadWallet('w7_link', null);
    const release = lockWalletFolder(join(it.dir, 'w7'))!;
    expect(await answerOf(it.manager.loadWallet('w7', null))).toBe(locked);
    release();
    expect(await answerOf(it.manager.loadWallet('w7', null))).toBe('done');
  });

  test('are no links in the place of a file', async () => {
    using it = new Wallets();
    expect(await it.create('real')).toBe('done');
    mkdirSync(join(it.dir, 'fake'));
    symlinkSync('../real/wallet.dat', join(it.dir, 'fake/wallet.dat'));
    writeFileSync(join(it.dir, 'file'), '');
    expect(await answerOf(it.manager.loadWallet('fake', null))).toBe(
      `walletNotFound: Wallet file verification failed. Failed to load database path '${join(it.dir, 'fake')}'. Data is not in recognized format.`,
    );
    expect(await it.create('fake')).toStartWith('walletNotFound: ');
    expect(await it.create('file')).toStartWith("wallet: Wallet file verification failed. Invalid -wallet path 'file'");
    expect(await it.create('file/bad')).toStartWith('wallet: Wallet file verification failed. ');
    expect(it.manager.files.names()).toEqual(['real']);
  });
});

describe('backups by path', () => {
  test('are written and restored, and never replace another file', async () => {
    using it = new Wallets();
    expect(await it.create('w')).toBe('done');
    const { backups } = it.manager;
    const target = join(it.root, 'copy.dat');
    await backups.write('w', target);
    await backups.write('w', 'relative.dat');
    expect(statSync(target).mode & 0o777).toBe(0o600);
    expect(existsSync(join(it.backups, 'relative.dat'))).toBe(true);
    expect(await answerOf(backups.write('w', target))).toContain('already exists');
    await backups.write('w', target, { replace: true });
    writeFileSync(join(it.root, 'notes'), 'mine');
    expect(await answerOf(backups.write('w', join(it.root, 'notes'), { replace: true }))).toBe(
      `wallet: Error: '${join(it.root, 'notes')}' is not a backup of a wallet, and is not replaced`,
    );
    expect(readFileSync(join(it.root, 'notes'), 'utf8')).toBe('mine');
    // Neither the wallet itself, nor its directory, nor the place of another wallet.
    for (const path of [
      join(it.dir, 'w/wallet.dat'),
      join(it.dir, 'w'),
      it.dir,
      join(it.dir, 'x.db'),
      join(it.root, 'wallet.dat'),
    ])
      expect(await answerOf(backups.write('w', path, { replace: true }))).toBe('wallet: Error: Wallet backup failed!');
    expect(await answerOf(backups.write('w', join(it.root, 'no/copy')))).toBe('wallet: Error: Wallet backup failed!');
    await it.manager.restoreWallet('again', target, null);
    expect(existsSync(join(it.dir, 'again/wallet.dat'))).toBe(true);
    expect(readdirSync(it.root).toSorted()).toEqual(['backups', 'copy.dat', 'notes', 'regtest']);
  });

  test('are no named pipes, which would stop the thread until another program opens them', async () => {
    using it = new Wallets();
    expect(await it.create('w')).toBe('done');
    const pipe = join(it.root, 'pipe');
    expect(Bun.spawnSync(['mkfifo', pipe]).exitCode).toBe(0);
    expect(await answerOf(it.manager.backups.write('w', pipe, { replace: true }))).toBe(
      `wallet: Error: '${pipe}' is not a backup of a wallet, and is not replaced`,
    );
    expect(await answerOf(it.manager.restoreWallet('r', pipe, null))).toContain('Data is not in recognized format.');
  });

  test('are restored beside other files, and leave nothing where they cannot be', async () => {
    using it = new Wallets();
    expect(await it.create('w')).toBe('done');
    await it.manager.backups.write('w', 'copy');
    writeFileSync(join(it.backups, 'bad'), 'no database');
    writeFileSync(join(it.backups, 'odd'), `SQLite format 3\0${'x'.repeat(5000)}`);
    const before = it.tree();
    expect(await answerOf(it.manager.restoreWallet('r', 'bad', null))).toBe(
      `walletNotFound: Wallet file verification failed. Failed to load database path '${join(it.dir, 'r')}'. Data is not in recognized format.`,
    );
    expect(await answerOf(it.manager.restoreWallet('r', 'odd', null))).toStartWith('walletNotFound: ');
    expect(await answerOf(it.manager.restoreWallet('r', 'none', null))).toBe(
      'invalidParameter: Backup file does not exist',
    );
    // The file of a wallet in use is no backup.
    expect(await answerOf(it.manager.restoreWallet('r', join(it.dir, 'w/wallet.dat'), null))).toContain('in use');
    expect(it.tree()).toEqual(before);
    mkdirSync(join(it.dir, 'r'));
    writeFileSync(join(it.dir, 'r/notes'), 'mine');
    await it.manager.restoreWallet('r', 'copy', null);
    expect(await answerOf(it.manager.restoreWallet('r', 'copy', null))).toBe(
      `walletAlreadyExists: Failed to restore wallet. Database file exists in '${join(it.dir, 'r/wallet.dat')}'.`,
    );
    expect(readFileSync(join(it.dir, 'r/notes'), 'utf8')).toBe('mine');
  });
});

describe('a directory that the operator names', () => {
  test('has no wallets that are files, and keeps the files of others', async () => {
    using it = new Wallets();
    const dir = join(it.root, 'named');
    mkdirSync(join(dir, 'x'), { recursive: true });
    for (const name of ['node.db', 'foreign.db.part', 'x/note.part']) writeFileSync(join(dir, name), '');
    it.start({ dir, isNamedDir: true, pathRoot: null });
    expect(await it.create('w')).toBe('done');
    expect(it.manager.files.names()).toEqual(['w']);
    expect(it.tree().filter((path) => path.startsWith('root/named/') && !path.includes('wallet.dat'))).toEqual(
      ['foreign.db.part', 'node.db', 'w', 'x', 'x/note.part'].map((name) => `root/named/${name}`),
    );
  });

  test('that contains the data of the node has no wallets among that data', async () => {
    using it = new Wallets();
    it.start({ dir: it.root, isNamedDir: true });
    expect(await it.create('w')).toBe('done');
    for (const name of ['regtest/chain', join(it.networkDir, 'w')])
      expect(await it.create(name)).toBe(`wallet: Wallet file verification failed. ${OUTSIDE}`);
    expect(await answerOf(it.manager.restoreWallet('r', join(it.networkDir, 'keys.db'), null))).toContain(OUTSIDE);
    const nodeDirs = [it.networkDir, join(it.networkDir, 'chain')];
    it.start({ dir: it.networkDir, isNamedDir: true, nodeDirs });
    expect(await it.create('beside')).toBe('done');
    expect(await it.create(join(it.networkDir, 'chain/blocks'))).toBe(
      `wallet: Wallet file verification failed. ${OUTSIDE}`,
    );
  });

  test('has a wallet without a name where its file has no directory', async () => {
    using it = new Wallets();
    expect(await it.create('w')).toBe('done');
    await it.manager.unloadWallet('w', null);
    renameSync(join(it.dir, 'w/wallet.dat'), join(it.dir, 'wallet.dat'));
    rmSync(join(it.dir, 'w'), { recursive: true });
    const again = it.start();
    expect(again.states.map(({ name }) => name)).toEqual(['']);
    expect(again.files.names()).toEqual(['']);
    await again.unloadWallet('', false);
    await again.loadWallet('', null);
  });
});

test('wallets of the start list are not loaded where the setting forbids it, and stay on the list', async () => {
  using it = new Wallets();
  await it.manager.createWallet('w', BLANK, true);
  const names = () => it.manager.states.map(({ name }) => name);
  it.start({ loadAtStart: false });
  expect(names()).toEqual([]);
  expect(await answerOf(it.manager.loadWallet('w', null))).toBe('done');
  it.start();
  expect(names()).toEqual(['w']);
});

test('a wallet whose file is being read is loaded when the reader has ended', async () => {
  using it = new Wallets();
  expect(await it.create('w')).toBe('done');
  await it.manager.unloadWallet('w', null);
  {
    using reader = new Database(join(it.dir, 'w/wallet.dat'), { readonly: true });
    reader.run('BEGIN');
    reader.query('SELECT count(*) FROM meta').get();
    expect(await answerOf(it.manager.loadWallet('w', null))).toContain('a backup or another program reads');
    expect(it.manager.states).toEqual([]);
  }
  expect(await answerOf(it.manager.loadWallet('w', null))).toBe('done');
});

test('the start waits for a program that reads the file of a wallet', async () => {
  using it = new Wallets();
  await it.manager.createWallet('w', BLANK, true);
  it.manager.close();
  const code = `
    import { Database } from 'bun:sqlite';
    const db = new Database(process.argv.at(-1), { readonly: true });
    db.run('BEGIN');
    db.query('SELECT count(*) FROM meta').get();
    console.log('reads');
    await Bun.sleep(1000);
  `;
  const path = join(it.dir, 'w/wallet.dat');
  const reader = Bun.spawn([process.execPath, '-e', code, '--', path], { stdout: 'pipe', stderr: 'inherit' });
  const first = await reader.stdout.getReader().read();
  expect(new TextDecoder().decode(first.value)).toBe('reads\n');
  it.start();
  expect(it.manager.states.map(({ name }) => name)).toEqual(['w']);
  await reader.exited;
});

test('a wallet outside of the directory of wallets is known until it is unloaded and gone', async () => {
  using it = new Wallets();
  const name = join(it.root, 'extern/w');
  expect(await it.create(name)).toBe('done');
  await it.manager.unloadWallet(name, null);
  expect(it.start().missing).toEqual([]);
  expect(it.known.all().get(name)).toBe(false);
  await it.manager.loadWallet(name, true);
  const away = join(it.root, 'away');
  it.manager.close();
  renameSync(join(it.root, 'extern'), away);
  expect(it.start().missing).toEqual([name]);
  renameSync(away, join(it.root, 'extern'));
  expect(it.start().states.map((state) => state.name)).toEqual([name]);
});
