import type { RunFamily } from './run-family.ts';
import { CRC_RESIDUE, CRC_SIZE, crc32, PAGE_HEADER } from './run-format.ts';

/** An entry of a page. Its value is `bytes` from `from` up to before `to`, and valid as long as the page. */
export interface PageEntry {
  readonly removed: boolean;
  readonly bytes: Uint8Array;
  readonly from: number;
  readonly to: number;
}

/** Called with an entry, whose key is valid during the call; returns whether to go on. */
export type EntryVisitor = (key: Uint8Array, removed: boolean, page: Uint8Array, valueAt: number) => boolean;

function usedBytes(page: Uint8Array): number {
  return (page[4]! | (page[5]! << 8) | (page[6]! << 16) | (page[7]! << 24)) >>> 0;
}

/** Whether the checksum of a page is right for its place, which `seed` stands for. */
export function isIntactPage(page: Uint8Array, seed: number): boolean {
  return page.length >= PAGE_HEADER + CRC_SIZE && crc32(page, seed) === CRC_RESIDUE;
}

/** Returns the newest entry of a key in a page; null without one. */
export function findInPage({ keySize }: RunFamily, page: Uint8Array, key: Uint8Array): PageEntry | null {
  const end = usedBytes(page);
  let found: PageEntry | null = null;
  let matched = 0;
  for (let at = PAGE_HEADER; at < end; ) {
    const shared = page[at++]!;
    let code = page[at++]!;
    if (code >= 0x80) {
      code = (code & 0x7f) | (page[at++]! << 7);
      if (code >= 0x4000) code = (code & 0x3fff) | (page[at++]! << 14);
    }
    const keyAt = at;
    at += keySize - shared + (code >>> 1);
    if (shared > matched) continue;
    if (shared < matched) break;
    while (matched < keySize && page[keyAt + matched - shared] === key[matched]) matched++;
    if (matched === keySize) {
      const from = keyAt + keySize - shared;
      found = { removed: (code & 1) === 1, bytes: page, from, to: at };
    } else if (page[keyAt + matched - shared]! > key[matched]!) break;
  }
  return found;
}

/**
 * Calls `visit` with the entries of a page from `low` up to before `high`, until it returns false. `key` is a buffer for
 * their keys, and holds the key of the last entry afterwards. Returns whether later pages may have more.
 */
export function visitPage(
  { keySize }: RunFamily,
  page: Uint8Array,
  low: Uint8Array,
  high: Uint8Array | null,
  key: Uint8Array,
  visit: EntryVisitor,
): boolean {
  const end = usedBytes(page);
  let matched = 0;
  let below = true;
  // Bytes that the entry before has in common with `high`, which it is below.
  let highMatched = 0;
  for (let at = PAGE_HEADER; at < end; ) {
    const shared = page[at++]!;
    let code = page[at++]!;
    if (code >= 0x80) {
      code = (code & 0x7f) | (page[at++]! << 7);
      if (code >= 0x4000) code = (code & 0x3fff) | (page[at++]! << 14);
    }
    const restAt = at - shared;
    at += keySize - shared;
    const valueAt = at;
    at += code >>> 1;
    if (below) {
      // The entry before has `matched` bytes in common with `low`, and is below it.
      if (shared > matched) continue;
      if (shared === matched) {
        while (matched < keySize && page[restAt + matched] === low[matched]) matched++;
        if (matched < keySize && page[restAt + matched]! < low[matched]!) continue;
      }
      below = false;
      for (let i = 0; i < shared; i++) key[i] = low[i]!;
      if (high !== null) {
        for (let i = shared; i < keySize; i++) key[i] = page[restAt + i]!;
        while (highMatched < keySize && key[highMatched] === high[highMatched]) highMatched++;
        if (highMatched === keySize || key[highMatched]! > high[highMatched]!) return false;
      }
    } else if (high !== null && shared <= highMatched) {
      if (shared < highMatched) return false;
      while (highMatched < keySize && page[restAt + highMatched] === high[highMatched]) highMatched++;
      if (highMatched === keySize || page[restAt + highMatched]! > high[highMatched]!) return false;
    }
    for (let i = shared; i < keySize; i++) key[i] = page[restAt + i]!;
    if (!visit(key, (code & 1) === 1, page, valueAt)) return false;
  }
  return true;
}

/** The entries of a page: their keys in order, whether they are removals, and where their values lie in `bytes`. */
export class DecodedPage {
  count = 0;
  keys = new Uint8Array(0);
  removed = new Uint8Array(0);
  from = new Uint32Array(0);
  to = new Uint32Array(0);
  bytes = new Uint8Array(0);

  /** Decodes a page into the same arrays. */
  decode({ keySize }: RunFamily, page: Uint8Array): void {
    const count = (page[0]! | (page[1]! << 8) | (page[2]! << 16) | (page[3]! << 24)) >>> 0;
    if (count > this.removed.length) {
      this.keys = new Uint8Array(count * keySize);
      this.removed = new Uint8Array(count);
      this.from = new Uint32Array(count);
      this.to = new Uint32Array(count);
    }
    const { keys, removed, from, to } = this;
    let at = PAGE_HEADER;
    for (let n = 0, key = 0; n < count; n++, key += keySize) {
      const shared = page[at++]!;
      let code = page[at++]!;
      if (code >= 0x80) {
        code = (code & 0x7f) | (page[at++]! << 7);
        if (code >= 0x4000) code = (code & 0x3fff) | (page[at++]! << 14);
      }
      for (let i = 0; i < shared; i++) keys[key + i] = keys[key - keySize + i]!;
      for (let i = shared; i < keySize; i++) keys[key + i] = page[at++]!;
      removed[n] = code & 1;
      from[n] = at;
      at += code >>> 1;
      to[n] = at;
    }
    this.count = count;
    this.bytes = page as Uint8Array<ArrayBuffer>;
  }
}
