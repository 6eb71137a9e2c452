import { describe, expect, test } from 'bun:test';
import { BLOOM_UPDATE, BloomFilter } from '../../src/p2p/bloom-filter.ts';
import { filteredBlock } from '../../src/p2p/filtered-block.ts';
import { merkleblock } from '../../src/p2p/messages/blocks.ts';
import { filteradd, filterload } from '../../src/p2p/messages/bloom.ts';
import { parseBlock, parseTransaction } from '../../src/primitives/block.ts';
import { hashFromHex, hashToHex, type Txid } from '../../src/primitives/hash.ts';
import { encodeOutpoint } from '../../src/primitives/outpoint.ts';
import { provenTransactions } from '../../src/primitives/partial-merkle-tree.ts';
import { ByteWriter, hexToBytes } from '../../src/util/bytes.ts';
import { BLOCK_OF_FOUR, BLOCK_OF_ONE, BLOCK_OF_SEVEN, SPENDER, TRANSACTION } from './bloom-vectors.ts';

const id = (hex: string) => hashFromHex<Txid>(hex);
const outpoint = (txid: string, vout: number) => {
  const w = new ByteWriter();
  encodeOutpoint(w, { txid: id(txid), vout });
  return w.finish();
};
/** A filter for ten elements with one false positive in a million. */
const empty = (flags: number) => new BloomFilter({ filter: new Uint8Array(35), hashFunctions: 19, tweak: 0, flags });
const filterOf = (elements: readonly Uint8Array[], flags: number = BLOOM_UPDATE.all) => {
  const filter = empty(flags);
  for (const element of elements) filter.insert(element);
  return filter;
};

describe('BloomFilter', () => {
  const elements = ['99108ad8ed9bb6274d3980bab5a85c048f0950c8', 'b5a2c786d9ef4658287ced5914b37a1b4aa32eee'];
  const last = 'b9300670b4c5366e95b2699e8b18bc75e5f729c5';

  test.each([
    ['no tweak', '03614e9b050000000000000001'],
    ['a tweak', '03ce4299050000000100008001'],
  ])('a filter contains the inserted elements and is encoded as in Core: %s', (_title, hex) => {
    const message = filterload.decode(hexToBytes(hex));
    const full = new BloomFilter(message);
    for (const element of [...elements, last]) expect(full.contains(hexToBytes(element))).toBe(true);
    expect(full.contains(hexToBytes('19108ad8ed9bb6274d3980bab5a85c048f0950c8'))).toBe(false);
    // A filter built up from nothing is identical.
    const built = new BloomFilter({ ...message, filter: new Uint8Array(3) });
    for (const element of [...elements, last]) built.insert(hexToBytes(element));
    for (let i = 0; i < 500; i++)
      expect(built.contains(Uint8Array.of(i, i >> 8))).toBe(full.contains(Uint8Array.of(i, i >> 8)));
  });

  test('an empty filter matches everything and stores nothing', () => {
    const none = new BloomFilter({ filter: new Uint8Array(0), hashFunctions: 5, tweak: 0, flags: 1 });
    none.insert(Uint8Array.of(1));
    expect([none.contains(Uint8Array.of(2)), none.matchAndUpdate(parseTransaction(hexToBytes(TRANSACTION)))]).toEqual([
      true,
      true,
    ]);
  });

  test('a filter or element above its size limit is misbehaviour', () => {
    const load = (size: number, hashFunctions: number) => () => {
      const w = new ByteWriter();
      w.u8(0xfd);
      w.u16(size);
      w.bytes(new Uint8Array(size));
      w.u32(hashFunctions);
      w.u32(0);
      w.u8(0);
      return filterload.decode(w.finish());
    };
    expect(load(36_000, 50)().filter.length).toBe(36_000);
    for (const bad of [load(36_001, 50), load(36_000, 51)])
      expect(bad).toThrow(expect.objectContaining({ reason: 'too-large bloom filter', verdict: 'misbehaving' }));
    const add = (size: number) => () => filteradd.decode(Uint8Array.of(0xfd, size, size >> 8, ...new Uint8Array(size)));
    expect(add(520)().element.length).toBe(520);
    expect(add(521)).toThrow(expect.objectContaining({ reason: 'bad filteradd message', verdict: 'misbehaving' }));
  });
});

