import { expandBits } from '../consensus/work.ts';
import type { Block } from '../primitives/block.ts';
import { type BlockHeader, HEADER_SIZE, headerBytes } from '../primitives/header.ts';
import { assert } from '../util/assert.ts';

const NONCES = 0x1_0000_0000;
const NONCE_OFFSET = HEADER_SIZE - 4;

/** Thrown if no nonce meets the target; another time or coinbase opens a new range. */
export class NonceSpaceExhausted extends Error {
  override readonly name = 'NonceSpaceExhausted';

  constructor(readonly tries: number) {
    super(`no nonce meets the target after ${tries} tries`);
  }
}

/**
 * Returns the header with the first nonce, from its own on, whose hash meets its `bits`. Blocks the thread, so it is
 * for the difficulty of regtest. Throws NonceSpaceExhausted after `maxTries` or at the last nonce.
 */
export function grindHeader(header: BlockHeader, maxTries = NONCES): BlockHeader {
  const target = targetBytes(header.bits);
  const bytes = headerBytes(header).slice();
  const view = new DataView(bytes.buffer);
  const inner = new Uint8Array(32);
  const hash = new Uint8Array(32);
  const end = Math.min(header.nonce + maxTries, NONCES);
  for (let nonce = header.nonce; nonce < end; nonce++) {
    view.setUint32(NONCE_OFFSET, nonce, true);
    Bun.SHA256.hash(bytes, inner);
    Bun.SHA256.hash(inner, hash);
    if (isAtMost(hash, target)) return { ...header, nonce };
  }
  throw new NonceSpaceExhausted(end - header.nonce);
}

/** Returns the block with a header that meets its `bits`; throws as `grindHeader` does. */
export function grindBlock(block: Block, maxTries?: number): Block {
  return { ...block, header: grindHeader(block.header, maxTries) };
}

/** Returns the target in the byte order of hashes: least significant byte first. */
function targetBytes(bits: number): Uint8Array {
  const { target, negative, overflow } = expandBits(bits);
  assert(!negative && !overflow && target > 0n, 'bits are a target');
  return Uint8Array.fromHex(target.toString(16).padStart(64, '0')).reverse();
}

function isAtMost(hash: Uint8Array, target: Uint8Array): boolean {
  for (let i = 31; i >= 0; i--) {
    const difference = hash[i]! - target[i]!;
    if (difference !== 0) return difference < 0;
  }
  return true;
}
