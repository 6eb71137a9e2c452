import type { SigningData } from '../keys/signing-data.ts';
import type { KeyEncoding } from './descriptor.ts';

/** Position of an expression: the top level, or the enclosing function. */
export type ParseContext = 'top' | 'sh' | 'wpkh' | 'wsh' | 'tr' | 'musig';

/** State of parsing a descriptor. */
export interface ParseState {
  readonly encoding: KeyEncoding;
  /** The private keys found so far. */
  readonly keys: SigningData;
  /** Number of key expressions found so far. */
  keyCount: number;
}