describe('BloomFilter.matchAndUpdate', () => {
  const tx = parseTransaction(hexToBytes(TRANSACTION));
  const spender = parseTransaction(hexToBytes(SPENDER));
  const previous = '90c122d70786e899529d71dbeba91ba216982fb6ba58f3bdaab65e73b7e9260b';

  test.each([
    ['its id', id('b4749f017444b051c44dfd2720e88f314ff94f3dd6d56d40ef65854fcd7fff6b'), true],
    ['another id', id('00000009e784f32f62ef849763d4f45b98e07ba658647343b915ff832b110436'), false],
    [
      'a signature',
      hexToBytes(
        '30450220070aca44506c5cef3a16ed519d7c3c39f8aab192c4e1c90d065f37b8a4af6141022100a8e160b856c2d43d27d8fba71e5aef6405b8643ac4cb7cb3c462aced7f14711a01',
      ),
      true,
    ],
    [
      'a public key',
      hexToBytes(
        '046d11fee51b0e60666d5049a9101a72741df480b96ee26488a4d3466b95c9a40ac5eeef87e10a5cd336c19a84565f80fa6c547957b7700ff4dfbdefe76036c339',
      ),
      true,
    ],
    ['an address', hexToBytes('a266436d2965547608b9e15d9032a7b9d64fa431'), true],
    ['another address', hexToBytes('0000006d2965547608b9e15d9032a7b9d64fa431'), false],
    ['an outpoint that it spends', outpoint(previous, 0), true],
    ['another output of the spent transaction', outpoint(previous, 1), false],
  ])('a transaction matches by %s', (_title, element, wanted) => {
    expect(filterOf([element]).matchAndUpdate(tx)).toBe(wanted);
  });

  test('spenders of a matched output match if the filter was updated with it', () => {
    const address = hexToBytes('04943fdd508053c75000106d3bc6e2754dbcff19');
    for (const flags of [BLOOM_UPDATE.all, BLOOM_UPDATE.none, BLOOM_UPDATE.pubkeyOnly]) {
      const filter = filterOf([address], flags);
      expect(filter.matchAndUpdate(tx)).toBe(true);
      expect(filter.matchAndUpdate(spender)).toBe(flags === BLOOM_UPDATE.all);
    }
  });
});

describe('filtered blocks', () => {
  const four = parseBlock(hexToBytes(BLOCK_OF_FOUR));
  const first = id('e980fe9f792d014e73b95203dc1335c5f9ce19ac537a419e6df5b47aecb93b70');
  const key = hexToBytes(
    '044a656f065871a353f216ca26cef8dde2f03e8c16202d2e8ad769f02032cb86a5eb5e56842e92e19141d60a01928f8dd2c875a390f67c1f6c94cfc617c0ea45af',
  );

  test('a merkleblock proves the matching transactions', () => {
    const { message, matched } = filteredBlock(four, filterOf([first]));
    expect(matched).toEqual([0]);
    expect(provenTransactions(message)).toEqual({ root: four.header.merkleRoot, matches: [{ txid: first, index: 0 }] });
    expect(provenTransactions({ ...message, transactionCount: 5 })).toBeNull();
  });

  test('a later spender of a match in the block matches only if the filter is updated', () => {
    expect(filteredBlock(four, filterOf([first, key])).matched).toEqual([0, 1, 2, 3]);
    expect(filteredBlock(four, filterOf([first, key], BLOOM_UPDATE.none)).matched).toEqual([0, 1, 3]);
    const { message } = filteredBlock(four, filterOf([first, key]));
    expect(provenTransactions(message)!.matches.map(({ txid }) => hashToHex(txid))).toEqual([
      'e980fe9f792d014e73b95203dc1335c5f9ce19ac537a419e6df5b47aecb93b70',
      '28204cad1d7fc1d199e8ef4fa22f182de6258a3eaafe1bbe56ebdcacd3069a5f',
      '6b0f8a73a56c04b519f1883e8aafda643ba61a30bd1439969df21bea5f4e27e2',
      '3c1d7e82342158e4109df2e0b6348b6e84e403d8b4046d7007663ace63cddb23',
    ]);
  });

  test('merkleblock messages are encoded as in Core', () => {
    const one = parseBlock(hexToBytes(BLOCK_OF_ONE));
    const wanted = id('63194f18be0af63f2c6bc9dc0f777cbefed3d9415c4af83f3ee3a3d669c00cb5');
    expect(merkleblock.encode(filteredBlock(one, filterOf([wanted])).message).toHex()).toBe(
      '0100000079cda856b143d9db2c1caff01d1aecc8630d30625d10e8b4b8b0000000000000b50cc069d6a3e33e3ff84a5c41d9d3febe7c770fdcc96b2c3ff60abe184f196367291b4d4c86041b8fa45d630100000001b50cc069d6a3e33e3ff84a5c41d9d3febe7c770fdcc96b2c3ff60abe184f19630101',
    );
  });

  test('the update mode for public keys excludes address outputs', () => {
    const seven = parseBlock(hexToBytes(BLOCK_OF_SEVEN));
    const elements = [
      hexToBytes(
        '04eaafc2314def4ca98ac970241bcab022b9c1e1f4ea423a20f134c876f2c01ec0f0dd5b2e86e7168cefe0d81113c3807420ce13ad1357231a2252247d97a46a91',
      ),
      hexToBytes('b6efd80d99179f4f4ff6f4dd0a007d018c385d21'),
    ];
    const filter = filterOf(elements, BLOOM_UPDATE.pubkeyOnly);
    filteredBlock(seven, filter);
    expect([
      filter.contains(outpoint('147caa76786596590baa4e98f5d9f48b86c7765e489f7a6ff3360fe5c674360b', 0)),
      filter.contains(outpoint('02981fa052f0481dbc5868f4fc2166035a10f27a03cfd2de67326471df5bc041', 0)),
    ]).toEqual([true, false]);
  });
});
