import type { Fragment, MiniscriptContext } from './fragment.ts';
import { has, type Type } from './type.ts';

/** A bound; null if it cannot be done. */
type Bound = number | null;

/** Maximum costs of satisfying and dissatisfying an expression, over all non-malleable ways. */
export interface Bounds<T> {
  readonly sat: T;
  readonly dsat: T;
}

/**
 * Stack heights of the traces of a script. `net` is the height at the start minus that at the end, and `peak` is the
 * maximum height minus that at the end.
 */
export interface Trace {
  readonly net: number;
  readonly peak: number;
}

/** The parts of a node that its bounds depend on. */
interface BoundedNode {
  readonly fragment: Fragment;
  readonly k: number;
  readonly keys: readonly number[];
  readonly subs: readonly {
    readonly type: Type;
    readonly ops: OpCount;
    readonly stack: Bounds<Trace | null>;
    readonly witness: Bounds<number | null>;
  }[];
}

/** Operations of a fold over a tree: one after the other, and one or the other. */
interface Counting<T> {
  both(a: T | null, b: T | null): T | null;
  either(a: T | null, b: T | null): T | null;
}

const NUMBERS: Counting<number> = {
  both: (a, b) => (a === null || b === null ? null : a + b),
  either: (a, b) => (a === null ? b : b === null ? a : Math.max(a, b)),
};

const TRACES: Counting<Trace> = {
  both: (a, b) => (a === null || b === null ? null : { net: a.net + b.net, peak: Math.max(b.peak, b.net + a.peak) }),
  either: (a, b) => (a === null ? b : b === null ? a : { net: Math.max(a.net, b.net), peak: Math.max(a.peak, b.peak) }),
};

/** Combines `subs` of a threshold for every number of satisfied ones. `between` follows all but the first. */
function thresholds<T>(
  { both, either }: Counting<T>,
  subs: readonly Bounds<T | null>[],
  none: T,
  between: T,
): (T | null)[] {
  let sats: (T | null)[] = [none];
  for (const [i, { sat, dsat }] of subs.entries()) {
    const add = i === 0 ? none : between;
    const next = [both(both(sats[0]!, dsat), add)];
    for (let j = 1; j < sats.length; j++) next.push(both(either(both(sats[j]!, dsat), both(sats[j - 1]!, sat)), add));
    next.push(both(both(sats.at(-1)!, sat), add));
    sats = next;
  }
  return sats;
}

/** Number of opcodes other than pushes, plus the keys of executed CHECKMULTISIGs, which count as well. */
export interface OpCount extends Bounds<Bound> {
  readonly count: number;
}

const OWN_OPS: Partial<Record<Fragment, number>> = {
  pk_h: 3,
  older: 1,
  after: 1,
  sha256: 4,
  ripemd160: 4,
  hash256: 4,
  hash160: 4,
  a: 2,
  s: 1,
  c: 1,
  n: 1,
  d: 3,
  j: 4,
  and_b: 1,
  or_b: 1,
  or_c: 2,
  or_d: 3,
  or_i: 3,
  andor: 3,
  multi: 1,
};

