import { hash160 } from '../crypto/hash-functions.ts';
import { randomSecretBytes } from '../crypto/random-secret.ts';
import { compareBytes } from '../util/bytes.ts';
import { unixSeconds } from '../util/clock.ts';
import { runSteps, type Steps } from '../util/slices.ts';
import { parseDescriptor } from './descriptor/parse-descriptor.ts';
import {
  ExtendedPrivateKey,
  type ExtendedPublicKey,
  encodeExtendedPublicKey,
  fingerprintOf,
  formatExtendedPublicKey,
  parseExtendedPublicKey,
} from './keys/extended-key.ts';
import { formatKeyPath, hasHardenedStep, parseKeyPath } from './keys/key-path.ts';
import type { SigningProvider } from './keys/signing-data.ts';
import type { OwnedDescriptor } from './scripts/owned-descriptor.ts';
import { SEED_SIZE, type Wallet } from './wallet.ts';
import { walletFail } from './wallet-error.ts';

/** An extended key that descriptors of the wallet contain. */
export interface HdKeyView {
  readonly xpub: string;
  /** Null where it is unknown or was not requested. */
  readonly xprv: string | null;
  readonly hasPrivate: boolean;
  /** Public texts of the descriptors that contain it. */
  readonly descriptors: readonly { readonly text: string; readonly active: boolean }[];
}

export interface DerivedKeyView {
  /** Key origin: fingerprint of the parent key and the derivation steps. */
  readonly origin: string;
  readonly xpub: string;
  /** Null where it was not requested. */
  readonly xprv: string | null;
}

interface HdKey {
  readonly key: ExtendedPublicKey;
  readonly descriptors: Set<OwnedDescriptor>;
}

/** Lists the extended keys of the wallet with the descriptors that contain them. Throws WalletError. */
export function* hdKeys(wallet: Wallet, activeOnly: boolean, withPrivate: boolean): Steps<HdKeyView[]> {
  const { vault, deps } = wallet;
  const { bip32 } = deps.params;
  if (withPrivate) wallet.ensureUnlocked();
  const keys = yield* keysOfSteps(wallet, ({ record }) => !activeOnly || record.active !== null);
  const views: HdKeyView[] = [];
  for (const { key, descriptors } of keys.toSorted((x, y) => compareKeys(x.key, y.key))) {
    yield;
    // Read again at each step: the wallet may have been locked in between.
    const provider = withPrivate ? vault.provider() : null;
    views.push({
      xpub: formatExtendedPublicKey(key, bip32),
      xprv: (provider && privateKeyOf(key, provider)?.revealText(bip32)) ?? null,
      hasPrivate: vault.hasKey(hash160(key.publicKey)),
      descriptors: Array.from(descriptors, ({ record }) => ({
        text: record.normalized,
        active: record.active !== null,
      })).sort((x, y) => (x.text < y.text ? -1 : 1)),
    });
  }
  return views;
}

/**
 * Stores an extended private key, given or new, in an unused() descriptor. Returns its public key. Throws WalletError.
 */
export function addHdKey(wallet: Wallet, given: string | null): string {
  if (wallet.hasFlag('disable_private_keys'))
    walletFail('wallet', 'addhdkey is not available for wallets without private keys');
  wallet.ensureUnlockedAndSound();
  const { params, clock } = wallet.deps;
  using key = given === null ? newKey() : readPrivateKey(wallet, given);
  const xpub = formatExtendedPublicKey(key.neuter(), params.bip32);
  const parsed = parseDescriptor(`unused(${xpub})`, params);
  if (!parsed.ok) throw new Error(`a key cannot be made a descriptor: ${parsed.error}`);
  const descriptor = parsed.descriptors[0]!;
  if (wallet.scripts.descriptorByKey(descriptor.id())) walletFail('wallet', 'HD key already exists');
  wallet.store.write(() => {
    wallet.vault.addKeys([key.key]);
    const range = { rangeStart: 0, rangeEnd: 1, nextIndex: 0 };
    const owned = wallet.scripts.addDescriptor({
      descriptor,
      createdAt: unixSeconds(clock),
      ...range,
      internal: false,
    });
    wallet.scripts.topUp(owned);
  });
  return xpub;
}

/**
 * Derives a child of an extended key of the wallet at a path with a hardened step: of the key in `unused()` where there
 * is one, else of the active key, unless `keyText` names the key. Throws WalletError.
 */
