import {
  type Case,
  importOf,
  imports,
  keyHex,
  manyKeys,
  NAME,
  PASSPHRASE,
  wallet,
  watching,
  xpubOf,
  xpubs,
} from './world.ts';

/** Calls that work on keys, addresses and descriptors. */
export const KEY_CASES: readonly Case[] = [
  { call: 'createwallet', input: 'eight descriptors', run: (world) => wallet(world) },
  {
    call: 'createwallet',
    input: 'with a passphrase',
    run: (world) => wallet(world, { passphrase: PASSPHRASE.slice() }),
  },
  {
    call: 'keypoolrefill',
    input: '100,000',
    prepare: (world) => wallet(world),
    run: ({ act }) => act('walletRefillKeypool', NAME, 100_000),
  },
  {
    call: 'keypoolrefill',
    input: '2,000, filled before',
    prepare: async (world) => {
      await wallet(world);
      while (world.manager.wallet(NAME).filler.fillSome());
    },
    run: ({ act }) => act('walletRefillKeypool', NAME, 2000),
  },
  {
    call: 'getnewaddress',
    input: 'label of 1 MB',
    prepare: (world) => wallet(world),
    run: ({ act }) => act('walletNewAddress', NAME, 'bech32m', 'x'.repeat(1_000_000)),
  },
  {
    call: 'setlabel',
    input: 'label of 15 MB',
    prepare: async (world) => {
      await wallet(world);
      return world.act('walletNewAddress', NAME, 'bech32', '');
    },
    run: ({ act }, address) => act('walletSetLabel', NAME, address, 'x'.repeat(15_000_000)),
  },
  { call: 'importdescriptors', input: 'musig of 5,000 keys', ...imports(importOf(`tr(musig(${xpubs(5000)})/0/*)`)) },
  { call: 'importdescriptors', input: 'musig of 100 keys', ...imports(importOf(`tr(musig(${xpubs(100)})/0/*)`)) },
  {
    call: 'importdescriptors',
    input: 'musig of 100 ranged keys',
    ...imports(importOf(`tr(musig(${xpubs(100, '/*')}))`)),
  },
  {
    call: 'importdescriptors',
    input: 'multi_a of 999 keys',
    limit: 60,
    ...imports(importOf(`tr(${keyHex(5)},multi_a(1,${xpubs(999, '/*')}))`)),
  },
  {
    call: 'importdescriptors',
    input: 'wsh(multi) of 16 keys, range 1,000,000',
    ...imports(importOf(`wsh(multi(2,${xpubs(16, '/*')}))`, { range: 999_999 })),
  },
  {
    call: 'importdescriptors',
    input: 'tree of 8,192 keys',
    prepare: async (world) => {
      await watching(world);
      const tree = (from: number, count: number): string =>
        count === 1 ? `pk(${keyHex(from)})` : `{${tree(from, count / 2)},${tree(from + count / 2, count / 2)}}`;
      return [importOf(`tr(${keyHex(0)},${tree(0, 8192)})`)];
    },
    run: ({ act }, requests) => act('walletImport', NAME, requests),
  },
  {
    call: 'importdescriptors',
    input: '4,000 paths <0;1;…>',
    ...imports(importOf(`wpkh(${xpubOf(1)}/<${Array.from({ length: 4000 }, (_, i) => i).join(';')}>/*)`)),
  },
  {
    call: 'importdescriptors',
    input: '10,000 descriptors',
    prepare: async (world) => {
      await watching(world);
      return Array.from({ length: 10_000 }, (_, i) => importOf(`wpkh(${keyHex(i)})`));
    },
    run: ({ act }, requests) => act('walletImport', NAME, requests),
  },
  {
    call: 'listdescriptors true',
    input: '5,000 descriptors with private keys',
    prepare: (world) => manyKeys(world, 5000),
    run: ({ act }) => act('walletPrivateDescriptors', NAME),
  },
  {
    call: 'gethdkeys',
    input: '5,000 descriptors with private keys',
    prepare: (world) => manyKeys(world, 5000),
    run: ({ act }) => act('walletHdKeys', NAME, false, true),
  },
  {
    call: 'derivehdkey',
    input: '255 steps',
    prepare: (world) => wallet(world),
    run: ({ act }) => act('walletDeriveHdKey', NAME, `m${'/1h'.repeat(255)}`, null, true),
  },
  {
    call: 'createwalletdescriptor',
    input: 'beside 5,000 descriptors',
    prepare: (world) => manyKeys(world, 5000),
    run: ({ act }) => act('walletCreateDescriptor', NAME, 'bech32', null, xpubOf(0)),
  },
  {
    call: 'addhdkey',
    input: 'beside 5,000 descriptors',
    prepare: (world) => manyKeys(world, 5000),
    run: ({ act }) => act('walletAddHdKey', NAME, null),
  },
  {
    call: 'encryptwallet',
    input: '5,000 keys',
    prepare: (world) => manyKeys(world, 5000),
    run: ({ act }) => act('walletEncrypt', NAME, PASSPHRASE.slice(), 'bench'),
  },
  {
    call: 'walletpassphrase',
    input: '5,000 keys, the first address then',
    prepare: async (world) => {
      await manyKeys(world, 5000);
      await world.act('walletEncrypt', NAME, PASSPHRASE.slice(), 'bench');
    },
    run: async ({ act }) => {
      await act('walletUnlock', NAME, PASSPHRASE.slice(), 60, 'bench');
      return act('walletNewAddress', NAME, 'bech32', '');
    },
  },
  {
    call: 'walletpassphrasechange',
    input: '',
    prepare: (world) => wallet(world, { passphrase: PASSPHRASE.slice() }),
    run: ({ act }) => act('walletChangePassphrase', NAME, PASSPHRASE.slice(), Uint8Array.of(121), 'bench'),
  },
];