export function countOps(node: BoundedNode): OpCount {
  const { fragment, k, keys, subs } = node;
  let count = OWN_OPS[fragment] ?? 0;
  if (fragment === 'multi_a') count = keys.length + 1;
  else if (fragment === 'thresh') count = subs.length;
  else if (fragment === 'v' && has(subs[0]!.type, 'x')) count = 1;
  for (const sub of subs) count += sub.ops.count;
  const [x, y, z] = subs.map(({ ops }) => ops);
  const { both, either } = NUMBERS;
  switch (fragment) {
    case '0':
      return { count, sat: null, dsat: 0 };
    case '1':
    case 'older':
    case 'after':
    case 'sha256':
    case 'ripemd160':
    case 'hash256':
    case 'hash160':
      return { count, sat: 0, dsat: null };
    case 'pk_k':
    case 'pk_h':
    case 'multi_a':
      return { count, sat: 0, dsat: 0 };
    case 'multi':
      return { count, sat: keys.length, dsat: keys.length };
    case 'a':
    case 's':
    case 'c':
    case 'n':
      return { count, sat: x!.sat, dsat: x!.dsat };
    case 'd':
    case 'j':
      return { count, sat: x!.sat, dsat: 0 };
    case 'v':
      return { count, sat: x!.sat, dsat: null };
    case 'and_v':
      return { count, sat: both(x!.sat, y!.sat), dsat: null };
    case 'and_b':
      return { count, sat: both(x!.sat, y!.sat), dsat: both(x!.dsat, y!.dsat) };
    case 'or_b':
      return {
        count,
        sat: either(both(x!.sat, y!.dsat), both(y!.sat, x!.dsat)),
        dsat: both(x!.dsat, y!.dsat),
      };
    case 'or_d':
      return { count, sat: either(x!.sat, both(y!.sat, x!.dsat)), dsat: both(x!.dsat, y!.dsat) };
    case 'or_c':
      return { count, sat: either(x!.sat, both(y!.sat, x!.dsat)), dsat: null };
    case 'or_i':
      return { count, sat: either(x!.sat, y!.sat), dsat: either(x!.dsat, y!.dsat) };
    case 'andor':
      return {
        count,
        sat: either(both(y!.sat, x!.sat), both(x!.dsat, z!.sat)),
        dsat: both(x!.dsat, z!.dsat),
      };
    case 'thresh': {
      const sats = thresholds(
        NUMBERS,
        subs.map(({ ops }) => ops),
        0,
        0,
      );
      return { count, sat: sats[k]!, dsat: sats[0]! };
    }
  }
}

// Effect of opcodes on the height of the stack.
const NOTHING: Trace = { net: 0, peak: 0 };
const PUSH: Trace = { net: -1, peak: 0 };
/** IF, NOTIF, VERIFY, EQUAL, CHECKSIG, BOOLAND, BOOLOR and ADD all leave one less. */
const POP: Trace = { net: 1, peak: 1 };
const EQUAL_VERIFY: Trace = { net: 2, peak: 2 };

export function stackTraces(node: BoundedNode): Bounds<Trace | null> {
  const { fragment, k, keys, subs } = node;
  const [x, y, z] = subs.map(({ stack }) => stack);
  const { either } = TRACES;
  const seq = (...traces: (Trace | null)[]) => traces.reduce(TRACES.both, NOTHING);
  switch (fragment) {
    case '0':
      return { sat: null, dsat: PUSH };
    case '1':
    case 'older':
    case 'after':
      return { sat: PUSH, dsat: null };
    case 'pk_k':
      return { sat: PUSH, dsat: PUSH };
    case 'pk_h': {
      const trace = seq(PUSH, PUSH, EQUAL_VERIFY);
      return { sat: trace, dsat: trace };
    }
    case 'sha256':
    case 'ripemd160':
    case 'hash256':
    case 'hash160':
      return { sat: seq(PUSH, PUSH, EQUAL_VERIFY, PUSH, POP), dsat: null };
    case 'multi': {
      const trace = { net: k, peak: k + keys.length + 2 };
      return { sat: trace, dsat: trace };
    }
    case 'multi_a': {
      const trace = { net: keys.length - 1, peak: keys.length };
      return { sat: trace, dsat: trace };
    }
    case 'a':
    case 's':
    case 'n':
      return x!;
    case 'c':
      return { sat: seq(x!.sat, POP), dsat: seq(x!.dsat, POP) };
    case 'd':
    case 'j':
      return { sat: seq(PUSH, POP, x!.sat), dsat: seq(PUSH, POP) };
    case 'v':
      return { sat: seq(x!.sat, POP), dsat: null };
    case 'and_v':
      return { sat: seq(x!.sat, y!.sat), dsat: null };
    case 'and_b':
      return { sat: seq(x!.sat, y!.sat, POP), dsat: seq(x!.dsat, y!.dsat, POP) };
    case 'or_b':
      return {
        sat: seq(either(seq(x!.sat, y!.dsat), seq(x!.dsat, y!.sat)), POP),
        dsat: seq(x!.dsat, y!.dsat, POP),
      };
    case 'or_c':
      return { sat: either(seq(x!.sat, POP), seq(x!.dsat, POP, y!.sat)), dsat: null };
    case 'or_d':
      return {
        sat: either(seq(x!.sat, PUSH, POP), seq(x!.dsat, NOTHING, POP, y!.sat)),
        dsat: seq(x!.dsat, NOTHING, POP, y!.dsat),
      };
    case 'or_i':
      return { sat: seq(POP, either(x!.sat, y!.sat)), dsat: seq(POP, either(x!.dsat, y!.dsat)) };
    case 'andor':
      return {
        sat: either(seq(x!.sat, POP, y!.sat), seq(x!.dsat, POP, z!.sat)),
        dsat: seq(x!.dsat, POP, z!.dsat),
      };
    case 'thresh': {
      const sats = thresholds(
        TRACES,
        subs.map(({ stack }) => stack),
        NOTHING,
        POP,
      );
      return { sat: seq(sats[k]!, PUSH, POP), dsat: seq(sats[0]!, PUSH, POP) };
    }
  }
}

