import { ALL_SCRIPT_FLAGS } from '../lib/script-flags.ts';

const P2SH = 1 << 0;
const CLEANSTACK = 1 << 8;
const WITNESS = 1 << 11;

/** Removes flags whose requirements are missing: CLEANSTACK implies WITNESS implies P2SH. */
export function trimmed(flags: number): number {
  const withWitness = flags & P2SH ? flags : flags & ~WITNESS;
  return withWitness & WITNESS ? withWitness : withWitness & ~CLEANSTACK;
}

/** Adds the flags that others imply. */
export function filled(flags: number): number {
  const withWitness = flags & CLEANSTACK ? flags | WITNESS : flags;
  return withWitness & WITNESS ? withWitness | P2SH : withWitness;
}

/** `count` pseudorandom sets of flags, the same in every run. */
export function* flagSets(seed: number, count: number): Generator<number> {
  let state = seed;
  for (let i = 0; i < count; i++) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    yield (state >>> 8) & ALL_SCRIPT_FLAGS;
  }
}

/** Each flag alone. */
export const SINGLE_FLAGS: readonly number[] = Array.from({ length: 21 }, (_, bit) => 1 << bit);
