import { readCompactSize } from '../primitives/compact-size.ts';
import { HEADER_SIZE } from '../primitives/header.ts';
import { ByteReader } from '../util/bytes.ts';
import { outpointPrint, scriptPrint, txidPrint, type WatchFilter } from './watch-filter.ts';

/** Where a transaction stands in the bytes of its block, and what it spends in those of the undo data. */
export interface CandidateTx {
  readonly index: number;
  readonly start: number;
  readonly end: number;
  readonly undoStart: number;
}

/** Position and value of an undo record, before the script. */
const UNDO_HEAD = 16;

/**
 * The transactions of a block that may touch what is watched, found without taking the others apart or hashing them.
 * `txids` are those of the block, 32 bytes each; where they are not known and ids are watched, each may be it.
 */
export function candidateTxs(
  raw: Uint8Array,
  undo: Uint8Array | null,
  txids: Uint8Array | null,
  filter: WatchFilter,
): CandidateTx[] {
  const { seed } = filter;
  const r = new ByteReader(raw, HEADER_SIZE);
  const u = undo && new ByteReader(undo);
  const isWatched = (at: ByteReader) => {
    const length = readCompactSize(at);
    const start = at.pos;
    at.skip(length);
    return filter.has(scriptPrint(at.buf, seed, start, at.pos));
  };
  const found: CandidateTx[] = [];
  const count = readCompactSize(r);
  for (let index = 0; index < count; index++) {
    const start = r.pos;
    const undoStart = u?.pos ?? 0;
    let watched = filter.txids && (txids === null || filter.has(txidPrint(txids, seed, index * 32)));
    r.skip(4);
    let inputs = readCompactSize(r);
    // BIP-144: an empty list is the marker, and a flag follows.
    const extended = inputs === 0;
    if (extended) {
      r.skip(1);
      inputs = readCompactSize(r);
    }
    for (let i = 0; i < inputs; i++) {
      if (filter.outpoints && filter.has(outpointPrint(raw, seed, r.pos))) watched = true;
      r.skip(36);
      r.skip(readCompactSize(r));
      r.skip(4);
      if (index === 0 || !u) continue;
      u.skip(UNDO_HEAD);
      if (isWatched(u)) watched = true;
    }
    for (let left = readCompactSize(r); left > 0; left--) {
      r.skip(8);
      if (isWatched(r)) watched = true;
    }
    for (let left = extended ? inputs : 0; left > 0; left--)
      for (let items = readCompactSize(r); items > 0; items--) r.skip(readCompactSize(r));
    r.skip(4);
    if (watched) found.push({ index, start, end: r.pos, undoStart });
  }
  return found;
}
