import { describe, expect, test } from 'bun:test';
import { mainnet } from '../../../src/params/mainnet.ts';
import { regtest } from '../../../src/params/regtest.ts';
import { addressOf } from '../../../src/script/address.ts';
import type { KeyEncoding, OutputType } from '../../../src/wallet/descriptor/descriptor.ts';
import { DescriptorCache } from '../../../src/wallet/descriptor/descriptor-cache.ts';
import { ExtendedPrivateKey, formatExtendedPublicKey } from '../../../src/wallet/keys/extended-key.ts';
import { NO_SIGNING_DATA, SigningData } from '../../../src/wallet/keys/signing-data.ts';
import { ADDRESS_TYPES, ownDescriptor } from '../../../src/wallet/scripts/own-descriptors.ts';

describe('the default descriptors of a master key', () => {
  // The root key of BIP-84 and BIP-86, of eleven times "abandon" and "about".
  const master = ExtendedPrivateKey.parse(
    'xprv9s21ZrQH143K3GJpoapnV8SFfukcVBSfeCficPSGfubmSFDxo1kuHnLisriDvSnRRuL2Qrg5ggqHKNVpxR86QEC8w35uxmGoggxtQTPvfUu',
    mainnet.bip32,
  )!;
  const keys = new SigningData();
  keys.addPrivateKey(master.key);
  const xpub = ({ bip32 }: Pick<KeyEncoding, 'bip32'>) => formatExtendedPublicKey(master.neuter(), bip32);

  // BIP-84 and BIP-86 have these addresses; the first two are those of other wallets.
  test.each([
    ['legacy', false, '1LqBGSKuX5yYUonjxT5qGfpUsXKYYWeabA'],
    ['p2sh-segwit', false, '37VucYSaXLCAsxYyAPfbSi9eh4iEcbShgf'],
    ['bech32', false, 'bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu'],
    ['bech32', true, 'bc1q8c6fshw2dlwun7ekn9qwf37cu2rn755upcp6el'],
    ['bech32m', false, 'bc1p5cyxnuxmeuwuvkwfem96lqzszd02n6xdcjrs20cac6yqjjwudpxqkedrcr'],
    ['bech32m', true, 'bc1p3qkhfews2uk44qtvauqyr2ttdsw7svhkl9nkm9s9c3x4ax5h60wqwruhk7'],
  ] as [OutputType, boolean, string][])('%s, internal %p, begin with the known address', (type, internal, address) => {
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

  test('have the paths of BIP-44, BIP-49, BIP-84 and BIP-86', () => {
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

  test('fill a cache once: later addresses add nothing to it', () => {
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
