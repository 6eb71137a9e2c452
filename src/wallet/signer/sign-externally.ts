import { txidOf } from '../../primitives/transaction.ts';
import { bytesToHex, DecodeError, equalBytes } from '../../util/bytes.ts';
import type { Log } from '../../util/log.ts';
import type { Steps } from '../../util/slices.ts';
import { decodePsbtBase64Steps } from '../psbt/decode-psbt.ts';
import { encodePsbtBase64Steps } from '../psbt/encode.ts';
import type { Psbt, PsbtInput } from '../psbt/psbt.ts';
import { finalizePsbtSteps, isFinalized } from '../psbt/sign-psbt.ts';
import { unsignedTx } from '../psbt/unsigned-tx.ts';
import { walletFail } from '../wallet-error.ts';
import type { ExternalSigner } from './external-signer.ts';

interface ExternallySigning {
  readonly name: string;
  readonly deps: { readonly signer: ExternalSigner; readonly log: Log };
  inSlices<T>(steps: Steps<T>): Promise<T>;
}

/**
 * Has the connected signer sign a PSBT that contains the origins of its keys, and finalizes it on request. What the signer
 * returns replaces the PSBT, as in Core. Throws WalletError.
 */
export async function signExternally(wallet: ExternallySigning, psbt: Psbt, finalize: boolean): Promise<Psbt> {
  const { signer, log } = wallet.deps;
  if (psbt.inputs.every(isFinalized)) return psbt;
  const failed = (reason: string) => {
    log.warn('the external signer has not signed', { wallet: wallet.name, reason });
    return walletFail('verify', 'External signer failed to sign');
  };
  const found = await signer.find();
  if ('missing' in found) {
    log.warn('external signer not found', { wallet: wallet.name, reason: found.missing });
    return walletFail('verify', 'External signer not found');
  }
  const { fingerprint } = found;
  if (!psbt.inputs.some((input) => hasKeyOf(input, fingerprint.toLowerCase())))
    return failed(`its fingerprint ${fingerprint} is that of no key in the transaction`);
  const text = await wallet.inSlices(encodePsbtBase64Steps(psbt));
  const answer = await signer.sign(found, text);
  if ('error' in answer) return failed(answer.error);
  const signed = await wallet.inSlices(decoded(answer.psbt));
  if ('error' in signed) return failed(`its PSBT cannot be read: ${signed.error}`);
  const [asked, returned] = [unsignedTx(psbt), unsignedTx(signed.psbt)];
  if (asked === null || returned === null || !equalBytes(txidOf(asked), txidOf(returned)))
    log.warn('the external signer has returned another transaction than the requested one', { wallet: wallet.name });
  return finalize ? (await wallet.inSlices(finalizePsbtSteps(signed.psbt))).psbt : signed.psbt;
}

function* decoded(text: string): Steps<{ psbt: Psbt } | { error: string }> {
  try {
    return { psbt: yield* decodePsbtBase64Steps(text) };
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return { error: error.message };
  }
}

/** Returns whether an input lists a key below the master key with this fingerprint. */
function hasKeyOf({ derivations, tapDerivations }: PsbtInput, fingerprint: string): boolean {
  return [...derivations.values(), ...tapDerivations.values()].some(
    ({ origin }) => bytesToHex(origin.fingerprint) === fingerprint,
  );
}
