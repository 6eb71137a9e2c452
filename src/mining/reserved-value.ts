import { witnessCommitmentIndex } from '../consensus/witness-commitment.ts';
import { encodeBlock, type ParsedBlock } from '../primitives/block.ts';
import { hasWitness } from '../primitives/transaction.ts';
import { ByteWriter } from '../util/bytes.ts';

/** BIP-141: what the coinbase's witness holds where nothing else is agreed. */
export const RESERVED_VALUE: Uint8Array = new Uint8Array(32);

/**
 * The block with the witness its coinbase needs: miners often send the coinbase as it was before segwit, commitment and
 * all. Any other block comes back as it is.
 */
export function withReservedValue({ raw, header, txs }: ParsedBlock): Uint8Array {
  const coinbase = txs[0]?.tx;
  const input = coinbase?.inputs[0];
  if (!coinbase || !input || witnessCommitmentIndex(coinbase) < 0 || coinbase.inputs.some(hasWitness)) return raw;
  const complete = { ...coinbase, inputs: [{ ...input, witness: [RESERVED_VALUE] }, ...coinbase.inputs.slice(1)] };
  const w = new ByteWriter(raw.length + 64);
  encodeBlock(w, { header, transactions: [complete, ...txs.slice(1).map(({ tx }) => tx)] });
  return w.finish();
}
