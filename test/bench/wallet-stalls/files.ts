import type { ParsedTransaction } from '../../../src/primitives/block.ts';
import { addresses, type Case, coins, confirm, inactive, manyKeys, NAME, PASSPHRASE, payTo, wallet } from './world.ts';

/** Calls that load, copy and encrypt wallets. */
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
    call: 'encryptwallet',
    input: '50,000 transactions',
    prepare: (world) => coins(world, 50_000, 1),
    run: ({ act }) => act('walletEncrypt', NAME, PASSPHRASE.slice(), 'bench'),
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
    call: 'loadwallet',
    input: '100,000 transactions, encrypted',
    prepare: async (world) => {
      await coins(world, 100_000, 1);
      await world.act('walletEncrypt', NAME, PASSPHRASE.slice(), 'bench');
      await world.act('walletUnload', NAME, false);
    },
    run: ({ act }) => act('walletLoad', NAME, false),
  },
  {
    call: 'loadwallet',
    input: '100,000 transactions in no block',
    limit: 60,
    prepare: async (world) => {
      await wallet(world);
      const scripts = await addresses(world, 300);
      inactive(
        world,
        Array.from({ length: 100_000 }, (_, i) => payTo(i, [scripts[i % 300]!])),
      );
      await world.act('walletUnload', NAME, false);
    },
    run: ({ act }) => act('walletLoad', NAME, false),
  },
  {
    call: 'loadwallet',
    input: '100,000 transactions of blocks that have left the chain',
    limit: 60,
    prepare: async (world) => {
      await coins(world, 100_000, 1);
      await world.act('walletUnload', NAME, false);
      const { chain } = world;
      const { height } = chain.tip;
      chain.tip = chain.tip.ancestor(0)!;
      for (let i = 0; i <= height; i++) chain.tip = chain.make(chain.tip, []);
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
    input: '100,000 transactions',
    prepare: (world) => coins(world, 100_000, 1),
    run: ({ act }) => act('walletExportWatchOnly', NAME, 'copy'),
  },
  {
    call: 'exportwatchonlywallet',
    input: '5,000 descriptors',
    prepare: (world) => manyKeys(world, 5000),
    run: ({ act }) => act('walletExportWatchOnly', NAME, 'copy'),
  },
];
