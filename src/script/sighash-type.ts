export const SIGHASH_ALL = 1;
export const SIGHASH_NONE = 2;
export const SIGHASH_SINGLE = 3;
export const SIGHASH_ANYONECANPAY = 0x80;
/** Taproot only: no hash type byte, means ALL. */
export const SIGHASH_DEFAULT = 0;

/** Before taproot, the bits that choose the outputs; the others but ANYONECANPAY mean nothing. */
export const SIGHASH_OUTPUT_BITS = 0x1f;

const NAMES = new Map([
  [SIGHASH_ALL, 'ALL'],
  [SIGHASH_NONE, 'NONE'],
  [SIGHASH_SINGLE, 'SINGLE'],
  [SIGHASH_ALL | SIGHASH_ANYONECANPAY, 'ALL|ANYONECANPAY'],
  [SIGHASH_NONE | SIGHASH_ANYONECANPAY, 'NONE|ANYONECANPAY'],
  [SIGHASH_SINGLE | SIGHASH_ANYONECANPAY, 'SINGLE|ANYONECANPAY'],
]);

/** Core's name of a hash type, null where it has none. */
export function sighashName(hashType: number): string | null {
  return NAMES.get(hashType) ?? null;
}

/** The hash type of a name as RPC writes it, `DEFAULT` among them; null for others. */
export function sighashFromName(name: string): number | null {
  if (name === 'DEFAULT') return SIGHASH_DEFAULT;
  for (const [type, known] of NAMES) if (known === name) return type;
  return null;
}
