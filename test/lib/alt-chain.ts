import { nextWorkRequired } from '../../src/consensus/difficulty.ts';
import { genesisBlock } from '../../src/params/genesis.ts';
import { mainnet } from '../../src/params/mainnet.ts';
import { encodeBlock, parseBlock } from '../../src/primitives/block.ts';
import type { Txid } from '../../src/primitives/hash.ts';
import { type BlockHeader, headerHash } from '../../src/primitives/header.ts';
import { txidOf } from '../../src/primitives/transaction.ts';
import { pushNumber } from '../../src/script/script-builder.ts';
import { ByteWriter, concatBytes } from '../../src/util/bytes.ts';
import { TestEntry } from '../consensus/chain-fixture.ts';
import { readVectorJson } from './vectors.ts';

export interface AltBlock {
  readonly entry: TestEntry;
  readonly header: BlockHeader;
  readonly raw: Uint8Array;
}

/** 2,016 mined blocks on the main genesis, whose first period took an eighth of its time; one coinbase to each. */
export function altBlocks(): AltBlock[] {
  const { timestamps, nonces } = readVectorJson<{ timestamps: number[]; nonces: number[] }>(
    'functional/mainnet_alt.json',
  );
  const genesis = parseBlock(genesisBlock(mainnet));
  let parent = new TestEntry(null, genesis.header, genesis.hash);
  return timestamps.map((time, i) => {
    const height = i + 1;
    const prevout = { txid: new Uint8Array(32) as Txid, vout: 0xffff_ffff };
    const scriptSig = concatBytes(pushNumber(height), new Uint8Array(height <= 16 ? 1 : 0));
    const scriptPubKey = Uint8Array.fromHex('76a914eadbac7f36c37e39361168b7aaee3cb24a25312d88ac');
    const coinbase = {
      version: 2,
      inputs: [{ prevout, scriptSig, sequence: 0xffff_ffff, witness: [] }],
      outputs: [{ value: 5_000_000_000n, scriptPubKey }],
      locktime: 0,
    };
    const header: BlockHeader = {
      version: 0x2000_0000,
      previousHash: parent.hash,
      merkleRoot: txidOf(coinbase) as Uint8Array as BlockHeader['merkleRoot'],
      time,
      bits: nextWorkRequired(parent, time, mainnet.consensus),
      nonce: nonces[i]!,
    };
    const w = new ByteWriter();
    encodeBlock(w, { header, transactions: [coinbase] });
    parent = new TestEntry(parent, header, headerHash(header));
    return { entry: parent, header, raw: w.finish().slice() };
  });
}
