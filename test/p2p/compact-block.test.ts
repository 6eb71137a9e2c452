import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  type BlockTransaction,
  compactBlockOf,
  type PartialBlock,
  reconstruct,
  shortId,
  shortIdKey,
} from '../../src/p2p/compact-block.ts';
import type { CompactBlock } from '../../src/p2p/messages/compact-blocks.ts';
import { encodeMessage, MESSAGES } from '../../src/p2p/messages/messages.ts';
import { type ParsedBlock, type ParsedTransaction, parseBlock, parseTransaction } from '../../src/primitives/block.ts';
import { writeCompactSize } from '../../src/primitives/compact-size.ts';
import type { BlockHash, MerkleRoot, Wtxid } from '../../src/primitives/hash.ts';
import { headerBytes } from '../../src/primitives/header.ts';
import { ByteWriter, bytesToHex, concatBytes } from '../../src/util/bytes.ts';
import { hasVectors, readVectorBytes } from '../lib/vectors.ts';
import { header, transaction } from './messages/message-values.ts';

const blocks: fc.Arbitrary<ParsedBlock> = fc
  .tuple(
    header,
    fc.uniqueArray(transaction, { minLength: 1, maxLength: 12, selector: ({ wtxid }) => bytesToHex(wtxid) }),
  )
  .map(([head, txs]) => {
    const count = new ByteWriter();
    writeCompactSize(count, txs.length);
    return parseBlock(
      concatBytes(headerBytes({ ...head, bits: head.bits | 1 }), count.finish(), ...txs.map(({ raw }) => raw)),
    );
  });
const nonces = fc.bigInt({ min: 0n, max: (1n << 64n) - 1n });
const [sample, other] = fc.sample(transaction, { numRuns: 2, seed: 1 }) as [ParsedTransaction, ParsedTransaction];
const [sampleHeader] = fc.sample(header, { numRuns: 1, seed: 1 });

function compact(parts: Partial<CompactBlock>): CompactBlock {
  return { header: { ...sampleHeader!, bits: 1 }, nonce: 0n, shortIds: [], prefilled: [], ...parts };
}

function partial(block: CompactBlock, candidates: readonly BlockTransaction[]): PartialBlock {
  const result = reconstruct(block, candidates);
  if (result.status !== 'ok') throw new Error(result.reason);
  return result.block;
}

const overTheWire = (block: CompactBlock) => MESSAGES.cmpctblock.decode(encodeMessage('cmpctblock', block));

test('any block is reconstructed from any known part of it in any order', () => {
  fc.assert(
    fc.property(blocks, nonces, fc.infiniteStream(fc.boolean()), fc.boolean(), (block, nonce, choice, reversed) => {
      const known = block.txs.filter(() => choice.next().value);
      const received = partial(overTheWire(compactBlockOf(block, nonce)), [
        ...(reversed ? known.toReversed() : known),
        other,
      ]);
      const missing = received.missing();
      const expected = block.txs.flatMap((tx, i) => (i > 0 && !known.includes(tx) ? [i] : []));
      expect(missing).toEqual(expected);
      expect(received.found).toBe(block.txs.length - 1 - missing.length);
      const request = encodeMessage('getblocktxn', { blockHash: block.hash, indexes: missing });
      const { indexes } = MESSAGES.getblocktxn.decode(request);
      const reply = encodeMessage('blocktxn', { blockHash: block.hash, txs: indexes.map((i) => block.txs[i]!) });
      const filled = received.fillBlock(MESSAGES.blocktxn.decode(reply).txs);
      expect(filled.status === 'ok' && bytesToHex(filled.raw)).toBe(bytesToHex(block.raw));
    }),
  );
});

test('any positions may be prefilled', () => {
  fc.assert(
    fc.property(blocks, fc.infiniteStream(fc.boolean()), (block, choice) => {
      const key = shortIdKey(block.header, 5n);
      const shortIds: number[] = [];
      const prefilled: { gap: number; tx: ParsedTransaction }[] = [];
      let next = 0;
      for (const [i, tx] of block.txs.entries()) {
        if (choice.next().value) {
          prefilled.push({ gap: i - next, tx });
          next = i + 1;
        } else shortIds.push(shortId(key, tx.wtxid));
      }
      const filled = partial(
        overTheWire({ header: block.header, nonce: 5n, shortIds, prefilled }),
        block.txs,
      ).fillBlock([]);
      expect(filled.status === 'ok' && bytesToHex(filled.raw)).toBe(bytesToHex(block.raw));
    }),
  );
});

test.skipIf(!hasVectors)('a mainnet block is reconstructed from its compact block as sent', () => {
  const block = parseBlock(readVectorBytes('blocks/mainnet-426884.block'));
  const payload = readVectorBytes('blocks/mainnet-426884.cmpctblock');
  const received = MESSAGES.cmpctblock.decode(payload);
  expect(bytesToHex(encodeMessage('cmpctblock', received))).toBe(bytesToHex(payload));
  const ours = compactBlockOf(block, received.nonce);
  const places = received.prefilled.length;
  if (places === 1) expect(ours.shortIds).toEqual(received.shortIds);
  const filled = partial(received, block.txs.toReversed()).fillBlock([]);
  expect(filled.status === 'ok' && Buffer.compare(filled.raw, block.raw)).toBe(0);
});

