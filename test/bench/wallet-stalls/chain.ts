import { regtest } from '../../../src/params/regtest.ts';
import type { ParsedTransaction } from '../../../src/primitives/block.ts';
import type { Outpoint } from '../../../src/primitives/outpoint.ts';
import { addressOf } from '../../../src/script/address.ts';
import {
  addresses,
  type Case,
  coins,
  confirm,
  importOf,
  inactive,
  madeUp,
  NAME,
  payFrom,
  payTo,
  wallet,
  watching,
  xpubs,
} from './world.ts';

/** A script of others. */
const BUSY = Uint8Array.of(0, 20, ...new Uint8Array(20).fill(7));

const txidOf = ({ txid }: ParsedTransaction, vout = 0): Outpoint => ({ txid, vout });

/** Calls that scan the chain, and what the chain brings. */
export const CHAIN_CASES: readonly Case[] = [
  {
    call: 'rescanblockchain',
    input: '20,000 transactions',
    limit: 60,
    prepare: (world) => coins(world, 20_000, 1),
    run: ({ act }) => act('walletRescan', NAME, 0, null),
  },
  {
    call: 'rescanblockchain',
    input: 'a script with 100,000 transactions',
    limit: 90,
    prepare: (world) => coins(world, 100_000, 1, { scripts: 1 }),
    run: ({ act }) => act('walletRescan', NAME, 0, null),
  },
  {
    call: 'importdescriptors',
    input: 'a script with 100,000 transactions',
    limit: 90,
    prepare: async (world) => {
      await watching(world);
      confirm(
        world,
        Array.from({ length: 100_000 }, (_, i) => payTo(i, [BUSY])),
      );
    },
    run: ({ act }) =>
      act('walletImport', NAME, [importOf(`addr(${addressOf(BUSY, regtest.address)})`, { timestamp: 0 })]),
  },
  {
    call: 'rescanblockchain',
    input: 'a payment that a spend from a script with 100,000 transactions contradicts',
    limit: 60,
    prepare: async (world) => {
      await wallet(world);
      const [script] = await addresses(world, 1);
      const paid = Array.from({ length: 100_000 }, (_, i) => payTo(i, [BUSY]));
      confirm(world, paid);
      inactive(world, [payFrom([txidOf(paid[0]!)], script!)]);
      const { chain } = world;
      // The wallet does not see the block with the spend, as after an import.
      chain.tip = chain.make(chain.tip, [payFrom([txidOf(paid[0]!)], BUSY)]);
    },
    run: ({ act }) => act('walletRescan', NAME, 0, null),
  },
  {
    call: 'rescanblockchain',
    input: '20,000 payments that others have spent before',
    limit: 60,
    prepare: async (world) => {
      await wallet(world);
      const [script] = await addresses(world, 1);
      const paid = Array.from({ length: 20_000 }, (_, i) =>
        payTo(i, [Uint8Array.of(0, 20, ...madeUp(i).subarray(0, 20))]),
      );
      const spends = paid.map((tx) => payFrom([txidOf(tx)], BUSY));
      confirm(world, paid);
      inactive(
        world,
        paid.map((tx) => payFrom([txidOf(tx)], script!, [900n])),
      );
      for (let i = 0; i < spends.length; i += 500)
        world.chain.tip = world.chain.make(world.chain.tip, spends.slice(i, i + 500));
    },
    run: ({ act }) => act('walletRescan', NAME, 0, null),
  },
  {
    call: 'rescanblockchain',
    input: 'a payment with 100 inputs that others have spent, from transactions with 20,000 outputs',
    limit: 60,
    prepare: async (world) => {
      await wallet(world);
      const [script] = await addresses(world, 1);
      const foreign = Array.from({ length: 20_000 }, (_, i) => Uint8Array.of(0, 20, ...madeUp(i).subarray(0, 20)));
      const paid = [1, 2, 3, 4].map((seed) => payTo(seed, foreign));
      const inputs = paid.flatMap((tx) => Array.from({ length: 25 }, (_, vout) => txidOf(tx, vout)));
      confirm(world, paid);
      inactive(world, [payFrom(inputs, script!)]);
      world.chain.tip = world.chain.make(world.chain.tip, [payFrom(inputs, BUSY)]);
    },
    run: ({ act }) => act('walletRescan', NAME, 0, null),
  },
  {
    call: 'abandontransaction',
    input: '2,000 descendants',
    prepare: async (world) => {
      await wallet(world);
      const scripts = await addresses(world, 10);
      const chain = [payTo(1, [scripts[0]!])];
      for (let i = 1; i <= 2000; i++) chain.push(payFrom([txidOf(chain.at(-1)!)], scripts[i % 10]!));
      inactive(world, chain);
      return chain[0]!.txid;
    },
    run: ({ act }, txid) => act('walletAbandon', NAME, txid),
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
    call: 'a block',
    input: '200 payments to the wallet',
    prepare: async (world) => {
      await wallet(world);
      const scripts = await addresses(world, 200);
      return scripts.map((script, i) => payTo(i, [script]));
    },
    run: async (world, txs: ParsedTransaction[]) => confirm(world, txs, txs.length),
  },
  {
    call: 'a block',
    input: '4,000 payments to the wallet',
    prepare: async (world) => {
      await wallet(world);
      const scripts = await addresses(world, 300);
      return Array.from({ length: 4000 }, (_, i) => payTo(i, [scripts[i % 300]!]));
    },
    run: async (world, txs: ParsedTransaction[]) => confirm(world, txs, txs.length),
  },
  {
    call: 'getnewaddress',
    input: 'the first of multi_a of 999 keys',
    prepare: async (world) => {
      await watching(world);
      const key = 'a34b99f22c790c4e36b2b3c2c35a36db06226e41c692fc82b8b56ac1c540c5bd';
      const desc = `tr(${key},multi_a(1,${xpubs(999, '/*')}))`;
      await world.act('walletImport', NAME, [importOf(desc, { active: true, range: 2 })]);
      await world.act('walletUnload', NAME, false);
      await world.act('walletLoad', NAME, false);
    },
    run: ({ act }) => act('walletNewAddress', NAME, 'bech32m', ''),
  },
  {
    call: 'a block',
    input: 'a payment to multi_a of 999 keys',
    prepare: async (world) => {
      await watching(world);
      const key = 'a34b99f22c790c4e36b2b3c2c35a36db06226e41c692fc82b8b56ac1c540c5bd';
      const desc = `tr(${key},multi_a(1,${xpubs(999, '/*')}))`;
      await world.act('walletImport', NAME, [importOf(desc, { active: true, range: 3 })]);
      const { scripts, vault } = world.manager.wallet(NAME);
      const script = scripts.descriptors()[0]!.expand(1, vault.available())!.scripts[0]!;
      await world.act('walletUnload', NAME, false);
      await world.act('walletLoad', NAME, false);
      return script;
    },
    run: async (world, script: Uint8Array) => confirm(world, [payTo(1, [script])]),
  },
];