export function deriveHdKey(
  wallet: Wallet,
  pathText: string,
  keyText: string | null,
  withPrivate: boolean,
): DerivedKeyView {
  const { bip32 } = wallet.deps.params;
  if (wallet.hasFlag('disable_private_keys'))
    walletFail('wallet', 'derivehdkey is not available for watch-only wallets');
  const path = parseKeyPath(pathText) ?? walletFail('invalidParameter', 'Invalid BIP32 keypath');
  if (!hasHardenedStep(path)) walletFail('invalidParameter', 'Derivation path requires at least one hardened step');
  const provider = wallet.vault.provider();
  const key = keyText === null ? onlyKey(wallet) : namedKey(wallet, keyText);
  const from =
    privateKeyOf(key, provider) ??
    walletFail('invalidAddressOrKey', `Private key for ${formatExtendedPublicKey(key, bip32)} is not known`);
  using child =
    from.derivePath(path) ?? walletFail('invalidParameter', 'Unable to derive HD key at the requested path');
  return {
    origin: `[${fingerprintOf(key.publicKey).toHex()}${formatKeyPath(path)}]`,
    xpub: formatExtendedPublicKey(child.neuter(), bip32),
    xprv: withPrivate ? child.revealText(bip32) : null,
  };
}

const isActive = ({ record }: OwnedDescriptor) => record.active !== null;
const isUnused = ({ descriptor }: OwnedDescriptor) => !descriptor.hasScripts;

function namedKey(wallet: Wallet, text: string): ExtendedPublicKey {
  const key =
    parseExtendedPublicKey(text, wallet.deps.params.bip32) ??
    walletFail('invalidAddressOrKey', 'Unable to parse HD key. Please provide a valid xpub');
  const known = keysOf(wallet, (owned) => isActive(owned) || isUnused(owned));
  if (!known.some((each) => nameOf(each.key) === nameOf(key)))
    walletFail('invalidAddressOrKey', 'HD key is not used by an active or unused(KEY) descriptor');
  return key;
}

function onlyKey(wallet: Wallet): ExtendedPublicKey {
  const unused = keysOf(wallet, isUnused);
  if (unused.length > 1)
    walletFail('invalidAddressOrKey', "Unable to determine which HD key to use. Please specify with 'hdkey'");
  if (unused.length === 1) return unused[0]!.key;
  if (keysOf(wallet, isActive).length === 0)
    walletFail('invalidAddressOrKey', 'No active or unused(KEY) descriptor found');
  return onlyActiveKey(wallet);
}

/** Returns the one key that all active descriptors share. Throws WalletError where there is none or more than one. */
export function onlyActiveKey(wallet: Wallet): ExtendedPublicKey {
  const [only, ...others] = keysOf(wallet, isActive);
  if (!only || others.length > 0)
    return walletFail(
      'invalidAddressOrKey',
      "Unable to determine which HD key to use from active descriptors. Please specify with 'hdkey'",
    );
  return only.key;
}

function keysOf(wallet: Wallet, isMeant: (owned: OwnedDescriptor) => boolean): HdKey[] {
  return runSteps(keysOfSteps(wallet, isMeant));
}

function* keysOfSteps(wallet: Wallet, isMeant: (owned: OwnedDescriptor) => boolean): Steps<HdKey[]> {
  const keys = new Map<string, HdKey>();
  for (const owned of wallet.scripts.descriptors()) {
    if (!isMeant(owned)) continue;
    for (const key of owned.descriptor.rootKeys().extendedKeys) {
      const known = keys.get(nameOf(key));
      if (known) known.descriptors.add(owned);
      else keys.set(nameOf(key), { key, descriptors: new Set([owned]) });
    }
    yield;
  }
  return [...keys.values()];
}

function nameOf(key: ExtendedPublicKey): string {
  return encodeExtendedPublicKey(key).toHex();
}

function compareKeys(a: ExtendedPublicKey, b: ExtendedPublicKey): number {
  return compareBytes(a.publicKey, b.publicKey) || compareBytes(a.chainCode, b.chainCode);
}

/** Combines the public key with the provider's private key, which stays the provider's. */
function privateKeyOf(key: ExtendedPublicKey, provider: SigningProvider): ExtendedPrivateKey | null {
  const secret = provider.privateKey(hash160(key.publicKey));
  return secret && new ExtendedPrivateKey(key, secret);
}

function newKey(): ExtendedPrivateKey {
  const seed = randomSecretBytes(SEED_SIZE);
  const key = ExtendedPrivateKey.fromSeed(seed);
  seed.fill(0);
  return key;
}

function readPrivateKey({ deps: { params } }: Wallet, text: string): ExtendedPrivateKey {
  const key = ExtendedPrivateKey.parse(text, params.bip32);
  if (key) return key;
  return walletFail(
    'invalidAddressOrKey',
    parseExtendedPublicKey(text, params.bip32)
      ? 'Extended public key (xpub) provided, but extended private key (xprv) is required'
      : 'Could not parse HD key',
  );
}
