import type { SigningData } from '../keys/signing-data.ts';
import type { KeyEncoding } from './descriptor.ts';

/** Where an expression stands: at the top, or inside that function. */
export type ParseContext = 'top' | 'sh' | 'wpkh' | 'wsh' | 'tr' | 'musig';

/** State of parsing a descriptor. */
export interface ParseState {
  readonly encoding: KeyEncoding;
  /** The private keys found so far. */
  readonly keys: SigningData;
  /** Key expressions found so far. */
  keyCount: number;
}
