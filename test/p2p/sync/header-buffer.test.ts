import { expect, test } from 'bun:test';
import { HeaderBuffer } from '../../../src/p2p/sync/header-buffer.ts';
import type { BlockHash, MerkleRoot } from '../../../src/primitives/hash.ts';
import { type BlockHeader, headerHash } from '../../../src/primitives/header.ts';
import { headersAfter } from './header-chain.ts';

test('headers leave the queue unchanged, also after wrapping around and growing', () => {
  const start = new Uint8Array(32).fill(7) as BlockHash;
  const merkleRoot = new Uint8Array(32).map((_, i) => i) as MerkleRoot;
  const headers = headersAfter({ hash: start, time: 0xffff_0000 }, 300, merkleRoot);
  const buffer = new HeaderBuffer(start, 10);
  expect([buffer.lastHash, buffer.lastBits, buffer.usage]).toEqual([start, 0, 480]);
  const out: BlockHeader[] = [];
  for (const [i, header] of headers.entries()) {
    buffer.push(header, headerHash(header));
    // Fewer are removed than added, so the oldest is at any position when the queue grows.
    if (i % 3 !== 0) out.push(buffer.shift());
  }
  expect([buffer.size, buffer.lastHash, buffer.lastBits]).toEqual([100, headerHash(headers.at(-1)!), 0x207f_ffff]);
  while (buffer.size > 0) out.push(buffer.shift());
  expect(out).toEqual(headers);
});
