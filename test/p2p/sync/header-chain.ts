import { hashMeetsTarget } from '../../../src/consensus/work.ts';
import type { BlockHash, MerkleRoot } from '../../../src/primitives/hash.ts';
import { type BlockHeader, headerHash } from '../../../src/primitives/header.ts';

const REGTEST_TARGET = 0x7f_ffffn << (8n * 29n);

/** Consecutive regtest headers with valid proof of work, a second apart. */
export function headersAfter(
  previous: { readonly hash: BlockHash; readonly time: number },
  count: number,
  merkleRoot: MerkleRoot,
  version = 1,
): BlockHeader[] {
  const headers: BlockHeader[] = [];
  let { hash, time } = previous;
  for (let i = 0; i < count; i++) {
    let header: BlockHeader;
    for (let nonce = 0; ; nonce++) {
      header = { version, previousHash: hash, merkleRoot, time: time + 1, bits: 0x207f_ffff, nonce };
      const next = headerHash(header);
      if (!hashMeetsTarget(next, REGTEST_TARGET)) continue;
      hash = next;
      break;
    }
    time++;
    headers.push(header);
  }
  return headers;
}
