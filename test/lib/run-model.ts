import fc from 'fast-check';
import { putPair } from '../../src/storage/runs/pair-codec.ts';
import { RunBatch } from '../../src/storage/runs/run-batch.ts';
import { COINS, type RunFamily, TX_INDEX } from '../../src/storage/runs/run-family.ts';

/** A change of one key: it is added or removed, whichever applies, or replaced by a removal and an addition. */
export interface KeyChange {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
  readonly replace: boolean;
}

/** The state that commits of changes leave, as a plain map; it makes the batch of each commit. */
export class RunModel {
  readonly family: RunFamily;
  /** Value of each key, by key in hex. */
  readonly state = new Map<string, Uint8Array>();

  constructor(family: RunFamily) {
    this.family = family;
  }

  /** Applies the changes in their order. Returns their batch. */
  commit(changes: readonly KeyChange[]): RunBatch {
    const batch = new RunBatch(this.family);
    for (const { key, value, replace } of changes) {
      const hex = key.toHex();
      const old = this.state.get(hex);
      if (old !== undefined) {
        // The removal of a coin has no value; that of amounts has those of the addition.
        putEntry(batch, true, key, this.family === COINS ? new Uint8Array(0) : old);
        this.state.delete(hex);
        if (!replace) continue;
      }
      putEntry(batch, false, key, value);
      this.state.set(hex, value);
    }
    return batch;
  }

  /** Returns the entries of the state from one key up to before another, in the order of keys. */
  range(low: Uint8Array | null, high: Uint8Array | null): [key: string, value: string][] {
    return [...this.state]
      .filter(([key]) => (low === null || key >= low.toHex()) && (high === null || key < high.toHex()))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, value]) => [key, value.toHex()]);
  }
}

export function putEntry(batch: RunBatch, removed: boolean, key: Uint8Array, value: Uint8Array): void {
  batch.beginEntry(removed, value.length);
  batch.keys.set(key, batch.keyAt);
  batch.values.set(value, batch.valueAt);
  batch.finishEntry(batch.valueAt + value.length);
}

export function pairValue(first: number, second: number): Uint8Array {
  const bytes = new Uint8Array(15);
  return bytes.slice(0, putPair(bytes, 0, first, second));
}

/** Keys of which many share a prefix, and many are equal. */
export function keyOf({ keySize }: RunFamily): fc.Arbitrary<Uint8Array> {
  return fc
    .record({
      base: fc.constantFrom(0x00, 0x7f, 0xff),
      at: fc.nat(keySize - 1),
      byte: fc.constantFrom(0, 1, 0x7f, 0x80, 0xff),
      last: fc.nat(3),
    })
    .map(({ base, at, byte, last }) => {
      const key = new Uint8Array(keySize).fill(base);
      key[at] = byte;
      key[keySize - 1] = last;
      return key;
    });
}

const amount = fc.oneof(
  { weight: 3, arbitrary: fc.maxSafeNat() },
  { weight: 3, arbitrary: fc.nat(300) },
  { weight: 1, arbitrary: fc.constantFrom(0, 2 ** 32 - 1, 2 ** 32, 2 ** 48 - 1, 2 ** 48, 2 ** 53 - 1) },
);

/** Values of a family: pairs where it has sums, scripts of up to 10,000 bytes for coins, nothing for transactions. */
export function valueFor(family: RunFamily): fc.Arbitrary<Uint8Array> {
  if (family === TX_INDEX) return fc.constant(new Uint8Array(0));
  if (family.sums) return fc.tuple(amount, amount).map(([first, second]) => pairValue(first, second));
  const length = fc.oneof(
    { weight: 20, arbitrary: fc.integer({ min: 1, max: 80 }) },
    { weight: 3, arbitrary: fc.integer({ min: 63, max: 65 }) },
    { weight: 1, arbitrary: fc.constantFrom(4000, 4020, 8191, 8192, 10_000, 10_015) },
  );
  return fc.tuple(length, fc.nat(255)).map(([size, byte]) => new Uint8Array(size).map((_, i) => byte + i * 7));
}

export function changesOf(family: RunFamily, maxLength: number): fc.Arbitrary<KeyChange[]> {
  const change = fc.record({ key: keyOf(family), value: valueFor(family), replace: fc.boolean() });
  return fc.array(change, { maxLength, size: 'max' });
}
