import type { HashFragment } from './fragment.ts';
import { foldMiniscript, type MiniscriptNode } from './miniscript-node.ts';

/** Data of a spender. `key` is the number of a key in the tree. */
export interface MiniscriptSpender {
  /** Returns the key as it appears in the script. */
  keyBytes(key: number): Uint8Array;
  /** Returns a signature with its hash type; null if there is none. */
  sign(key: number): Uint8Array | null;
  /** Returns the 32-byte preimage; null if it is unknown. */
  preimage(hash: HashFragment, image: Uint8Array): Uint8Array | null;
  /** Whether the input's sequence satisfies this relative lock (BIP-112). */
  isOlder(lock: number): boolean;
  /** Whether the transaction's locktime satisfies this lock (BIP-65). */
  isAfter(lock: number): boolean;
}

/** A way to satisfy or dissatisfy an expression; null if there is none. */
interface Way {
  readonly items: readonly Uint8Array[];
  /** Bytes of the witness items. */
  readonly size: number;
  readonly hasSignature: boolean;
  /** Whether others can turn it into another one that is as good. */
  readonly malleable: boolean;
}

interface Ways {
  readonly sat: Way | null;
  readonly dsat: Way | null;
}

const EMPTY: Way = { items: [], size: 0, hasSignature: false, malleable: false };
const ZERO = item(new Uint8Array(0));
const ONE = item(Uint8Array.of(1));
/** Any other value of 32 bytes would do as well. */
const WRONG_PREIMAGE: Way = { ...item(new Uint8Array(32)), malleable: true };

function item(bytes: Uint8Array): Way {
  return { items: [bytes], size: bytes.length + 1, hasSignature: false, malleable: false };
}

function signed(signature: Uint8Array | null): Way | null {
  return signature && { ...item(signature), hasSignature: true };
}

/** Concatenates ways; the first is at the bottom of the stack. */
function both(...ways: readonly (Way | null)[]): Way | null {
  let all: Way = EMPTY;
  for (const way of ways) {
    if (way === null) return null;
    all = {
      items: [...all.items, ...way.items],
      size: all.size + way.size,
      hasSignature: all.hasSignature || way.hasSignature,
      malleable: all.malleable || way.malleable,
    };
  }
  return all;
}

/**
 * Returns the better of two ways. If one needs no signature, a third party could switch to it, so it is chosen; if both
 * need none, the result is malleable. Otherwise a way that is not malleable wins, then the smaller one.
 */
function either(a: Way | null, b: Way | null): Way | null {
  if (a === null || b === null) return a ?? b;
  if (a.hasSignature !== b.hasSignature) return a.hasSignature ? b : a;
  if (!a.hasSignature) return { ...(a.size <= b.size ? a : b), malleable: true };
  if (a.malleable !== b.malleable) return a.malleable ? b : a;
  return a.size <= b.size ? a : b;
}

function malleable(way: Way | null): Way | null {
  return way && { ...way, malleable: true };
}

/**
 * Returns the witness items that satisfy a script, without the script. Returns null if the spender lacks data, or if
 * every witness is malleable.
 */
export function satisfyMiniscript(root: MiniscriptNode, spender: MiniscriptSpender): readonly Uint8Array[] | null {
  const { sat } = foldMiniscript<Ways>(root, (node, subs) => waysOf(node, subs, spender));
  return sat === null || sat.malleable || !sat.hasSignature ? null : sat.items;
}

