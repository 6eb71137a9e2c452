import { expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { WalletManager } from '../../src/wallet/wallet-manager.ts';
import { WalletFixture, walletMemory } from './wallet-fixture.ts';

test('the limit of wallets holds for created and restored ones, loaded or not, also in parallel', async () => {
  using it = new WalletFixture();
  const manager = new WalletManager(
    {
      dir: join(it.dir, 'wallets'),
      backupDir: join(it.dir, 'backups'),
      autocreate: false,
      passphrase: () => null,
      max: 2,
      known: walletMemory(),
    },
    it.deps,
  );
  manager.open();
  const options = { disablePrivateKeys: true, blank: true, avoidReuse: false, passphrase: new Uint8Array(0) };
  const make = (name: string) =>
    manager.createWallet(name, options, null).then(
      () => 'made',
      ({ kind, message }) => `${kind}: ${message}`,
    );
  expect(await make('a')).toBe('made');
  await manager.backups.write('a', 'copy');
  await manager.unloadWallet('a', null);
  const refused = 'wallet: Error: there are 2 wallets already; wallet.max allows 2.';
  expect((await Promise.all(['b', 'c', 'd'].map(make))).toSorted()).toEqual(['made', refused, refused]);
  expect(await manager.restoreWallet('e', 'copy', null).catch(({ message }) => message)).toBe(
    'Error: there are 2 wallets already; wallet.max allows 2.',
  );
  expect(manager.files.names()).toHaveLength(2);
  manager.close();
});

test('no wallet is created with the name of a missing one until its loss is accepted', async () => {
  using it = new WalletFixture();
  const known = walletMemory();
  const manager = new WalletManager(
    {
      dir: join(it.dir, 'wallets'),
      backupDir: join(it.dir, 'backups'),
      autocreate: false,
      passphrase: () => null,
      max: 5,
      known,
    },
    it.deps,
  );
  known.remember('hot', true);
  known.remember('cold', false);
  mkdirSync(join(it.dir, 'wallets'));
  manager.open();
  const options = { disablePrivateKeys: true, blank: true, avoidReuse: false, passphrase: new Uint8Array(0) };
  expect(manager.createWallet('hot', options, true)).rejects.toThrow(
    'Error: this node has a wallet "hot" whose file is missing: restore it with restorewallet, or stop the node and accept the loss with: obverse forget-wallet hot',
  );
  expect(manager.files.names()).toEqual([]);
  // It was unloaded before its file was moved away.
  await manager.createWallet('cold', options, null);
  known.forget('hot');
  expect(manager.files.names()).toEqual(['cold']);
  manager.close();
});
