import { COIN } from '../../../primitives/amount.ts';
import { hashToHex } from '../../../primitives/hash.ts';
import { type Transaction, type TxOutput, transactionBytes } from '../../../primitives/transaction.ts';
import { rpcFail } from '../../engine/rpc-error.ts';

/**
 * Returns the result of the methods that sign transactions. `errors` holds the errors of inputs with their index,
 * `outputs` the spent outputs, null if unknown. Throws RpcError if an amount is missing. Core's
 * SignTransactionResultToJSON.
 */
export function signedView(
  tx: Transaction,
  errors: Iterable<readonly [position: number, error: string]>,
  outputs: readonly (TxOutput | null)[],
) {
  const shown = Array.from(errors, ([i, error]) => {
    const { prevout, witness, scriptSig, sequence } = tx.inputs[i]!;
    if (error === 'Missing amount') rpcFail('type', `Missing amount for ${outputText(outputs[i]!)}`);
    return {
      txid: hashToHex(prevout.txid),
      vout: prevout.vout,
      witness: witness.map((item) => item.toHex()),
      scriptSig: scriptSig.toHex(),
      sequence,
      error,
    };
  });
  return {
    hex: transactionBytes(tx).toHex(),
    complete: shown.length === 0,
    ...(shown.length > 0 && { errors: shown }),
  };
}

/** Core's short form of an output. */
function outputText({ value, scriptPubKey }: TxOutput): string {
  const fraction = (value % COIN).toString().padStart(8, '0');
  return `CTxOut(nValue=${value / COIN}.${fraction}, scriptPubKey=${scriptPubKey.toHex().slice(0, 30)})`;
}
