import type { HeaderEntry } from '../../src/consensus/header-entry.ts';
import { workOf } from '../../src/consensus/work.ts';
import type { BlockHash } from '../../src/primitives/hash.ts';

/** A header that only knows its parent. */
export class TestEntry implements HeaderEntry {
  readonly height: number;
  readonly chainwork: bigint;
  readonly parent: TestEntry | null;
  readonly hash: BlockHash;
  readonly version: number;
  readonly time: number;
  readonly bits: number;

  constructor(
    parent: TestEntry | null,
    header: { version?: number; time: number; bits: number },
    hash: Uint8Array = new Uint8Array(32),
  ) {
    this.parent = parent;
    this.height = parent ? parent.height + 1 : 0;
    this.version = header.version ?? 0x2000_0000;
    this.time = header.time;
    this.bits = header.bits;
    this.hash = hash as BlockHash;
    this.chainwork = (parent?.chainwork ?? 0n) + workOf(header.bits);
  }

  ancestor(height: number): TestEntry | null {
    if (height < 0 || height > this.height) return null;
    let at: TestEntry = this;
    while (at.height > height) at = at.parent!;
    return at;
  }
}

/** Returns the tip of a chain of `length` headers. */
export function chainOf(
  length: number,
  at: (height: number) => { version?: number; time: number; bits: number },
): TestEntry {
  let tip: TestEntry | null = null;
  for (let height = 0; height < length; height++) tip = new TestEntry(tip, at(height));
  return tip!;
}