/** Returns the bytes of the witness without the script. */
export function witnessSizes(node: BoundedNode, context: MiniscriptContext): Bounds<Bound> {
  const { fragment, k, keys, subs } = node;
  const signature = context === 'tapscript' ? 1 + 65 : 1 + 72;
  const key = context === 'tapscript' ? 1 + 32 : 1 + 33;
  const [x, y, z] = subs.map(({ witness }) => witness);
  const { both, either } = NUMBERS;
  switch (fragment) {
    case '0':
      return { sat: null, dsat: 0 };
    case '1':
    case 'older':
    case 'after':
      return { sat: 0, dsat: null };
    case 'pk_k':
      return { sat: signature, dsat: 1 };
    case 'pk_h':
      return { sat: signature + key, dsat: 1 + key };
    case 'sha256':
    case 'ripemd160':
    case 'hash256':
    case 'hash160':
      return { sat: 1 + 32, dsat: null };
    case 'multi':
      return { sat: k * signature + 1, dsat: k + 1 };
    case 'multi_a':
      return { sat: k * signature + keys.length - k, dsat: keys.length };
    case 'a':
    case 's':
    case 'c':
    case 'n':
      return x!;
    case 'd':
      return { sat: both(2, x!.sat), dsat: 1 };
    case 'j':
      return { sat: x!.sat, dsat: 1 };
    case 'v':
      return { sat: x!.sat, dsat: null };
    case 'and_v':
      return { sat: both(x!.sat, y!.sat), dsat: null };
    case 'and_b':
      return { sat: both(x!.sat, y!.sat), dsat: both(x!.dsat, y!.dsat) };
    case 'or_b':
      return {
        sat: either(both(x!.dsat, y!.sat), both(x!.sat, y!.dsat)),
        dsat: both(x!.dsat, y!.dsat),
      };
    case 'or_c':
      return { sat: either(x!.sat, both(x!.dsat, y!.sat)), dsat: null };
    case 'or_d':
      return { sat: either(x!.sat, both(x!.dsat, y!.sat)), dsat: both(x!.dsat, y!.dsat) };
    case 'or_i':
      return { sat: either(both(x!.sat, 2), both(y!.sat, 1)), dsat: either(both(x!.dsat, 2), both(y!.dsat, 1)) };
    case 'andor':
      return {
        sat: either(both(x!.sat, y!.sat), both(x!.dsat, z!.sat)),
        dsat: both(x!.dsat, z!.dsat),
      };
    case 'thresh': {
      const sats = thresholds(
        NUMBERS,
        subs.map(({ witness }) => witness),
        0,
        0,
      );
      return { sat: sats[k]!, dsat: sats[0]! };
    }
  }
}
