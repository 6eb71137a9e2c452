import { parseTransaction } from '../../primitives/block.ts';
import type { Txid } from '../../primitives/hash.ts';
import type { Transaction } from '../../primitives/transaction.ts';
import type { Psbt, PsbtInput, PsbtOutput } from '../psbt/psbt.ts';
import { isSignedAndVerified, psbtContext, utxoOf } from '../psbt/sign-psbt.ts';
import { processPsbt } from '../psbt/update.ts';
import { hideFrom } from '../signing/providers.ts';
import type { Wallet } from '../wallet.ts';
import { walletFail } from '../wallet-error.ts';
import { ListedKeys } from './listed-keys.ts';
import { ensureOwnOutputs } from './own-outputs.ts';
import { signingData } from './spendable.ts';

export interface FillOptions {
  readonly sign: boolean;
  /** Whether origins of keys are filled in. */
  readonly derivations: boolean;
  /** Null for what each input asks for. */
  readonly sighashType?: number | null;
  readonly finalize?: boolean;
}

/** Fills in what the wallet knows, and signs where that is asked for. Core's FillPSBT. Throws WalletError. */
export function fillPsbt(wallet: Wallet, psbt: Psbt, options: FillOptions): { psbt: Psbt; complete: boolean } {
  const { sign, derivations, sighashType = null, finalize = true } = options;
  if (sign) ensureOwnOutputs(wallet, psbt.outputs);
  using listed = new ListedKeys(wallet);
  using used = new DisposableStack();
  // Each place is told of its own scripts alone, as what is known of aggregate keys is written there.
  const providerOf = (place: PsbtInput | PsbtOutput) => {
    const script = ('scriptPubKey' in place ? place : utxoOf(place))?.scriptPubKey;
    const data = used.use(signingData(wallet, script ? [script] : [], sign));
    if (sign && !('scriptPubKey' in place)) {
      listed.addTo(data, place, script ?? null);
      data.musigNonces = wallet.vault.musigNonces;
    }
    return hideFrom(data, { privateKeys: !sign, origins: !derivations });
  };
  const lookup = { transaction: (txid: Txid) => ownTransaction(wallet, txid), coin: () => null };
  const filled = processPsbt(psbt, lookup, providerOf, { sighashType, finalize });
  if (!filled.ok) return walletFail('deserialization', filled.error);
  const context = psbtContext(filled.value);
  const complete = context !== null && filled.value.inputs.every((input, i) => isSignedAndVerified(context, input, i));
  return { psbt: filled.value, complete };
}

function ownTransaction({ store }: Wallet, txid: Txid): Transaction | null {
  const own = store.txs.byTxid(txid);
  return own && parseTransaction(store.txs.raw(own.id)).tx;
}
