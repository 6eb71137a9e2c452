import { signatureEngine } from '../crypto/secp256k1.ts';
import type { SignatureEngine } from '../crypto/signature-engine.ts';
import type { ParsedBlock } from '../primitives/block.ts';
import { readVarBytes } from '../primitives/compact-size.ts';
import type { Txid } from '../primitives/hash.ts';
import { merkleRoot } from '../primitives/merkle.ts';
import { NULL_VOUT } from '../primitives/outpoint.ts';
import { decodeWitness, type Transaction, type TxInput, txidOf } from '../primitives/transaction.ts';
import { DecodedTxContext } from '../script/decoded-tx-context.ts';
import { SCRIPT_FLAGS } from '../script/flags.ts';
import { Op } from '../script/opcodes.ts';
import { pushData } from '../script/script-builder.ts';
import { readOperations } from '../script/script-reader.ts';
import { checkInput } from '../script/tx-checker.ts';
import { ByteReader, concatBytes, DecodeError, equalBytes } from '../util/bytes.ts';
import type { ConsensusParams } from './consensus-params.ts';
import { witnessCommitmentIndex } from './witness-commitment.ts';

/** BIP-325: SIGNET_HEADER, the prefix of the push in the witness commitment that holds the solution. */
const SOLUTION_HEADER = Uint8Array.of(0xec, 0xc7, 0xda, 0xa2);

const SOLUTION_FLAGS = SCRIPT_FLAGS.P2SH | SCRIPT_FLAGS.WITNESS | SCRIPT_FLAGS.DERSIG | SCRIPT_FLAGS.NULLDUMMY;

/** Checks the signet solution of a block (BIP-325); true without a challenge. */
export function checkSignetSolution(
  block: ParsedBlock,
  { genesisHash, signetChallenge }: Pick<ConsensusParams, 'genesisHash' | 'signetChallenge'>,
  engine: SignatureEngine = signatureEngine(),
): boolean {
  if (signetChallenge === null || equalBytes(block.hash, genesisHash)) return true;
  const transactions = signetTransactions(block, signetChallenge);
  if (transactions === null) return false;
  const { toSpend, toSign } = transactions;
  return checkInput(new DecodedTxContext(toSign, toSpend.outputs), 0, SOLUTION_FLAGS, engine) === 'OK';
}

/** The virtual transactions of BIP-325. */
export interface SignetTransactions {
  /** `to_spend`: its output has the challenge as scriptPubKey; its scriptSig commits to the block. */
  readonly toSpend: Transaction;
  /** `to_sign`: spends that output with the solution. */
  readonly toSign: Transaction;
}

/**
 * Returns the virtual transactions of a block; null without a witness commitment, or with a solution that cannot be
 * decoded.
 */
export function signetTransactions(
  { raw, txs, txids }: Pick<ParsedBlock, 'raw' | 'txs' | 'txids'>,
  challenge: Uint8Array,
): SignetTransactions | null {
  const coinbase = txs[0]?.tx;
  if (!coinbase) return null;
  const index = witnessCommitmentIndex(coinbase);
  if (index < 0) return null;
  const { solution, remainder } = extractSolution(coinbase.outputs[index]!.scriptPubKey);
  // Without a solution the input stays empty, which a trivial challenge accepts.
  const unlocking = solution === null ? { scriptSig: new Uint8Array(), witness: [] } : readSolution(solution);
  if (unlocking === null) return null;

  // A solution cannot commit to itself, so it is removed from the coinbase for the modified merkle root.
  const outputs = coinbase.outputs.with(index, { ...coinbase.outputs[index]!, scriptPubKey: remainder });
  const hashes = txids.slice();
  hashes.set(txidOf({ ...coinbase, outputs }));
  const signed = concatBytes(raw.subarray(0, 36), merkleRoot(hashes).root, raw.subarray(68, 72));

  const toSpend = signetTransaction(
    {
      prevout: { txid: new Uint8Array(32) as Txid, vout: NULL_VOUT },
      scriptSig: concatBytes(Uint8Array.of(Op.OP_0), pushData(signed)),
      sequence: 0,
      witness: [],
    },
    challenge,
  );
  const toSign = signetTransaction(
    { prevout: { txid: txidOf(toSpend), vout: 0 }, sequence: 0, ...unlocking },
    Uint8Array.of(Op.OP_RETURN),
  );
  return { toSpend, toSign };
}

function signetTransaction(input: TxInput, scriptPubKey: Uint8Array): Transaction {
  return { version: 0, inputs: [input], outputs: [{ value: 0n, scriptPubKey }], locktime: 0 };
}

/** Returns the solution, and the script with the bare header in its place; without a solution the unchanged script. */
function extractSolution(script: Uint8Array): { solution: Uint8Array | null; remainder: Uint8Array } {
  const parts: Uint8Array[] = [];
  let solution: Uint8Array | null = null;
  for (const operation of readOperations(script)) {
    // Bytes that are no valid operation end the script, as in Core.
    if (operation === null) break;
    const { opcode, data } = operation;
    if (data.length === 0) parts.push(Uint8Array.of(opcode));
    else if (solution === null && isSolution(data)) {
      solution = data.subarray(SOLUTION_HEADER.length);
      parts.push(pushData(SOLUTION_HEADER));
    } else parts.push(pushData(data));
  }
  return { solution, remainder: solution === null ? script : concatBytes(...parts) };
}

function isSolution(data: Uint8Array): boolean {
  return data.length > SOLUTION_HEADER.length && equalBytes(data.subarray(0, SOLUTION_HEADER.length), SOLUTION_HEADER);
}

function readSolution(solution: Uint8Array): Pick<TxInput, 'scriptSig' | 'witness'> | null {
  try {
    const r = new ByteReader(solution);
    const scriptSig = readVarBytes(r);
    const witness = decodeWitness(r);
    return r.remaining === 0 ? { scriptSig, witness } : null;
  } catch (error) {
    if (error instanceof DecodeError) return null;
    throw error;
  }
}
