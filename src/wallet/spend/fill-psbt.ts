import { parseTransaction } from '../../primitives/block.ts';
import type { Txid } from '../../primitives/hash.ts';
import type { Transaction } from '../../primitives/transaction.ts';
import { equalBytes } from '../../util/bytes.ts';
import type { Steps } from '../../util/slices.ts';
import { noteTxid } from '../psbt/known-txid.ts';
import type { Psbt, PsbtInput, PsbtOutput } from '../psbt/psbt.ts';
import { isSignedAndVerified, psbtContextSteps, utxoOf } from '../psbt/sign-psbt.ts';
import { processPsbtSteps } from '../psbt/update.ts';
import { signExternally } from '../signer/sign-externally.ts';
import { hideFrom } from '../signing/providers.ts';
import type { Wallet } from '../wallet.ts';
import { walletFail } from '../wallet-error.ts';
import { whileUnlocked } from './create-transaction.ts';
import { ListedKeys } from './listed-keys.ts';
import { ensureOwnOutputs } from './own-outputs.ts';
import { signingData } from './spendable.ts';

export interface FillOptions {
  readonly sign: boolean;
  /** Whether key origins are filled in. */
  readonly derivations: boolean;
  /** Null for the sighash type that each input requests. */
  readonly sighashType?: number | null;
  readonly finalize?: boolean;
}

export interface FilledPsbt {
  readonly psbt: Psbt;
  readonly complete: boolean;
}

/** Adds the wallet's data to a PSBT and signs it on request. Core's FillPSBT. Throws WalletError. */
export function* fillPsbtSteps(wallet: Wallet, psbt: Psbt, options: FillOptions): Steps<FilledPsbt> {
  const { sign, derivations, sighashType = null, finalize = true } = options;
  if (sign) yield* ensureOwnOutputs(wallet, psbt.outputs);
  using listed = new ListedKeys(wallet);
  using used = new DisposableStack();
  // Each input and output gets the data of its own scripts alone, since data of aggregate keys is written where it is
  // known.
  const providerOf = (place: PsbtInput | PsbtOutput) => {
    const script = ('scriptPubKey' in place ? place : utxoOf(place))?.scriptPubKey;
    const data = used.use(signingData(wallet, script ? [script] : [], sign));
    if (sign && !('scriptPubKey' in place)) {
      listed.addTo(data, place, script ?? null);
      data.musigNonces = wallet.vault.musigNonces;
    }
    return hideFrom(data, { privateKeys: !sign, origins: !derivations });
  };
  // Many inputs may spend outputs of one large transaction.
  let last: { readonly txid: Txid; readonly tx: Transaction | null } | null = null;
  const transaction = (txid: Txid) => {
    if (!last || !equalBytes(last.txid, txid)) last = { txid, tx: ownTransaction(wallet, txid) };
    return last.tx;
  };
  const lookup = { transaction, coin: () => null };
  const steps = processPsbtSteps(psbt, lookup, providerOf, { sighashType, finalize });
  const filled = yield* sign ? whileUnlocked(wallet, steps) : steps;
  if (!filled.ok) return walletFail('deserialization', filled.error);
  return { psbt: filled.value, complete: yield* isCompleteSteps(filled.value) };
}

/**
 * Adds the wallet's data to a PSBT and has it signed on request, by the external signer where that has the keys. Throws
 * WalletError.
 */
export async function fillAndSign(
  wallet: Wallet,
  psbt: Psbt,
  options: FillOptions,
  signal: AbortSignal | null = null,
): Promise<FilledPsbt> {
  if (!options.sign || !wallet.hasFlag('external_signer'))
    return wallet.inSlices(fillPsbtSteps(wallet, psbt, options), signal);
  const filled = await wallet.inSlices(fillPsbtSteps(wallet, psbt, { ...options, sign: false }), signal);
  const signed = await signExternally(wallet, filled.psbt, options.finalize ?? true);
  return { psbt: signed, complete: await wallet.inSlices(isCompleteSteps(signed), signal) };
}

/** Returns whether all inputs have signatures that are valid. */
function* isCompleteSteps(psbt: Psbt): Steps<boolean> {
  const context = yield* psbtContextSteps(psbt);
  if (context === null) return false;
  for (const [i, input] of psbt.inputs.entries()) {
    yield;
    if (!isSignedAndVerified(context, input, i)) return false;
  }
  return true;
}

function ownTransaction({ store }: Wallet, txid: Txid): Transaction | null {
  const own = store.txs.byTxid(txid);
  if (!own) return null;
  const { tx, txid: found } = parseTransaction(store.txs.raw(own.id));
  noteTxid(tx, found);
  return tx;
}
