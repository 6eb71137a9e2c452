import { hash160 } from '../crypto/hash-functions.ts';
import { unixSeconds } from '../util/clock.ts';
import type { Steps } from '../util/slices.ts';
import { onlyActiveKey } from './hd-keys.ts';
import { formatExtendedPublicKey, parseExtendedPublicKey } from './keys/extended-key.ts';
import { type AddressType, ownDescriptor } from './scripts/own-descriptors.ts';
import type { Wallet } from './wallet.ts';
import { walletFail } from './wallet-error.ts';

/** Returns the descriptors with their private keys, one a step. Throws WalletError while the wallet is locked. */
export function* privateDescriptors(wallet: Wallet): Steps<{ id: number; text: string }[]> {
  if (wallet.hasFlag('disable_private_keys'))
    walletFail('wallet', "Can't get private descriptor string for watch-only wallets");
  const texts: { id: number; text: string }[] = [];
  for (const { id, descriptor } of wallet.scripts.descriptors()) {
    // Read again at each step: the wallet may have been locked in between.
    texts.push({ id, text: descriptor.toPrivateString(wallet.vault.provider()).text });
    yield;
  }
  return texts;
}

/**
 * Adds public descriptors for an address type that the wallet has none of yet; returns their texts. Throws WalletError.
 */
export function createDescriptor(
  wallet: Wallet,
  type: AddressType,
  internal: boolean | null,
  keyText: string | null,
): string[] {
  const { params, clock, keypool } = wallet.deps;
  wallet.ensureUnlockedAndSound();
  const provider = wallet.vault.provider();
  const key = keyText === null ? onlyActiveKey(wallet) : parseExtendedPublicKey(keyText, params.bip32);
  if (!key) return walletFail('invalidAddressOrKey', 'Unable to parse HD key. Please provide a valid xpub');
  const text = formatExtendedPublicKey(key, params.bip32);
  if (!provider.privateKey(hash160(key.publicKey)))
    return walletFail('invalidAddressOrKey', `Private key for ${text} is not known`);
  const added = wallet.store.write(() => {
    const made = (internal === null ? [false, true] : [internal]).flatMap((side) => {
      const descriptor = ownDescriptor(text, type, side, params);
      if (wallet.scripts.descriptorByKey(descriptor.id())) return [];
      const range = { rangeStart: 0, rangeEnd: keypool, nextIndex: 0 };
      const owned = wallet.scripts.addDescriptor({
        descriptor,
        createdAt: unixSeconds(clock),
        ...range,
        internal: side,
      });
      wallet.scripts.activate(owned, type, side);
      return owned.record.normalized;
    });
    if (made.length === 0) walletFail('wallet', 'Descriptor already exists');
    wallet.setFlag('blank', false);
    return made;
  });
  wallet.filler.fillLater();
  return added;
}
