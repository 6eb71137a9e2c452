import type { HashFragment } from './fragment.ts';
import { foldMiniscript, type MiniscriptNode } from './miniscript-node.ts';

/** Data of a spender. `key` is the number of a key in the tree. */
export interface MiniscriptSpender {
  /** The key as it stands in a script. */
  keyBytes(key: number): Uint8Array;
  /** A signature with its hash type; null where there is none. */
  sign(key: number): Uint8Array | null;
  /** 32 bytes; null where they are not known. */
  preimage(hash: HashFragment, image: Uint8Array): Uint8Array | null;
  /** Whether the input's sequence satisfies this relative lock (BIP-112). */
  isOlder(lock: number): boolean;
  /** Whether the transaction's locktime satisfies this lock (BIP-65). */
  isAfter(lock: number): boolean;
}

/** One way to satisfy or to dissatisfy an expression; null where there is none. */
interface Way {
  readonly items: readonly Uint8Array[];
  /** Bytes of the items in a witness. */
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
/** Any other preimage does as well. */
const WRONG_PREIMAGE: Way = { ...item(new Uint8Array(32)), malleable: true };

function item(bytes: Uint8Array): Way {
  return { items: [bytes], size: bytes.length + 1, hasSignature: false, malleable: false };
}

function signed(signature: Uint8Array | null): Way | null {
  return signature && { ...item(signature), hasSignature: true };
}

/** One after the other; the first is beneath. */
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
 * The way to take of two. Without a signature in one of them, others could always change to that: so it has to be it,
 * and with two such ways malleability cannot be helped. Else one that is not malleable, else the smaller one.
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
 * The witness that satisfies a script, without the script; null where what the spender has is not enough, or would do
 * only in a way that others can change.
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
      // Where the inner one can be dissatisfied without signature, that may be another way to dissatisfy this one.
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

/** The best ways to do none, one, … all of several things, each of which `ways` either does or leaves. */
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

/** CHECKMULTISIG takes signatures in the order of the keys, and one item too many (BIP-147). */
function multiWays(k: number, keys: readonly number[], spender: MiniscriptSpender): Ways {
  const signatures = keys.map((key) => ({ sat: signed(spender.sign(key)), dsat: EMPTY }));
  return {
    sat: choose(signatures, ZERO)[k]!,
    dsat: both(...Array.from({ length: k + 1 }, () => ZERO)),
  };
}

/** Every key has an item here, that of the first key on top. */
function multiAWays(k: number, keys: readonly number[], spender: MiniscriptSpender): Ways {
  const signatures = keys.toReversed().map((key) => ({ sat: signed(spender.sign(key)), dsat: ZERO }));
  const best = choose(signatures, EMPTY);
  return { sat: best[k]!, dsat: best[0]! };
}

function threshWays(k: number, subs: readonly Ways[]): Ways {
  const best = choose(subs.toReversed(), EMPTY);
  // Satisfying another number than k dissatisfies as well, but a third party can change that to none.
  let dsat: Way | null = null;
  for (const [i, way] of best.entries()) if (i !== k) dsat = either(dsat, i === 0 ? way : malleable(way));
  return { sat: best[k]!, dsat };
}
