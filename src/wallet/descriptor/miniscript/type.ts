import { assert } from '../../../util/assert.ts';
import type { Fragment, MiniscriptContext } from './fragment.ts';

/**
 * The type of an expression (BIP-379), a set of letters as bits. What it leaves on the stack: B a value, V nothing, K a
 * key, W a value beneath the top. What it takes: z nothing, o one item, n no zero on top. d: it can be dissatisfied;
 * u: leaves exactly 1. For malleability: e dissatisfied in one way only, f not without a signature, s satisfied with
 * a signature only, m without malleability. x: does not end with an opcode that has a VERIFY form. Timelocks: g
 * relative time, h relative height, i absolute time, j absolute height, k that they do not conflict.
 */
export type Type = number;

const LETTERS = 'BVKWzonduefsmxghijk';
const parsed = new Map<string, Type>();

/** Returns the type with these letters. */
function typeOf(letters: string): Type {
  let type = parsed.get(letters);
  if (type === undefined) {
    type = 0;
    for (const letter of letters) {
      assert(LETTERS.includes(letter), 'a letter of a type');
      type |= 1 << LETTERS.indexOf(letter);
    }
    parsed.set(letters, type);
  }
  return type;
}

/** Whether a type has all of these letters. */
export function has(type: Type, letters: string): boolean {
  return (typeOf(letters) & ~type) === 0;
}

/** Returns the letters that the type has. */
function some(type: Type, letters: string): Type {
  return type & typeOf(letters);
}

function when(condition: boolean, letters: string): Type {
  return condition ? typeOf(letters) : 0;
}

/** BIP-68 flag of a relative timelock in units of time. */
const SEQUENCE_TYPE_FLAG = 0x40_0000;
const LOCKTIME_THRESHOLD = 500_000_000;
const NO_TYPE: Type = 0;

/** Returns the type of an expression from those of its subexpressions; 0 if they do not fit. */
export function computeType(fragment: Fragment, subs: readonly Type[], k: number, context: MiniscriptContext): Type {
  const type = fragment === 'thresh' ? threshType(subs, k) : fragmentType(fragment, subs, k, context);
  // Without a base type the other properties are meaningless.
  return some(type, 'BVKW') === 0 ? NO_TYPE : type;
}

