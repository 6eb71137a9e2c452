import { describe, expect, test } from 'bun:test';
import { mainnet } from '../../../src/params/mainnet.ts';
import { regtest } from '../../../src/params/regtest.ts';
import { addressOf } from '../../../src/script/address.ts';
import type { KeyEncoding, OutputType } from '../../../src/wallet/descriptor/descriptor.ts';
import { DescriptorCache } from '../../../src/wallet/descriptor/descriptor-cache.ts';
import { formatExtendedPublicKey } from '../../../src/wallet/keys/extended-key.ts';
import { hideSecrets } from '../../../src/wallet/keys/hide-secrets.ts';
import { checkMnemonic, createMnemonic, masterKeyOfMnemonic } from '../../../src/wallet/keys/mnemonic.ts';
import { PrivateKey } from '../../../src/wallet/keys/private-key.ts';
import { signMessage, verifyMessage } from '../../../src/wallet/keys/signed-message.ts';
import { NO_SIGNING_DATA, SigningData } from '../../../src/wallet/keys/signing-data.ts';
import { ADDRESS_TYPES, ownDescriptor } from '../../../src/wallet/scripts/own-descriptors.ts';

const ABOUT = `${'abandon '.repeat(11)}about`;

// From the vectors of BIP-39, all of which have the passphrase TREZOR.
test.each([
  [
    ABOUT,
    'xprv9s21ZrQH143K3h3fDYiay8mocZ3afhfULfb5GX8kCBdno77K4HiA15Tg23wpbeF1pLfs1c5SPmYHrEpTuuRhxMwvKDwqdKiGJS9XFKzUsAF',
  ],
  [
    'legal winner thank year wave sausage worth useful legal winner thank yellow',
    'xprv9s21ZrQH143K2gA81bYFHqU68xz1cX2APaSq5tt6MFSLeXnCKV1RVUJt9FWNTbrrryem4ZckN8k4Ls1H6nwdvDTvnV7zEXs2HgPezuVccsq',
  ],
])('%s', async (mnemonic, xprv) => {
  const key = await masterKeyOfMnemonic(mnemonic, 'TREZOR');
  expect(key!.revealText(mainnet.bip32)).toBe(xprv);
  expect(
    (await masterKeyOfMnemonic(`  ${mnemonic.toUpperCase().replaceAll(' ', '\n')} `, 'TREZOR'))!.key.reveal(),
  ).toEqual(key!.key.reveal());
  expect((await masterKeyOfMnemonic(mnemonic))!.key.reveal()).not.toEqual(key!.key.reveal());
});

test.each([12, 15, 18, 21, 24] as const)('new words: %i', async (count) => {
  const mnemonic = createMnemonic(count);
  expect(mnemonic.split(' ').length).toBe(count);
  expect(checkMnemonic(mnemonic)).toBeNull();
  expect(mnemonic).not.toBe(createMnemonic(count));
});

test('what is wrong with words', async () => {
  expect(checkMnemonic('abandon abandon')).toBe('word_count');
  expect(checkMnemonic('')).toBe('word_count');
  expect(checkMnemonic(ABOUT.replace('about', 'abouts'))).toBe('unknown_word');
  expect(checkMnemonic(ABOUT.replace('about', 'abandon'))).toBe('checksum');
  expect(await masterKeyOfMnemonic(ABOUT.replace('about', 'abandon'))).toBeNull();
});

