import { parseDescriptor } from './descriptor/parse-descriptor.ts';
import { WalletStore } from './store/wallet-store.ts';
import { identityOf, Wallet } from './wallet.ts';
import { walletFail } from './wallet-error.ts';

/**
 * Writes a copy of the wallet without private keys into a new file: descriptors with the keys behind their last
 * hardened steps, transactions, addresses and labels. The file never contains a private key. Throws WalletError where
 * the wallet has no descriptors.
 */
export async function writeWatchOnlyCopy(wallet: Wallet, path: string): Promise<void> {
  const { scripts, signal, deps } = wallet;
  wallet.integrity.ensureSound();
  if (scripts.descriptors().length === 0) walletFail('wallet', 'Error: Wallet has no descriptors to export');
  // The copy cannot derive scripts of descriptors with hardened steps in their range.
  await wallet.filler.fillReserved(signal);
  WalletStore.create(path, identityOf(deps.params)).close();
  await wallet.copyTo(path, { withKeys: false });
  // Without the wallet's name, which may be registered as encrypted.
  const copy = await wallet.inSlices(Wallet.openSteps(path, '', deps));
  try {
    copy.setFlag('disable_private_keys', true);
    copy.store.write(() => showNormalized(copy));
  } finally {
    copy.close();
  }
}

/** Descriptor texts with the keys behind the last hardened steps. Of two that become equal, one stays. */
function showNormalized({ store: { keys }, deps }: Wallet): void {
  const kept = new Map<string, { readonly id: number; readonly key: Uint8Array; readonly text: string }>();
  const activeFirst = keys.descriptors().sort((a, b) => Number(a.active === null) - Number(b.active === null));
  for (const { id, normalized } of activeFirst) {
    const parsed = parseDescriptor(normalized, deps.params, { requireChecksum: true });
    if (!parsed.ok) throw new Error(`a descriptor of the wallet cannot be read: ${parsed.error}`);
    const descriptor = parsed.descriptors[0]!;
    const key = descriptor.id();
    if (kept.has(key.toHex())) keys.removeDescriptor(id);
    else kept.set(key.toHex(), { id, key, text: descriptor.toString() });
  }
  for (const { id, key, text } of kept.values()) keys.renameDescriptor(id, key, text);
}
