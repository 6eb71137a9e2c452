import { sha256 } from '../crypto/hash-functions.ts';
import { fail } from '../http/errors.ts';
import { type TxPosition, txPosition } from '../primitives/coin.ts';
import { equalBytes } from '../util/bytes.ts';
import { tipView } from './block-facts.ts';
import type { ReadEnv } from './read-env.ts';

/** The end of a page: the last returned entry, and the block at its position. */
export interface PageEnd {
  readonly position: TxPosition;
  /** Distinguishes entries of one transaction; 0 where there is only one. */
  readonly sub: number;
  /**
   * Number of the mempool event of the entry; 0 for a confirmed one. The position is then the end of the chain at that
   * time.
   */
  readonly seq: number;
  /** The block at that position, in wire order. */
  readonly blockHash: Uint8Array;
}

const VERSION = 2;
const BINDING_SIZE = 8;
/** Version, binding, position, sub, seq, hash. */
const SIZE = 1 + BINDING_SIZE + 8 + 4 + 8 + 32;
const TEXT = /^[A-Za-z0-9_-]{1,256}$/;

/** Returns the text of a cursor. `bound` is the path and the filters it belongs to. */
export function encodeCursor(bound: string, { position, sub, seq, blockHash }: PageEnd): string {
  const bytes = new Uint8Array(SIZE);
  const view = new DataView(bytes.buffer);
  bytes[0] = VERSION;
  bytes.set(bindingOf(bound), 1);
  view.setFloat64(1 + BINDING_SIZE, position);
  view.setUint32(1 + BINDING_SIZE + 8, sub);
  view.setFloat64(1 + BINDING_SIZE + 12, seq);
  bytes.set(blockHash, 1 + BINDING_SIZE + 20);
  return bytes.toBase64({ alphabet: 'base64url', omitPadding: true });
}

/** Throws `invalid_cursor` for a malformed text, and for a cursor of another path or of other filters. */
export function decodeCursor(bound: string, text: string): PageEnd {
  const bytes = TEXT.test(text) ? fromBase64(text) : null;
  if (bytes?.length !== SIZE || bytes[0] !== VERSION)
    return fail('invalid_cursor', 'invalid cursor: not issued by this node');
  if (!equalBytes(bytes.subarray(1, 1 + BINDING_SIZE), bindingOf(bound)))
    return fail('invalid_cursor', 'the cursor belongs to another path or other filters');
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const position = view.getFloat64(1 + BINDING_SIZE);
  const seq = view.getFloat64(1 + BINDING_SIZE + 12);
  if (!Number.isSafeInteger(position) || position < 0 || !Number.isSafeInteger(seq) || seq < 0)
    return fail('invalid_cursor', 'invalid cursor: not issued by this node');
  const blockHash = bytes.slice(1 + BINDING_SIZE + 20);
  return { position, sub: view.getUint32(1 + BINDING_SIZE + 8), seq, blockHash };
}

/** Returns the position behind the last transaction of the chain, at which a page of mempool entries ends. */
export function endOfChain({ tip }: ReadEnv): Pick<PageEnd, 'position' | 'blockHash'> {
  return { position: txPosition(tip.height + 1, 0) - 1, blockHash: tip.hash };
}

/** Throws `cursor_reorged` when the block at the end of a page has left the active chain. */
export function checkStillActive({ reads, tip }: ReadEnv, height: number, blockHash: Uint8Array): void {
  const active = height <= tip.height ? reads.headers.byHeight(height) : null;
  if (active && equalBytes(active.hash, blockHash)) return;
  let left = reads.headers.byHash(blockHash);
  while (left && !reads.headers.isActive(left)) left = reads.headers.byHash(left.header.subarray(4, 36));
  const forkHeight = left?.height ?? Math.min(Math.max(height - 1, 0), tip.height);
  fail('cursor_reorged', `the chain changed above height ${forkHeight}`, { forkHeight, tip: tipView(tip) });
}

function bindingOf(bound: string): Uint8Array {
  return sha256(new TextEncoder().encode(bound)).subarray(0, BINDING_SIZE);
}

function fromBase64(text: string): Uint8Array | null {
  try {
    return Uint8Array.fromBase64(text, { alphabet: 'base64url' });
  } catch {
    return null;
  }
}
