import type { SigningData } from '../keys/signing-data.ts';
import type { KeyEncoding } from './descriptor.ts';

/** Where an expression stands: at the top, or inside that function. */
export type ParseContext = 'top' | 'sh' | 'wpkh' | 'wsh' | 'tr' | 'musig';

/** What goes along while a descriptor is read. */
export interface ParseState {
  readonly encoding: KeyEncoding;
  /** The private keys found so far. */
  readonly keys: SigningData;
  /** Key expressions found so far. */
  keyCount: number;
}
