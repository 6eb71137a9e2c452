import {
  witnessCommitment,
  witnessCommitmentScript,
  witnessMerkleRoot,
} from '../../src/consensus/witness-commitment.ts';
import { checkProofOfWork } from '../../src/consensus/work.ts';
import { hash256 } from '../../src/crypto/hash-functions.ts';
import { encodeBlock, type ParsedBlock, parseBlock, parseTransaction } from '../../src/primitives/block.ts';
import type { BlockHash, MerkleRoot, Txid, Wtxid } from '../../src/primitives/hash.ts';
import { merkleRoot } from '../../src/primitives/merkle.ts';
import { encodeTransaction, type Transaction, type TxInput, type TxOutput } from '../../src/primitives/transaction.ts';
import { ByteWriter, concatBytes } from '../../src/util/bytes.ts';

const NONE = new Uint8Array();
const REGTEST_LIMIT = (1n << 255n) - 1n;

/** The txid of no transaction. */
export function someTxid(seed: number): Txid {
  return hash256(Uint8Array.of(seed & 0xff, seed >> 8)) as Txid;
}

export function input(seed: number, changes: Partial<TxInput> = {}): TxInput {
  return {
    prevout: { txid: someTxid(seed), vout: 0 },
    scriptSig: NONE,
    sequence: 0xffff_ffff,
    witness: [],
    ...changes,
  };
}

export function output(value: bigint, scriptPubKey: Uint8Array = Uint8Array.of(0x51)): TxOutput {
  return { value, scriptPubKey };
}

export function txOf(changes: Partial<Transaction> = {}): Transaction {
  return { version: 2, inputs: [input(1)], outputs: [output(1000n)], locktime: 0, ...changes };
}

export function coinbaseInput(changes: Partial<TxInput> = {}): TxInput {
  const prevout = { txid: new Uint8Array(32) as Txid, vout: 0xffff_ffff };
  // Pushes height 1, with another byte for the minimum length of 2.
  return { ...input(0), prevout, scriptSig: Uint8Array.of(0x51, 0x00), ...changes };
}

export function coinbaseOf(changes: Partial<Transaction> = {}): Transaction {
  return txOf({ inputs: [coinbaseInput()], outputs: [output(50_0000_0000n)], ...changes });
}

function txBytes(tx: Transaction, capacity = 65_536): Uint8Array {
  const w = new ByteWriter(capacity);
  encodeTransaction(w, tx, { witness: true });
  return w.finish().slice();
}

interface BlockChanges {
  version?: number;
  previousHash?: Uint8Array;
  time?: number;
  bits?: number;
  merkleRoot?: Uint8Array;
  /** Bytes of padding. */
  capacity?: number;
}

/** Mines a block for the regtest difficulty. */
export function blockOf(transactions: readonly Transaction[], changes: BlockChanges = {}): ParsedBlock {
  const { version = 0x2000_0000, previousHash = NONE, time = 1000, bits = 0x207f_ffff, capacity = 65_536 } = changes;
  const txids = concatBytes(...transactions.map((tx) => parseTransaction(txBytes(tx, capacity)).txid));
  const header = {
    version,
    previousHash: concatBytes(previousHash, new Uint8Array(32 - previousHash.length)) as BlockHash,
    merkleRoot: (changes.merkleRoot ?? merkleRoot(txids).root) as MerkleRoot,
    time,
    bits,
    nonce: 0,
  };
  const w = new ByteWriter(capacity);
  for (let nonce = 0; ; nonce++) {
    w.reset();
    encodeBlock(w, { header: { ...header, nonce }, transactions });
    const raw = w.finish();
    if (checkProofOfWork(hash256(raw.subarray(0, 80)), 0x207f_ffff, REGTEST_LIMIT)) return parseBlock(raw.slice());
  }
}

/** Returns the coinbase with a commitment to the witnesses of `others` as its last output. */
export function committedCoinbase(others: readonly Transaction[], capacity = 65_536): Transaction {
  const reserved = new Uint8Array(32);
  const wtxids = others.map((tx) => parseTransaction(txBytes(tx, capacity)).wtxid);
  const commitment = witnessCommitment(witnessMerkleRoot([new Uint8Array(32) as Wtxid, ...wtxids]), reserved);
  const base = coinbaseOf();
  return {
    ...base,
    inputs: [{ ...base.inputs[0]!, witness: [reserved] }],
    outputs: [...base.outputs, output(0n, witnessCommitmentScript(commitment))],
  };
}
