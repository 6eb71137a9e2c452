import { entropyToMnemonic, mnemonicToSeed, validateMnemonic } from '@scure/bip39';
import { wordlist } from '@scure/bip39/wordlists/english.js';
import { ExtendedPrivateKey } from './extended-key.ts';

/** Words of a mnemonic, and the bytes of randomness behind them. */
const ENTROPY_SIZES = { 12: 16, 15: 20, 18: 24, 21: 28, 24: 32 } as const;

export type MnemonicLength = keyof typeof ENTROPY_SIZES;

/** New words from the system's randomness (BIP-39, English). */
export function createMnemonic(words: MnemonicLength = 24): string {
  const entropy = crypto.getRandomValues(new Uint8Array(ENTROPY_SIZES[words]));
  const mnemonic = entropyToMnemonic(entropy, wordlist);
  entropy.fill(0);
  return mnemonic;
}

/** What a mistyped mnemonic can be told to lack: a word of the list, or the checksum. */
export type MnemonicFault = 'word_count' | 'unknown_word' | 'checksum';

/** Null for a valid mnemonic. Spaces between words may be any, case does not matter. */
export function checkMnemonic(mnemonic: string): MnemonicFault | null {
  const words = normalize(mnemonic).split(' ');
  if (!(words.length in ENTROPY_SIZES)) return 'word_count';
  if (!words.every((word) => wordlist.includes(word))) return 'unknown_word';
  return validateMnemonic(words.join(' '), wordlist) ? null : 'checksum';
}

/**
 * The master key of a mnemonic and a passphrase; null where the mnemonic is not valid. Another passphrase is another
 * wallet: nothing tells a wrong one.
 */
export async function masterKeyOfMnemonic(mnemonic: string, passphrase = ''): Promise<ExtendedPrivateKey | null> {
  if (checkMnemonic(mnemonic) !== null) return null;
  const seed = await mnemonicToSeed(normalize(mnemonic), passphrase);
  const master = ExtendedPrivateKey.fromSeed(seed);
  seed.fill(0);
  return master;
}

function normalize(mnemonic: string): string {
  return mnemonic.normalize('NFKD').trim().toLowerCase().split(/\s+/).join(' ');
}
