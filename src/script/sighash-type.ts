export const SIGHASH_ALL = 1;
export const SIGHASH_NONE = 2;
export const SIGHASH_SINGLE = 3;
export const SIGHASH_ANYONECANPAY = 0x80;
/** Taproot only: without a hash type byte; means ALL. */
export const SIGHASH_DEFAULT = 0;

/** Before taproot: the bits that select the outputs; of the others only ANYONECANPAY has a meaning. */
export const SIGHASH_OUTPUT_BITS = 0x1f;

const NAMES = new Map([
  [SIGHASH_ALL, 'ALL'],
  [SIGHASH_NONE, 'NONE'],
  [SIGHASH_SINGLE, 'SINGLE'],
  [SIGHASH_ALL | SIGHASH_ANYONECANPAY, 'ALL|ANYONECANPAY'],
  [SIGHASH_NONE | SIGHASH_ANYONECANPAY, 'NONE|ANYONECANPAY'],
  [SIGHASH_SINGLE | SIGHASH_ANYONECANPAY, 'SINGLE|ANYONECANPAY'],
]);

/** Returns Core's name of a hash type; null if it has none. */
export function sighashName(hashType: number): string | null {
  return NAMES.get(hashType) ?? null;
}

/** Returns the hash type of a name in RPC, `DEFAULT` included; null for other names. */
export function sighashFromName(name: string): number | null {
  if (name === 'DEFAULT') return SIGHASH_DEFAULT;
  for (const [type, known] of NAMES) if (known === name) return type;
  return null;
}
