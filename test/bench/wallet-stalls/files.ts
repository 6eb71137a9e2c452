import type { ParsedTransaction } from '../../../src/primitives/block.ts';
import { addresses, type Case, coins, confirm, manyKeys, NAME, PASSPHRASE, payTo, wallet } from './world.ts';

/** Calls that load, scan and copy wallets. */
export const FILE_CASES: readonly Case[] = [
  {
    call: 'importprunedfunds',
    input: '20,000 outputs of the wallet',
    prepare: async (world) => {
      await wallet(world);
      const [script] = await addresses(world, 1);
      confirm(world, []);
      return payTo(
        1,
        Array.from({ length: 20_000 }, () => script!),
      );
    },
    run: ({ act, chain }, tx: ParsedTransaction) => act('walletImportPruned', NAME, tx.raw, chain.tip.hash, 0),
  },
  {
    call: 'removeprunedfunds',
    input: '20,000 outputs of the wallet',
    prepare: async (world) => {
      await coins(world, 20_000, 20_000);
      return world.manager.wallet(NAME).store.reads.allTransactions()[0]!.txid;
    },
    run: ({ act }, txid) => act('walletRemovePruned', NAME, txid),
  },
  {
    call: 'rescanblockchain',
    input: '20,000 transactions',
    prepare: (world) => coins(world, 20_000, 1),
    run: ({ act }) => act('walletRescan', NAME, 0, null),
  },
  {
    call: 'encryptwallet',
    input: '50,000 transactions',
    prepare: (world) => coins(world, 50_000, 1),
    run: ({ act }) => act('walletEncrypt', NAME, PASSPHRASE.slice(), 'bench'),
  },
  {
    call: 'a block',
    input: 'a payment to the last of 20,000 addresses that were derived ahead',
    prepare: async (world) => {
      await wallet(world);
      const loaded = world.manager.wallet(NAME);
      const source = loaded.scripts.activeDescriptor('bech32', false)!;
      loaded.store.write(() => loaded.scripts.reserve(source, 20_000));
      await loaded.filler.fillReserved(AbortSignal.timeout(300_000));
      return source.expand(19_999, loaded.vault.available())!.scripts[0];
    },
    run: async (world, script: Uint8Array) => confirm(world, [payTo(1, [script])]),
  },
  {
    call: 'loadwallet',
    input: '100,000 transactions',
    prepare: async (world) => {
      await coins(world, 100_000, 1);
      await world.act('walletUnload', NAME, false);
    },
    run: ({ act }) => act('walletLoad', NAME, false),
  },
  {
    call: 'loadwallet',
    input: '10,000 descriptors',
    prepare: async (world) => {
      await manyKeys(world, 10_000);
      await world.act('walletUnload', NAME, false);
    },
    run: ({ act }) => act('walletLoad', NAME, false),
  },
  {
    call: 'unloadwallet',
    input: '20,000 transactions',
    prepare: (world) => coins(world, 20_000, 1),
    run: ({ act }) => act('walletUnload', NAME, false),
  },
  {
    call: 'backupwallet',
    input: '20,000 transactions',
    prepare: (world) => coins(world, 20_000, 1),
    run: ({ act }) => act('walletBackup', NAME, 'copy', false),
  },
  {
    call: 'exportwatchonlywallet',
    input: '20,000 transactions',
    prepare: (world) => coins(world, 20_000, 1),
    run: ({ act }) => act('walletExportWatchOnly', NAME, 'copy'),
  },
];