function fragmentType(
  fragment: Fragment,
  [x = 0, y = 0, z = 0]: readonly Type[],
  k: number,
  context: MiniscriptContext,
) {
  switch (fragment) {
    case 'pk_k':
      return typeOf('Konudemsxk');
    case 'pk_h':
      return typeOf('Knudemsxk');
    case 'older':
      return typeOf('Bzfmxk') | typeOf(k & SEQUENCE_TYPE_FLAG ? 'g' : 'h');
    case 'after':
      return typeOf('Bzfmxk') | typeOf(k >= LOCKTIME_THRESHOLD ? 'i' : 'j');
    case 'sha256':
    case 'ripemd160':
    case 'hash256':
    case 'hash160':
      return typeOf('Bonudmk');
    case '1':
      return typeOf('Bzufmxk');
    case '0':
      return typeOf('Bzudemsxk');
    case 'multi':
      return typeOf('Bnudemsk');
    case 'multi_a':
      return typeOf('Budemsk');
    case 'a':
      return when(has(x, 'B'), 'W') | some(x, 'ghijkudfems') | typeOf('x');
    case 's':
      return when(has(x, 'Bo'), 'W') | some(x, 'ghijkudfemsx');
    case 'c':
      return when(has(x, 'K'), 'B') | some(x, 'ghijkondfem') | typeOf('us');
    case 'd':
      // In P2WSH MINIMALIF is only policy, so that values other than 1 may remain.
      return (
        when(has(x, 'Vz'), 'B') |
        when(has(x, 'z'), 'o') |
        when(has(x, 'f'), 'e') |
        some(x, 'ghijkms') |
        when(context === 'tapscript', 'u') |
        typeOf('ndx')
      );
    case 'v':
      return when(has(x, 'B'), 'V') | some(x, 'ghijkzonms') | typeOf('fx');
    case 'j':
      return when(has(x, 'Bn'), 'B') | when(has(x, 'f'), 'e') | some(x, 'ghijkoums') | typeOf('ndx');
    case 'n':
      return some(x, 'ghijkBzondfems') | typeOf('ux');
    case 'and_v':
      return (
        (has(x, 'V') ? some(y, 'KVB') : 0) |
        some(x, 'n') |
        (has(x, 'z') ? some(y, 'n') : 0) |
        oneOf(x, y) |
        some(x & y, 'mz') |
        some(x | y, 's') |
        when(has(y, 'f') || has(x, 's'), 'f') |
        some(y, 'ux') |
        bothTimelocks(x, y)
      );
    case 'and_b':
      return (
        (has(y, 'W') ? some(x, 'B') : 0) |
        oneOf(x, y) |
        some(x, 'n') |
        (has(x, 'z') ? some(y, 'n') : 0) |
        (has(x & y, 's') ? some(x & y, 'e') : 0) |
        some(x & y, 'dzm') |
        when(has(x & y, 'f') || has(x, 'sf') || has(y, 'sf'), 'f') |
        some(x | y, 's') |
        typeOf('ux') |
        bothTimelocks(x, y)
      );
    case 'or_b':
      return (
        when(has(x, 'Bd') && has(y, 'Wd'), 'B') |
        oneOf(x, y) |
        (has(x | y, 's') && has(x & y, 'e') ? some(x & y, 'm') : 0) |
        some(x & y, 'zse') |
        typeOf('dux') |
        eitherTimelocks(x, y)
      );
    case 'or_d':
      return (has(x, 'Bdu') ? some(y, 'B') : 0) | orElse(x, y) | some(y, 'ufde') | typeOf('x') | eitherTimelocks(x, y);
    case 'or_c':
      return (has(x, 'Bdu') ? some(y, 'V') : 0) | orElse(x, y) | typeOf('fx') | eitherTimelocks(x, y);
    case 'or_i':
      return (
        some(x & y, 'VBKufs') |
        when(has(x & y, 'z'), 'o') |
        (has(x | y, 'f') ? some(x | y, 'e') : 0) |
        (has(x | y, 's') ? some(x & y, 'm') : 0) |
        some(x | y, 'd') |
        typeOf('x') |
        eitherTimelocks(x, y)
      );
    case 'andor':
      return (
        (has(x, 'Bdu') ? some(y & z, 'BKV') : 0) |
        some(x & y & z, 'z') |
        (has(x | (y & z), 'z') ? some(x | (y & z), 'o') : 0) |
        some(y & z, 'u') |
        (has(x, 's') || has(y, 'f') ? some(z, 'fe') : 0) |
        some(z, 'd') |
        (has(x, 'e') && has(x | y | z, 's') ? some(x & y & z, 'm') : 0) |
        some(z & (x | y), 's') |
        typeOf('x') |
        some(x | y | z, 'ghij') |
        when(has(x & y & z, 'k') && !conflict(x, y), 'k')
      );
    default:
      return NO_TYPE;
  }
}

/** Property o of two expressions that both run. */
function oneOf(x: Type, y: Type): Type {
  return has(x | y, 'z') ? some(x | y, 'o') : 0;
}

/** Returns the properties that or_c and or_d share. */
function orElse(x: Type, y: Type): Type {
  return (has(y, 'z') ? some(x, 'o') : 0) | (has(x, 'e') && has(x | y, 's') ? some(x & y, 'm') : 0) | some(x & y, 'zs');
}

function eitherTimelocks(x: Type, y: Type): Type {
  return some(x | y, 'ghij') | some(x & y, 'k');
}

function bothTimelocks(x: Type, y: Type): Type {
  return some(x | y, 'ghij') | when(has(x & y, 'k') && !conflict(x, y), 'k');
}

/** Whether one needs a time and the other a height, of the same kind of lock. */
function conflict(x: Type, y: Type): boolean {
  return (
    (has(x, 'g') && has(y, 'h')) ||
    (has(x, 'h') && has(y, 'g')) ||
    (has(x, 'i') && has(y, 'j')) ||
    (has(x, 'j') && has(y, 'i'))
  );
}

function threshType(subs: readonly Type[], k: number): Type {
  let taken = 0;
  let signed = 0;
  let timelocks = typeOf('k');
  for (const [i, sub] of subs.entries()) {
    if (!has(sub, i === 0 ? 'Bdu' : 'Wdu')) return NO_TYPE;
    if (has(sub, 's')) signed++;
    taken += has(sub, 'z') ? 0 : has(sub, 'o') ? 1 : 2;
    const compatible = has(timelocks & sub, 'k') && (k <= 1 || !conflict(timelocks, sub));
    timelocks = some(timelocks | sub, 'ghij') | when(compatible, 'k');
  }
  const allE = subs.every((sub) => has(sub, 'e'));
  const allM = subs.every((sub) => has(sub, 'm'));
  const others = subs.length - k;
  return (
    typeOf('Bdu') |
    when(taken === 0, 'z') |
    when(taken === 1, 'o') |
    when(allE && signed === subs.length, 'e') |
    when(allE && allM && signed >= others, 'm') |
    when(signed >= others + 1, 's') |
    timelocks
  );
}
