import type { NetworkParams } from '../../params/network-params.ts';
import { type Clock, unixSeconds } from '../../util/clock.ts';
import type { Descriptor } from '../descriptor/descriptor.ts';
import { parseDescriptor } from '../descriptor/parse-descriptor.ts';
import { hideSecrets } from '../keys/hide-secrets.ts';
import type { WalletScripts } from '../scripts/wallet-scripts.ts';
import type { WalletStore } from '../store/wallet-store.ts';
import { walletFail } from '../wallet-error.ts';
import type { ExternalSigner } from './external-signer.ts';

/** A descriptor of an external signer, for addresses or for change. */
export interface SignerDescriptor {
  readonly descriptor: Descriptor;
  readonly internal: boolean;
}

/** Characters; those of one key with its origin have less than 200. */
const MAX_TEXT = 10_000;

/** Requests the descriptors of the first account of the connected signer. Throws WalletError. */
export async function signerDescriptors(signer: ExternalSigner, params: NetworkParams): Promise<SignerDescriptor[]> {
  const { receive, internal } = await signer.descriptors(await signer.only(), 0);
  return [
    ...receive.flatMap((text) => readDescriptor(text, false, params)),
    ...internal.flatMap((text) => readDescriptor(text, true, params)),
  ];
}

/** Returns nothing for a descriptor of no type of address, which Core skips as well. */
function readDescriptor(text: string, internal: boolean, params: NetworkParams): SignerDescriptor[] {
  const invalid = (error: string) =>
    walletFail(
      'misc',
      `SetupDescriptorScriptPubKeyMans: Invalid descriptor "${hideSecrets(text.slice(0, MAX_TEXT))}" (${error})`,
    );
  if (text.length > MAX_TEXT) return invalid(`it has ${text.length} characters; at most ${MAX_TEXT} are allowed`);
  const parsed = parseDescriptor(text, params, { requireChecksum: false });
  if (!parsed.ok) return invalid(parsed.error);
  using keys = parsed.keys;
  if (keys.privateKeys.size > 0) return invalid('it contains private keys');
  const descriptor = parsed.descriptors[0]!;
  if (descriptor.outputType === null) return [];
  return descriptor.isRange ? [{ descriptor, internal }] : invalid('it has no range of addresses');
}

/** Adds the descriptors of a signer to a new wallet, each as the active one of its type. */
export function addSignerDescriptors(
  wallet: {
    readonly store: WalletStore;
    readonly scripts: WalletScripts;
    readonly deps: { readonly clock: Clock; readonly keypool: number };
  },
  added: readonly SignerDescriptor[],
): void {
  const { store, scripts, deps } = wallet;
  if (added.length === 0) return;
  store.write(() => {
    const createdAt = unixSeconds(deps.clock);
    const range = { rangeStart: 0, rangeEnd: deps.keypool, nextIndex: 0 };
    for (const { descriptor, internal } of added) {
      const owned = scripts.addDescriptor({ descriptor, createdAt, ...range, internal });
      scripts.activate(owned, descriptor.outputType!, internal);
    }
  });
}
