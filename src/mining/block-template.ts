import type { ConsensusParams } from '../consensus/consensus-params.ts';
import { COINBASE_SCRIPT_SIG_MAX, COINBASE_SCRIPT_SIG_MIN, MAX_SEQUENCE_NONFINAL } from '../consensus/limits.ts';
import { blockSubsidy } from '../consensus/subsidy.ts';
import { witnessCommitment, witnessCommitmentScript, witnessMerkleRoot } from '../consensus/witness-commitment.ts';
import type { Amount } from '../primitives/amount.ts';
import type { Block } from '../primitives/block.ts';
import type { BlockHash, MerkleRoot, Txid, Wtxid } from '../primitives/hash.ts';
import { merkleRoot } from '../primitives/merkle.ts';
import { NULL_VOUT } from '../primitives/outpoint.ts';
import { type Transaction, txidOf, wtxidOf } from '../primitives/transaction.ts';
import { Op } from '../script/opcodes.ts';
import { pushData, pushNumber } from '../script/script-builder.ts';
import { assert } from '../util/assert.ts';
import { concatBytes } from '../util/bytes.ts';
import { RESERVED_VALUE } from './reserved-value.ts';

/** The parent block, as a new block needs it. */
interface BlockParent {
  readonly hash: BlockHash;
  readonly height: number;
  readonly medianTimePast: number;
}

export interface BlockTemplateOptions {
  readonly parent: BlockParent;
  readonly bits: number;
  readonly version: number;
  /** Unix seconds; later than the parent's median time past. */
  readonly time: number;
  /** Transactions without the coinbase, valid after `parent` in this order. */
  readonly transactions: readonly Transaction[];
  /** Sum of the fees, satoshis. */
  readonly fees: Amount;
  /** scriptPubKey that receives subsidy and fees. */
  readonly coinbaseScript: Uint8Array;
  readonly params: Pick<ConsensusParams, 'subsidyHalvingInterval' | 'segwitHeight'>;
  /** Pushed after the height, so that two coinbases of one height differ. */
  readonly extraNonce?: Uint8Array;
}

const COINBASE_VERSION = 2;

/** Returns a child of `parent` that lacks only the proof of work; its nonce is 0. */
export function assembleBlock(options: BlockTemplateOptions): Block {
  const { parent, bits, version, time, transactions } = options;
  assert(time > parent.medianTimePast, 'block time is later than the median time past');
  const coinbase = coinbaseTransaction(options);
  const block = [coinbase, ...transactions];
  const header = { version, previousHash: parent.hash, merkleRoot: transactionsRoot(block), time, bits, nonce: 0 };
  return { header, transactions: block };
}

/**
 * Returns a coinbase that pays subsidy and fees to one script and commits to the height (BIP-34) and the witnesses
 * (BIP-141).
 */
function coinbaseTransaction(options: BlockTemplateOptions): Transaction {
  const { parent, transactions, fees, coinbaseScript, params, extraNonce } = options;
  const height = parent.height + 1;
  const reward = blockSubsidy(height, params.subsidyHalvingInterval) + fees;
  return {
    version: COINBASE_VERSION,
    inputs: [
      {
        prevout: { txid: new Uint8Array(32) as Txid, vout: NULL_VOUT },
        scriptSig: coinbaseScriptSig(height, extraNonce),
        // With the locktime in force, a coinbase cannot equal one of an earlier block.
        sequence: MAX_SEQUENCE_NONFINAL,
        witness: height >= params.segwitHeight ? [RESERVED_VALUE] : [],
      },
    ],
    // As in Core, the commitment is included before segwit and without witnesses too.
    outputs: [
      { value: reward, scriptPubKey: coinbaseScript },
      { value: 0n, scriptPubKey: commitmentScript(transactions) },
    ],
    locktime: height - 1,
  };
}

function coinbaseScriptSig(height: number, extraNonce: Uint8Array | undefined): Uint8Array {
  const heightPush = pushNumber(height);
  let script = heightPush;
  if (extraNonce !== undefined) script = concatBytes(heightPush, pushData(extraNonce));
  // Up to height 16 the push is a single byte.
  else if (heightPush.length < COINBASE_SCRIPT_SIG_MIN) script = concatBytes(heightPush, Uint8Array.of(Op.OP_0));
  assert(
    script.length >= COINBASE_SCRIPT_SIG_MIN && script.length <= COINBASE_SCRIPT_SIG_MAX,
    'coinbase script of 2 to 100 bytes',
  );
  return script;
}

/** Returns the scriptPubKey of the witness commitment for these transactions without the coinbase (BIP-141). */
export function commitmentScript(
  transactions: readonly Transaction[],
  reservedValue: Uint8Array = RESERVED_VALUE,
): Uint8Array {
  const coinbaseSlot = new Uint8Array(32) as Wtxid;
  const root = witnessMerkleRoot([coinbaseSlot, ...transactions.map(wtxidOf)]);
  return witnessCommitmentScript(witnessCommitment(root, reservedValue));
}

/** Returns the merkle root of a block's transactions, coinbase first. */
export function transactionsRoot(transactions: readonly Transaction[]): MerkleRoot {
  const txids = new Uint8Array(transactions.length * 32);
  for (const [i, tx] of transactions.entries()) txids.set(txidOf(tx), i * 32);
  return merkleRoot(txids).root;
}
