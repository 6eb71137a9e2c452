import { expect, test } from 'bun:test';
import { MuHash3072 } from '../../src/crypto/muhash.ts';
import { parseBlock } from '../../src/primitives/block.ts';
import { type Coin, txPosition } from '../../src/primitives/coin.ts';
import { hashToHex } from '../../src/primitives/hash.ts';
import type { Outpoint } from '../../src/primitives/outpoint.ts';
import { readTxUndo } from '../../src/primitives/undo.ts';
import { isUnspendable } from '../../src/script/templates.ts';
import { encodeSetElement } from '../../src/storage/utxo-hash.ts';
import { ByteReader, ByteWriter } from '../../src/util/bytes.ts';
import { mixedBlocks, TestNode, trustingVerifier } from '../lib/chain-fixture.ts';
import { hasVectors, readVectorJson } from '../lib/vectors.ts';

interface Expected {
  muhashByHeight: Record<string, string>;
}

function element(coin: Coin & { outpoint: Outpoint }): Uint8Array {
  const w = new ByteWriter();
  encodeSetElement(w, coin);
  return w.finish();
}

// The spent coins are read from the undo data of the node, so that it is checked as well.
test.skipIf(!hasVectors)(
  'the UTXO set has the hash of Bitcoin Core at every height',
  async () => {
    const { muhashByHeight } = readVectorJson<Expected>('chains/regtest-mixed-160.expected.json');
    await using node = new TestNode({ verifier: trustingVerifier });
    await node.take(mixedBlocks());
    node.read((reads) => {
      const set = new MuHash3072();
      expect(hashToHex(set.digest())).toBe(muhashByHeight[0]!);
      for (let height = 1; height <= 160; height++) {
        const record = reads.headers.byHeight(height)!;
        const { txs } = parseBlock(reads.rawBlock(record)!);
        const undo = new ByteReader(reads.rawUndo(record)!);
        for (const [index, { tx, txid }] of txs.entries()) {
          if (index > 0) {
            const spent = readTxUndo(undo, tx.inputs.length);
            for (const [i, coin] of spent.entries()) set.remove(element({ ...coin, outpoint: tx.inputs[i]!.prevout }));
          }
          for (const [vout, output] of tx.outputs.entries())
            if (!isUnspendable(output.scriptPubKey))
              set.insert(element({ output, position: txPosition(height, index), outpoint: { txid, vout } }));
        }
        expect(`${height} ${hashToHex(set.digest())}`).toBe(`${height} ${muhashByHeight[height]}`);
      }
    });
  },
  180_000,
);
