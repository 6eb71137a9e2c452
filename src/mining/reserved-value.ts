import { witnessCommitmentIndex } from '../consensus/witness-commitment.ts';
import { encodeBlock, type ParsedBlock } from '../primitives/block.ts';
import { hasWitness } from '../primitives/transaction.ts';
import { ByteWriter } from '../util/bytes.ts';

/** The witness reserved value of a coinbase (BIP-141), zero by default. */
export const RESERVED_VALUE: Uint8Array = new Uint8Array(32);

/**
 * Returns the encoded block with the coinbase witness added if it is missing: miners often submit the coinbase in its
 * form before segwit, with a commitment (Core's UpdateUncommittedBlockStructures). Any other block is returned
 * unchanged.
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
