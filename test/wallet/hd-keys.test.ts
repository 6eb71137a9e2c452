import { describe, expect, test } from 'bun:test';
import { regtest } from '../../src/params/regtest.ts';
import { runSteps } from '../../src/util/slices.ts';
import { parseDescriptor } from '../../src/wallet/descriptor/parse-descriptor.ts';
import { createDescriptor } from '../../src/wallet/descriptor-commands.ts';
import { addHdKey, deriveHdKey, hdKeys } from '../../src/wallet/hd-keys.ts';
import { importDescriptors } from '../../src/wallet/import-descriptors.ts';
import { ExtendedPrivateKey, fingerprintOf, formatExtendedPublicKey } from '../../src/wallet/keys/extended-key.ts';
import { TIME_0, WalletFixture } from './wallet-fixture.ts';

const { bip32 } = regtest;
const BLANK = { blank: true };
const key = ExtendedPrivateKey.fromSeed(new Uint8Array(32).fill(7));
const xprv = key.revealText(bip32);
const xpub = formatExtendedPublicKey(key.neuter(), bip32);
const other = ExtendedPrivateKey.fromSeed(new Uint8Array(32).fill(8));
const H = 0x8000_0000;

function message(work: () => unknown): string {
  try {
    work();
    return 'nothing thrown';
  } catch (error) {
    return (error as Error).message;
  }
}

