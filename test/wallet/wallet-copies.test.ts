import { describe, expect, test } from 'bun:test';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { WalletManager } from '../../src/wallet/wallet-manager.ts';
import { WalletFixture, walletMemory } from './wallet-fixture.ts';

/** Wallets in a directory of their own, the one to be copied among them. */
class Wallets implements Disposable {
  readonly #fixture = new WalletFixture();
  readonly backups = join(this.#fixture.dir, 'backups');
  readonly manager = new WalletManager(
    {
      dir: join(this.#fixture.dir, 'wallets'),
      backupDir: this.backups,
      autocreate: true,
      max: 500,
      passphrase: () => null,
      known: walletMemory(),
    },
    this.#fixture.deps,
  );

  constructor() {
    this.manager.open();
  }

  get wallet() {
    return this.manager.wallet('default');
  }

  [Symbol.dispose](): void {
    this.manager.close();
    this.#fixture[Symbol.dispose]();
  }
}

function scriptsOf({ manager }: Wallets, name: string): string[] {
  return Array.from(manager.wallet(name).store.keys.allScripts(), (script) => script.toHex()).sort();
}

describe('wallet copies', () => {
  test('a copy has everything written before its request, and other work runs meanwhile', async () => {
    using it = new Wallets();
    const { manager } = it;
    it.wallet.newAddress('bech32', 'last words');
    let turns = 0;
    let done = false;
    const copying = manager.backups.write('default', 'copy').finally(() => (done = true));
    for (; !done; turns++) await new Promise((resolve) => setImmediate(resolve));
    await copying;
    expect(turns).toBeGreaterThan(1);
    expect(statSync(join(it.backups, 'copy')).mode & 0o777).toBe(0o600);
    await manager.restoreWallet('again', 'copy', null);
    expect(scriptsOf(it, 'again')).toEqual(scriptsOf(it, 'default'));
    expect(manager.wallet('again').store.reads.entriesWithLabel('last words')).toHaveLength(1);
    expect(readdirSync(it.backups)).toEqual(['copy']);
  });

  test('a copy replaces no other file unless requested', async () => {
    using it = new Wallets();
    const { backups } = it.manager;
    mkdirSync(it.backups);
    const others = ['ok.part', '.ok.part.txt', 'ok.part-wal', 'ok-wal'];
    for (const name of [...others, 'taken']) writeFileSync(join(it.backups, name), `the file ${name}`);
    await backups.write('default', 'ok');
    await backups.exportWatchOnly('default', 'watch');
    for (const replaced of [backups.write('default', 'taken'), backups.write('default', 'ok')])
      expect(await replaced.catch((error: Error) => error.message)).toMatch(
        /^Error: Backup '.*\/(taken|ok)' already exists: choose another name, or set replace$/,
      );
    expect(await backups.exportWatchOnly('default', 'taken').catch((error: Error) => error.message)).toContain(
      'already exists',
    );
    for (const name of [...others, 'taken'])
      expect(readFileSync(join(it.backups, name), 'utf8')).toBe(`the file ${name}`);
    await backups.write('default', 'taken', { replace: true });
    await it.manager.restoreWallet('again', 'taken', null);
    expect(scriptsOf(it, 'again')).toEqual(scriptsOf(it, 'default'));
    expect(readdirSync(it.backups).sort()).toEqual([...others, 'ok', 'taken', 'watch'].sort());
  });

  test('a copy may be requested twice at a time under one name, also while the wallet is unloaded', async () => {
    using it = new Wallets();
    const { manager } = it;
    const before = scriptsOf(it, 'default');
    const both = [true, true].map((replace) => manager.backups.write('default', 'copy', { replace }));
    const other = manager.backups.exportWatchOnly('default', 'watched');
    await Promise.all([...both, other]);
    await Promise.all([
      manager.backups.write('default', 'copy', { replace: true }),
      manager.unloadWallet('default', null),
    ]);
    expect(readdirSync(it.backups).sort()).toEqual(['copy', 'watched']);
    await manager.restoreWallet('again', 'copy', null);
    for (const script of before) expect(scriptsOf(it, 'again')).toContain(script);
    await manager.restoreWallet('watching', 'watched', null);
    expect(manager.wallet('watching').store.keys.keys()).toEqual([]);
  });

  test('exclusive access to the file waits for a running copy', async () => {
    using it = new Wallets();
    let done = false;
    const copying = it.wallet.copyTo(join(it.wallet.store.path, '..', 'x'), { withKeys: true });
    const ended = copying.then(() => (done = true));
    await it.wallet.copiesDone();
    expect(done).toBe(true);
    await ended;
  });

  test('sealed pages are overwritten only after a running copy', async () => {
    using it = new WalletFixture({ blank: true });
    const { wallet } = it;
    const order: string[] = [];
    wallet.vault.encrypt = async () => void order.push('sealed');
    wallet.vault.unlock = async () => true;
    wallet.store.truncateWal = () => order.push('wiped') > 0;
    const copying = wallet.copyTo(join(it.dir, 'x'), { withKeys: true }).then(() => order.push('copied'));
    await wallet.encrypt(Buffer.from('a passphrase'));
    await copying;
    expect(order).toEqual(['sealed', 'copied', 'wiped']);
  });

  test('a copy that cannot be written leaves no file', async () => {
    using it = new Wallets();
    writeFileSync(it.backups, 'a file, not a directory');
    const refused = await it.manager.backups.write('default', 'copy').catch((error) => error);
    expect(refused).toBeInstanceOf(Error);
    expect(await it.wallet.copyTo(join(it.backups, 'copy'), { withKeys: true }).catch(String)).toContain(
      'unable to open',
    );
    await it.wallet.copiesDone();
    it.wallet.newAddress('bech32', 'goes on');
  });
});
