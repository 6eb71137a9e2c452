/** Context of a miniscript, which determines keys, multisig and limits. */
export type MiniscriptContext = 'p2wsh' | 'tapscript';

export const WRAPPERS = ['a', 's', 'c', 'd', 'v', 'j', 'n'] as const;
export const HASHES = ['sha256', 'ripemd160', 'hash256', 'hash160'] as const;

export type Wrapper = (typeof WRAPPERS)[number];
export type HashFragment = (typeof HASHES)[number];

/**
 * Fragments without the shorthands: `t:X` is and_v(X,1), `l:X` or_i(0,X), `u:X` or_i(X,0), and_n(X,Y) andor(X,Y,0),
 * pk(K) `c:pk_k(K)`, pkh(K) `c:pk_h(K)`.
 */
export type Fragment =
  | Wrapper
  | HashFragment
  | '0'
  | '1'
  | 'pk_k'
  | 'pk_h'
  | 'older'
  | 'after'
  | 'and_v'
  | 'and_b'
  | 'or_b'
  | 'or_c'
  | 'or_d'
  | 'or_i'
  | 'andor'
  | 'thresh'
  | 'multi'
  | 'multi_a';

/** Bytes of the hashes. */
export const HASH_SIZES: Readonly<Record<HashFragment, number>> = {
  sha256: 32,
  ripemd160: 20,
  hash256: 32,
  hash160: 20,
};

/** Maximum number of keys of multi_a() and sortedmulti_a(). */
export const MAX_PUBKEYS_PER_MULTI_A = 999;
/** Maximum size of a standard witness script, bytes. */
const MAX_P2WSH_SCRIPT_SIZE = 3600;
/** Maximum size of a tapscript, bytes: a standard transaction can hold it with its largest witness. */
const MAX_TAPSCRIPT_SIZE = 329_482;

export function maxScriptSize(context: MiniscriptContext): number {
  return context === 'tapscript' ? MAX_TAPSCRIPT_SIZE : MAX_P2WSH_SCRIPT_SIZE;
}