function waysOf(node: MiniscriptNode, subs: readonly Ways[], spender: MiniscriptSpender): Ways {
  const { fragment, k, keys, data } = node;
  const [x, y, z] = subs as readonly [Ways, Ways, Ways];
  switch (fragment) {
    case '0':
      return { sat: null, dsat: EMPTY };
    case '1':
      return { sat: EMPTY, dsat: null };
    case 'pk_k':
      return { sat: signed(spender.sign(keys[0]!)), dsat: ZERO };
    case 'pk_h': {
      const key = item(spender.keyBytes(keys[0]!));
      return { sat: both(signed(spender.sign(keys[0]!)), key), dsat: both(ZERO, key) };
    }
    case 'older':
      return { sat: spender.isOlder(k) ? EMPTY : null, dsat: null };
    case 'after':
      return { sat: spender.isAfter(k) ? EMPTY : null, dsat: null };
    case 'sha256':
    case 'ripemd160':
    case 'hash256':
    case 'hash160': {
      const preimage = spender.preimage(fragment, data);
      return { sat: preimage && item(preimage), dsat: WRONG_PREIMAGE };
    }
    case 'multi':
      return multiWays(k, keys, spender);
    case 'multi_a':
      return multiAWays(k, keys, spender);
    case 'a':
    case 's':
    case 'c':
    case 'n':
      return x;
    case 'd':
      return { sat: both(x.sat, ONE), dsat: ZERO };
    case 'v':
      return { sat: x.sat, dsat: null };
    case 'j':
      // If the inner expression can be dissatisfied without a signature, that may be a second way to dissatisfy this
      // one.
      return { sat: x.sat, dsat: { ...ZERO, malleable: x.dsat !== null && !x.dsat.hasSignature } };
    case 'and_v':
      return { sat: both(y.sat, x.sat), dsat: both(y.dsat, x.sat) };
    case 'and_b':
      return {
        sat: both(y.sat, x.sat),
        dsat: either(either(both(y.dsat, x.dsat), malleable(both(y.sat, x.dsat))), malleable(both(y.dsat, x.sat))),
      };
    case 'or_b':
      return {
        sat: either(either(both(y.dsat, x.sat), both(y.sat, x.dsat)), malleable(both(y.sat, x.sat))),
        dsat: both(y.dsat, x.dsat),
      };
    case 'or_c':
      return { sat: either(x.sat, both(y.sat, x.dsat)), dsat: null };
    case 'or_d':
      return { sat: either(x.sat, both(y.sat, x.dsat)), dsat: both(y.dsat, x.dsat) };
    case 'or_i':
      return {
        sat: either(both(x.sat, ONE), both(y.sat, ZERO)),
        dsat: either(both(x.dsat, ONE), both(y.dsat, ZERO)),
      };
    case 'andor':
      return {
        sat: either(both(y.sat, x.sat), both(z.sat, x.dsat)),
        dsat: either(both(y.dsat, x.sat), both(z.dsat, x.dsat)),
      };
    case 'thresh':
      return threshWays(k, subs);
  }
}

/** Returns the best ways to satisfy none, one, … all of several expressions. */
function choose(ways: readonly Ways[], start: Way): (Way | null)[] {
  let best: (Way | null)[] = [start];
  for (const { sat, dsat } of ways) {
    const next = [both(best[0]!, dsat)];
    for (let j = 1; j < best.length; j++) next.push(either(both(best[j]!, dsat), both(best[j - 1]!, sat)));
    next.push(both(best.at(-1)!, sat));
    best = next;
  }
  return best;
}

/** CHECKMULTISIG expects signatures in the order of the keys, and pops one item too many (BIP-147). */
function multiWays(k: number, keys: readonly number[], spender: MiniscriptSpender): Ways {
  const signatures = keys.map((key) => ({ sat: signed(spender.sign(key)), dsat: EMPTY }));
  return {
    sat: choose(signatures, ZERO)[k]!,
    dsat: both(...Array.from({ length: k + 1 }, () => ZERO)),
  };
}

/** Every key has an item; that of the first key is on top. */
function multiAWays(k: number, keys: readonly number[], spender: MiniscriptSpender): Ways {
  const signatures = keys.toReversed().map((key) => ({ sat: signed(spender.sign(key)), dsat: ZERO }));
  const best = choose(signatures, EMPTY);
  return { sat: best[k]!, dsat: best[0]! };
}

function threshWays(k: number, subs: readonly Ways[]): Ways {
  const best = choose(subs.toReversed(), EMPTY);
  // Any number of satisfactions other than k dissatisfies it too, but a third party could reduce it to zero.
  let dsat: Way | null = null;
  for (const [i, way] of best.entries()) if (i !== k) dsat = either(dsat, i === 0 ? way : malleable(way));
  return { sat: best[k]!, dsat };
}