describe('default descriptors', async () => {
  const master = (await masterKeyOfMnemonic(ABOUT))!;
  const keys = new SigningData();
  keys.addPrivateKey(master.key);

  const xpub = ({ bip32 }: Pick<KeyEncoding, 'bip32'>) => formatExtendedPublicKey(master.neuter(), bip32);

  // BIP-84 and BIP-86 have these addresses of that mnemonic; the first two are those of other wallets.
  test.each([
    ['legacy', false, '1LqBGSKuX5yYUonjxT5qGfpUsXKYYWeabA'],
    ['p2sh-segwit', false, '37VucYSaXLCAsxYyAPfbSi9eh4iEcbShgf'],
    ['bech32', false, 'bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu'],
    ['bech32', true, 'bc1q8c6fshw2dlwun7ekn9qwf37cu2rn755upcp6el'],
    ['bech32m', false, 'bc1p5cyxnuxmeuwuvkwfem96lqzszd02n6xdcjrs20cac6yqjjwudpxqkedrcr'],
    ['bech32m', true, 'bc1p3qkhfews2uk44qtvauqyr2ttdsw7svhkl9nkm9s9c3x4ax5h60wqwruhk7'],
  ] as [OutputType, boolean, string][])('%s, internal %p', (type, internal, address) => {
    const descriptor = ownDescriptor(xpub(mainnet), type, internal, mainnet);
    expect(descriptor.outputType).toBe(type);
    const cache = new DescriptorCache();
    const { scripts } = descriptor.expand(0, keys, cache)!;
    expect(addressOf(scripts[0]!, mainnet.address)).toBe(address);
    expect(descriptor.expandFromCache(0, cache)!.scripts).toEqual(scripts);
    expect(descriptor.expand(0, NO_SIGNING_DATA)).toBeNull();
    const [key] = descriptor.expandPrivate(0, keys);
    expect(descriptor.expandFromCache(0, cache)!.data.publicKey(key!.id)).toEqual(key!.publicKey);
  });

  test('their paths', () => {
    const text = (type: OutputType, internal: boolean) =>
      ownDescriptor(xpub(regtest), type, internal, regtest).toNormalizedString(keys)!;
    expect(ADDRESS_TYPES.map((type) => /\[73c5da0a(.*)\]tpub\w+(.*?)\)/.exec(text(type, false))!.slice(1, 3))).toEqual([
      ['/44h/1h/0h', '/0/*'],
      ['/49h/1h/0h', '/0/*'],
      ['/84h/1h/0h', '/0/*'],
      ['/86h/1h/0h', '/0/*'],
    ]);
    expect(text('bech32', true)).toContain('/1/*)#');
  });

  test('a cache keeps what was derived, and says what is new', () => {
    const descriptor = ownDescriptor(xpub(mainnet), 'bech32', false, mainnet);
    const cache = new DescriptorCache();
    const first = new DescriptorCache();
    descriptor.expand(0, keys, first);
    expect(cache.mergeAndDiff(first).size).toBe(2);
    const second = new DescriptorCache();
    descriptor.expand(7, keys, second);
    expect(cache.mergeAndDiff(second).size).toBe(0);
    expect(descriptor.toNormalizedString(NO_SIGNING_DATA, cache)).toBe(descriptor.toNormalizedString(keys));
    expect(descriptor.toNormalizedString(NO_SIGNING_DATA)).toBeNull();
    const other = ownDescriptor(xpub(mainnet), 'bech32', true, mainnet);
    expect(() => other.expand(0, keys, second)).toThrow();
  });
});

describe('signed messages', () => {
  const key = PrivateKey.fromWif('cUeKHd5orzT3mz8P9pxyREHfsWtVfgsfDjiZZBcjUBAaGk1BTj7N', 0xef)!;
  const message = 'This is just a test message';
  const signature = 'INbVnW4e6PeRmsv2Qgu8NuopvrVjkcxob+sX8OcZG0SALhWybUjzMLPdAsXI46YZGb0KQTRii+wWIQzRpG/U+S0=';

  test('are signed as Bitcoin Core does', () => {
    expect(signMessage(key, message)).toBe(signature);
    expect(verifyMessage(key.id, signature, message)).toBe(true);
    expect(verifyMessage(key.id, signature, `${message} `)).toBe(false);
    expect(verifyMessage(new Uint8Array(20), signature, message)).toBe(false);
    expect(verifyMessage(key.id, signMessage(key, 'käse 🧀'), 'käse 🧀')).toBe(true);
  });

  test('with an uncompressed key', () => {
    const uncompressed = new PrivateKey(key.reveal(), false);
    const signed = signMessage(uncompressed, message);
    expect(verifyMessage(uncompressed.id, signed, message)).toBe(true);
    expect(verifyMessage(key.id, signed, message)).toBe(false);
  });

  test.each([
    ['no Base64', 'malformed', null],
    ['a part of Base64', signature.slice(0, -1), null],
    ['bits left over', `${signature.slice(0, -2)}1=`, null],
    ['white space', ` ${signature.slice(1)}`, null],
    ['another length', 'AAAA', false],
    ['nothing', '', false],
    ['zeros', new Uint8Array(65).toBase64(), false],
  ])('%s', (_, text, verdict) => expect(verifyMessage(key.id, text, message)).toBe(verdict));
});

test('private keys are taken out of messages, other words stay', () => {
  const wif = 'cUeKHd5orzT3mz8P9pxyREHfsWtVfgsfDjiZZBcjUBAaGk1BTj7N';
  const xprv = `tprv${'8'.repeat(107)}`;
  expect(hideSecrets(`key '${wif}' or ${xprv}/0`)).toBe("key 'cUeK…' or tprv…/0");
  const harmless = 'musig(): derivation requires all participants to be xpubs or xprvs';
  expect(hideSecrets(harmless)).toBe(harmless);
  expect(hideSecrets('02'.repeat(33))).toBe('02'.repeat(33));
  expect(hideSecrets('bcrt1qt7pza5a6n0awfj0shwp7hyyrpqammac6rj05c6')).toContain('bcrt1qt7pza5');
});
