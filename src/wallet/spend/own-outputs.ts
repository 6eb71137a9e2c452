import type { TxOutput } from '../../primitives/transaction.ts';
import { equalBytes } from '../../util/bytes.ts';
import type { Steps } from '../../util/slices.ts';
import { DescriptorCache } from '../descriptor/descriptor-cache.ts';
import { hasOwnKey } from '../scripts/check-descriptor.ts';
import type { Wallet } from '../wallet.ts';
import { walletFail } from '../wallet-error.ts';

/**
 * Throws WalletError where an output counts as the wallet's although no private key of the wallet can spend it. Derives
 * the scripts from the private keys, not from the file. Outputs to others pass, and all outputs of a wallet without
 * private keys. The keys must be unlocked.
 */
export function* ensureOwnOutputs(wallet: Wallet, outputs: readonly Pick<TxOutput, 'scriptPubKey'>[]): Steps<void> {
  wallet.integrity.ensureSound();
  if (wallet.hasFlag('disable_private_keys')) return;
  /** Keys derived so far, by descriptor; null where the wallet has no key of it. */
  const derived = new Map<number, DescriptorCache | null>();
  for (const { scriptPubKey } of outputs) {
    yield;
    const records = wallet.scripts.scriptRecords(scriptPubKey);
    if (records.length === 0) continue;
    // Read again for each output: the wallet may be locked between two steps.
    const provider = wallet.vault.provider();
    const isOwn = records.some(({ descriptor: id, position }) => {
      const { descriptor } = wallet.scripts.descriptorById(id);
      let cache = derived.get(id);
      if (cache === undefined)
        derived.set(id, (cache = hasOwnKey(descriptor, position, provider) ? new DescriptorCache() : null));
      if (cache === null) return false;
      const expansion = descriptor.expandFromCache(position, cache) ?? descriptor.expand(position, provider, cache);
      return expansion?.scripts.some((script) => equalBytes(script, scriptPubKey)) ?? false;
    });
    if (!isOwn) {
      wallet.integrity.fail(
        `an output that counts as its own belongs to none of its private keys (script ${scriptPubKey.toHex()})`,
      );
      walletFail('wallet', `Error: ${wallet.integrity.warnings[0]}`);
    }
  }
}
