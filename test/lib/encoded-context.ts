import type { SignatureEngine } from '../../src/crypto/signature-engine.ts';
import { encodeTransaction, type Transaction, type TxOutput } from '../../src/primitives/transaction.ts';
import { writeUndoRecord } from '../../src/primitives/undo.ts';
import { DecodedTxContext } from '../../src/script/decoded-tx-context.ts';
import { EncodedTxContext } from '../../src/script/encoded-tx-context.ts';
import type { ScriptError } from '../../src/script/script-error.ts';
import { checkInput } from '../../src/script/tx-checker.ts';
import { ByteWriter } from '../../src/util/bytes.ts';

/** Returns the context of a transaction as verify workers read it, between other bytes. */
export function encodedContext(tx: Transaction, spentOutputs: readonly TxOutput[]): EncodedTxContext {
  const w = new ByteWriter();
  w.u32(0xffff_ffff);
  encodeTransaction(w, tx, { witness: true });
  const spentAt = w.length;
  for (const { value, scriptPubKey } of spentOutputs) writeUndoRecord(w, 7, value, scriptPubKey);
  w.u32(0xffff_ffff);
  return new EncodedTxContext(w.finish(), 4, spentAt);
}

/** Returns a function that verifies an input of a transaction in both of its forms. It throws if the results differ. */
export function inputVerifier(
  tx: Transaction,
  spentOutputs: readonly TxOutput[],
  engine: SignatureEngine,
): (index: number, flags: number) => ScriptError {
  const decoded = new DecodedTxContext(tx, spentOutputs);
  const encoded = encodedContext(tx, spentOutputs);
  return (index, flags) => {
    const error = checkInput(decoded, index, flags, engine);
    const other = checkInput(encoded, index, flags, engine);
    if (error !== other) throw new Error(`${error} for a decoded transaction, ${other} for an encoded one`);
    return error;
  };
}