describe('HD keys of a wallet', () => {
  test("gethdkeys lists the key of the wallet's own descriptors", () => {
    using it = new WalletFixture();
    const [only, ...more] = runSteps(hdKeys(it.wallet, false, false));
    expect(more).toEqual([]);
    expect(only).toMatchObject({ hasPrivate: true, xprv: null });
    expect(only!.descriptors).toHaveLength(8);
    expect(only!.descriptors.every(({ active, text }) => active && text.includes('/0h]tpub'))).toBe(true);
    const [shown] = runSteps(hdKeys(it.wallet, true, true));
    expect(formatExtendedPublicKey(ExtendedPrivateKey.parse(shown!.xprv!, bip32)!.neuter(), bip32)).toBe(only!.xpub);
  });

  test('a key is added, with and without descriptors of its own', async () => {
    using it = new WalletFixture(BLANK);
    const { wallet } = it;
    expect(runSteps(hdKeys(wallet, false, true))).toEqual([]);
    expect(addHdKey(wallet, xprv)).toBe(xpub);
    expect(wallet.store.meta('birthTime')).toBe(TIME_0);
    const [added] = runSteps(hdKeys(wallet, false, true));
    expect(added).toMatchObject({ xpub, xprv, hasPrivate: true, descriptors: [{ active: false }] });
    expect(added!.descriptors[0]!.text).toStartWith(`unused(${xpub})#`);
    expect(runSteps(hdKeys(wallet, true, false))).toEqual([]);
    expect(wallet.hasFlag('blank')).toBe(true);
    createDescriptor(wallet, 'bech32', false, xpub);
    expect(wallet.hasFlag('blank')).toBe(false);
    expect(runSteps(hdKeys(wallet, true, false))).toMatchObject([{ xpub, descriptors: [{ active: true }] }]);
    expect(runSteps(hdKeys(wallet, false, false))[0]!.descriptors).toHaveLength(2);
    await it.reopen();
    expect(runSteps(hdKeys(it.wallet, false, true))[0]).toMatchObject({ xpub, xprv });
    expect(addHdKey(it.wallet, null)).toStartWith('tpub');
    expect(runSteps(hdKeys(it.wallet, false, false))).toHaveLength(2);
  });

  test('addhdkey rejects keys that cannot be added', () => {
    using it = new WalletFixture(BLANK);
    addHdKey(it.wallet, xprv);
    expect(message(() => addHdKey(it.wallet, xprv))).toBe('HD key already exists');
    expect(message(() => addHdKey(it.wallet, xpub))).toBe(
      'Extended public key (xpub) provided, but extended private key (xprv) is required',
    );
    expect(message(() => addHdKey(it.wallet, 'xprv'))).toBe('Could not parse HD key');
    using watching = new WalletFixture({ disablePrivateKeys: true });
    expect(message(() => addHdKey(watching.wallet, xprv))).toBe(
      'addhdkey is not available for wallets without private keys',
    );
  });

  test('a key is derived as in BIP-32', () => {
    using it = new WalletFixture(BLANK);
    addHdKey(it.wallet, xprv);
    const child = key.derivePath([87 + H, 1 + H, 0 + H, 2])!;
    const derived = deriveHdKey(it.wallet, "m/87h/1'/0h/2", null, true);
    const fingerprint = fingerprintOf(key.neuter().publicKey).toHex();
    expect(derived).toEqual({
      origin: `[${fingerprint}/87h/1h/0h/2]`,
      xpub: formatExtendedPublicKey(child.neuter(), bip32),
      xprv: child.revealText(bip32),
    });
    expect(deriveHdKey(it.wallet, '87h', xpub, false)).toMatchObject({ origin: `[${fingerprint}/87h]`, xprv: null });
    // Purpose: a descriptor of the wallet's own keys.
    expect(parseDescriptor(`wpkh(${derived.origin}${derived.xpub}/<0;1>/*)`, regtest).ok).toBe(true);
  });

  test('derivehdkey chooses the unused or active key', async () => {
    using own = new WalletFixture();
    const [active] = runSteps(hdKeys(own.wallet, true, true));
    const expected = ExtendedPrivateKey.parse(active!.xprv!, bip32)!.derivePath([H])!;
    const found = deriveHdKey(own.wallet, 'm/0h', null, false);
    expect(found.xpub).toBe(formatExtendedPublicKey(expected.neuter(), bip32));
    // One that is kept unused comes first.
    addHdKey(own.wallet, xprv);
    expect(deriveHdKey(own.wallet, 'm/0h', null, true).xprv).toBe(key.derivePath([H])!.revealText(bip32));
    expect(deriveHdKey(own.wallet, 'm/0h', active!.xpub, false)).toEqual(found);
    addHdKey(own.wallet, other.revealText(bip32));
    expect(message(() => deriveHdKey(own.wallet, 'm/0h', null, false))).toBe(
      "Unable to determine which HD key to use. Please specify with 'hdkey'",
    );
  });

  test('derivehdkey rejects paths and keys that it cannot derive', async () => {
    using it = new WalletFixture(BLANK);
    const fails = (path: string, name: string | null = null) =>
      message(() => deriveHdKey(it.wallet, path, name, false));
    expect(fails('m/x')).toBe('Invalid BIP32 keypath');
    expect(fails('m/0/1')).toBe('Derivation path requires at least one hardened step');
    expect(fails('m')).toBe('Derivation path requires at least one hardened step');
    expect(fails('m/0h')).toBe('No active or unused(KEY) descriptor found');
    expect(fails('m/0h', 'xpub')).toBe('Unable to parse HD key. Please provide a valid xpub');
    expect(fails('m/0h', xpub)).toBe('HD key is not used by an active or unused(KEY) descriptor');
    using watching = new WalletFixture({ disablePrivateKeys: true });
    expect(message(() => deriveHdKey(watching.wallet, 'm/0h', null, false))).toBe(
      'derivehdkey is not available for watch-only wallets',
    );
    using two = new WalletFixture(BLANK);
    for (const each of [key, other]) {
      addHdKey(two.wallet, each.revealText(bip32));
      createDescriptor(
        two.wallet,
        each === key ? 'bech32' : 'bech32m',
        false,
        formatExtendedPublicKey(each.neuter(), bip32),
      );
    }
    expect(message(() => deriveHdKey(two.wallet, 'm/0h', null, false))).toContain('Unable to determine');
  });

  test('a locked wallet shows only public keys, and derives and adds none', async () => {
    using it = new WalletFixture();
    await it.wallet.encrypt(Buffer.from('secret'));
    expect(runSteps(hdKeys(it.wallet, true, false))[0]!.hasPrivate).toBe(true);
    const locked = 'Error: Please enter the wallet passphrase with walletpassphrase first.';
    expect(message(() => runSteps(hdKeys(it.wallet, true, true)))).toBe(locked);
    expect(message(() => addHdKey(it.wallet, null))).toBe(locked);
    expect(message(() => deriveHdKey(it.wallet, 'm/0h', null, true))).toBe(locked);
    await it.wallet.unlock(Buffer.from('secret'), 60);
    addHdKey(it.wallet, xprv);
    expect(runSteps(hdKeys(it.wallet, false, true)).find((each) => each.xpub === xpub)!.xprv).toBe(xprv);
  });

  test('a key without its private key is listed as such', async () => {
    using it = new WalletFixture({ disablePrivateKeys: true });
    const text = `wpkh(${xpub}/0/*)`;
    const parsed = parseDescriptor(text, regtest);
    if (!parsed.ok) throw new Error(parsed.error);
    await importDescriptors(it.wallet, [
      { desc: parsed.descriptors[0]!.toString(), timestamp: 'now', active: true },
    ]).catch(() => {});
    expect(runSteps(hdKeys(it.wallet, false, true))).toMatchObject([{ xpub, xprv: null, hasPrivate: false }]);
  });

  test('keys that were unlocked before others were added are wiped when the wallet is locked', async () => {
    using it = new WalletFixture(BLANK);
    const { wallet } = it;
    addHdKey(wallet, xprv);
    await wallet.encrypt(Buffer.from('secret'));
    await wallet.unlock(Buffer.from('secret'), 60);
    const open = wallet.vault.provider().privateKey(key.key.id)!;
    expect(open.reveal()).toEqual(key.key.reveal());
    addHdKey(wallet, other.revealText(bip32));
    wallet.lock();
    expect(open.reveal()).toEqual(new Uint8Array(32));
  });
});
