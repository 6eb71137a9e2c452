import { encodeBlock } from '../primitives/block.ts';
import type { BlockHash, Txid } from '../primitives/hash.ts';
import { merkleRoot } from '../primitives/merkle.ts';
import { NULL_VOUT } from '../primitives/outpoint.ts';
import { type Transaction, txidOf } from '../primitives/transaction.ts';
import { Op } from '../script/opcodes.ts';
import { pushData, pushNumber, scriptOf } from '../script/script-builder.ts';
import { ByteWriter, concatBytes, hexToBytes } from '../util/bytes.ts';
import type { GenesisParams, NetworkParams } from './network-params.ts';

/** Text and key of Bitcoin's genesis coinbase. */
export const HEADLINE_2009 = {
  message: 'The Times 03/Jan/2009 Chancellor on brink of second bailout for banks',
  publicKey:
    '04678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f61deb649f6bc3f4cef38c4f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5f',
} as const;

/** The easiest bits of the main network, which the genesis coinbase of every network pushes. */
const EASIEST_BITS = 0x1d00_ffff;

/** Returns the encoded genesis block of a network. */
export function genesisBlock({ genesis }: NetworkParams): Uint8Array {
  const coinbase = genesisCoinbase(genesis);
  const w = new ByteWriter(512);
  encodeBlock(w, {
    header: {
      version: genesis.version,
      previousHash: new Uint8Array(32) as BlockHash,
      merkleRoot: merkleRoot(txidOf(coinbase)).root,
      time: genesis.time,
      bits: genesis.bits,
      nonce: genesis.nonce,
    },
    transactions: [coinbase],
  });
  return w.finish();
}

function genesisCoinbase({ message, publicKey }: GenesisParams): Transaction {
  const scriptSig = concatBytes(
    pushNumber(EASIEST_BITS),
    pushData(Uint8Array.of(4)),
    pushData(new TextEncoder().encode(message)),
  );
  const scriptPubKey = scriptOf(hexToBytes(publicKey), Op.OP_CHECKSIG);
  const prevout = { txid: new Uint8Array(32) as Txid, vout: NULL_VOUT };
  return {
    version: 1,
    inputs: [{ prevout, scriptSig, sequence: 0xffff_ffff, witness: [] }],
    outputs: [{ value: 50_0000_0000n, scriptPubKey }],
    locktime: 0,
  };
}