describe('compact blocks that Core rejects as invalid', () => {
  const tx = sample;
  const nullTx = parseTransaction(new Uint8Array(10));
  test.each<[string, Partial<CompactBlock>, string]>([
    ['a null header is invalid', { header: { ...sampleHeader!, bits: 0 }, shortIds: [1] }, 'null header'],
    ['a block without transactions is invalid', {}, 'no transactions'],
    ['a null transaction is invalid', { prefilled: [{ gap: 0, tx: nullTx }] }, 'null transaction'],
    [
      'a prefilled index beyond the block is invalid',
      { prefilled: [{ gap: 1, tx }] },
      'index of a prefilled transaction is out of the block',
    ],
    [
      'a second prefilled index beyond the block is invalid',
      {
        shortIds: [1],
        prefilled: [
          { gap: 0, tx },
          { gap: 2, tx },
        ],
      },
      'index of a prefilled transaction is out of the block',
    ],
    [
      'a prefilled index above 16 bits is invalid',
      {
        shortIds: new Array(65_000).fill(0).map((_, i) => i),
        prefilled: [
          { gap: 65_000, tx },
          { gap: 65_000, tx },
        ],
      },
      'index of a prefilled transaction exceeds 16 bits',
    ],
    [
      'more transactions than a block can hold are invalid',
      { shortIds: new Array(100_001).fill(1) },
      'more transactions than a block can hold',
    ],
  ])('%s', (_, parts, reason) => expect(reconstruct(compact(parts), [])).toEqual({ status: 'invalid', reason }));

  test('the highest possible index of a prefilled transaction is accepted', () => {
    const block = partial(compact({ shortIds: [1, 2], prefilled: [{ gap: 2, tx }] }), []);
    expect(block.missing()).toEqual([0, 1]);
  });

  test('fillBlock rejects too few or too many transactions', () => {
    const block = partial(compact({ shortIds: [1, 2], prefilled: [{ gap: 0, tx }] }), []);
    expect(block.fillBlock([other])).toEqual({ status: 'invalid', reason: '1 transactions for 2 positions' });
    expect(block.fillBlock([other, other, other]).status).toBe('invalid');
    expect(block.fillBlock([other, other]).status).toBe('ok');
  });
});

describe('short id collisions', () => {
  const zeros = new Uint8Array(32);
  const head = {
    version: 1,
    previousHash: zeros as BlockHash,
    merkleRoot: zeros as MerkleRoot,
    time: 0,
    bits: 1,
    nonce: 0,
  };
  const candidate = (number: number): BlockTransaction => {
    const wtxid = new Uint8Array(32) as Wtxid;
    new DataView(wtxid.buffer).setUint32(0, number, true);
    return { wtxid, raw: Uint8Array.of(number & 0xff) };
  };
  // Two pairs that share an id under this header and a nonce of 0, found by search among 40 million.
  const twins = [candidate(6_123_975), candidate(10_912_252)] as const;
  const others = [candidate(4_160_459), candidate(15_255_798)] as const;
  const [id, otherId] = [104_128_192_204_160, 259_162_681_609_762];
  const block = compact({ header: head, shortIds: [id, otherId] });

  test('both pairs collide', () => {
    const key = shortIdKey(head, 0n);
    expect(twins.map(({ wtxid }) => shortId(key, wtxid))).toEqual([id, id]);
    expect(others.map(({ wtxid }) => shortId(key, wtxid))).toEqual([otherId, otherId]);
  });

  test('two equal short ids in the message require the full block', () =>
    expect(reconstruct(compact({ shortIds: [7, 5, 7] }), [])).toEqual({
      status: 'failed',
      reason: 'two equal short ids',
    }));

  test('two candidates with the same short id are both discarded, and a repeated one changes nothing', () => {
    for (const candidates of [twins, [...twins, twins[0]], [twins[1], twins[0], twins[0]]]) {
      const partly = partial(block, [...candidates, others[0]]);
      expect([partly.missing(), partly.found]).toEqual([[0], 1]);
    }
  });

  test('a candidate that occurs twice is not a collision', () =>
    expect(partial(block, [twins[0], twins[0]]).missing()).toEqual([1]));

  test('reading of candidates stops when all positions are filled', () => {
    const partly = partial(block, [twins[0], others[0], twins[1]]);
    expect([partly.missing(), partly.found]).toEqual([[], 2]);
  });
});

test('BIP-152: short ids have 48 bits under a key of header and nonce', () => {
  const block = compact({});
  const ids = [0n, 1n].map((nonce) => shortId(shortIdKey(block.header, nonce), sample.wtxid));
  expect(ids[0]).not.toBe(ids[1]);
  for (const id of ids) expect(id).toBeLessThan(2 ** 48);
});
