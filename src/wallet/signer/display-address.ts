import { addressOf } from '../../script/address.ts';
import type { Wallet } from '../wallet.ts';
import { walletFail } from '../wallet-error.ts';

/** Displays an address of the wallet on its external signer. Core's DisplayAddress. Throws WalletError. */
export async function displayAddress(wallet: Wallet, script: Uint8Array): Promise<null> {
  const { signer, params } = wallet.deps;
  await wallet.inSlices(wallet.scripts.deriveScriptSteps(script));
  const descriptor = wallet.store.write(() => wallet.scripts.solvedText(script));
  if (descriptor === null || !wallet.hasFlag('external_signer'))
    return walletFail('misc', 'There is no ScriptPubKeyManager for this address');
  await signer.displayAddress(await signer.only(), descriptor, addressOf(script, params.address)!);
  return null;
}
