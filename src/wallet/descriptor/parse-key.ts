import { hasPublicKeyShape } from '../../crypto/curve.ts';
import { signatureEngine } from '../../crypto/secp256k1.ts';
import { hexToBytes, isHex } from '../../util/bytes.ts';
import { ExtendedPrivateKey, type ExtendedPublicKey, parseExtendedPublicKey } from '../keys/extended-key.ts';
import { PrivateKey } from '../keys/private-key.ts';
import { descriptorFail } from './expression-reader.ts';
import { ExtendedKey } from './extended-key-expression.ts';
import { ConstantKey, type KeyExpression, OriginKey } from './key-expression.ts';
import { parseMusig } from './parse-musig.ts';
import type { ParseContext, ParseState } from './parse-state.ts';
import { type Notation, parseSteps, parseWildcard } from './parse-steps.ts';

const FINGERPRINT_DIGITS = 8;

/** Parses a key expression; several keys if it has a multipath step. Throws DescriptorError. */
export function parseKey(text: string, context: ParseContext, state: ParseState): readonly KeyExpression[] {
  if (text.startsWith('musig(')) {
    if (context !== 'tr') descriptorFail('musig() is only allowed in tr() and rawtr()');
    return parseMusig(text, state, (key) => parseKey(key, 'musig', state));
  }
  const [origin, bare, ...more] = text.split(']');
  if (more.length > 0) descriptorFail("Multiple ']' characters found for a single pubkey");
  // The last hardened step of origin and path determines the notation of all.
  const notation: Notation = { apostrophe: false };
  if (bare === undefined) return parseBareKey(text, context, state, notation);
  if (!origin!.startsWith('['))
    descriptorFail(`Key origin start '[ character expected but not found, got '${origin![0] ?? ']'}' instead`);
  const [fingerprint, ...steps] = origin!.slice(1).split('/');
  const digits = fingerprint!.length;
  if (digits !== FINGERPRINT_DIGITS)
    descriptorFail(`Fingerprint is not 4 bytes (${digits} characters instead of 8 characters)`);
  if (!isHex(fingerprint!)) descriptorFail(`Fingerprint '${fingerprint}' is not hex`);
  const [path] = parseSteps(steps, notation, { multipath: false }).paths;
  const keyOrigin = { fingerprint: hexToBytes(fingerprint!), path: path! };
  return parseBareKey(bare, context, state, notation).map((key) => new OriginKey(keyOrigin, key, notation.apostrophe));
}

/** Text without spaces: decoding skips them, and encoding never writes them. */
const BASE58 = /^[1-9A-HJ-NP-Za-km-z]+$/;

/** Parses a key without origin. */
function parseBareKey(
  text: string,
  context: ParseContext,
  state: ParseState,
  notation: Notation,
): readonly KeyExpression[] {
  const [key, ...steps] = text.split('/');
  if (key === '') descriptorFail('No key provided');
  if (key!.startsWith(' ') || key!.endsWith(' ')) descriptorFail(`Key '${key}' is invalid due to whitespace`);
  const single = steps.length === 0 ? parseSingleKey(key!, context, state) : null;
  if (single !== null) return [single];

  const { encoding } = state;
  const root = parseRoot(key!, state);
  const rootText = !root.isPrivate && BASE58.test(key!) ? key! : null;
  const wildcard = parseWildcard(steps, notation);
  const { paths } = parseSteps(steps, notation, { multipath: true });
  const position = state.keyCount++;
  const { apostrophe } = notation;
  return paths.map(
    (path) => new ExtendedKey({ position, root: root.key, rootText, path, wildcard, apostrophe, encoding }),
  );
}

/** Parses a public key in hex or a private key in WIF; null if the text is neither. */
function parseSingleKey(text: string, context: ParseContext, state: ParseState): KeyExpression | null {
  const uncompressedAllowed = context === 'top' || context === 'sh';
  if (isHex(text)) {
    const bytes = hexToBytes(text);
    if (hasPublicKeyShape(bytes)) {
      if (bytes[0]! > 4) descriptorFail('Hybrid public keys are not allowed');
      if (signatureEngine().isValidPublicKey(bytes)) {
        if (bytes.length > 33 && !uncompressedAllowed) descriptorFail('Uncompressed keys are not allowed');
        return new ConstantKey(state.keyCount++, bytes, false, state.encoding);
      }
    } else if (bytes.length === 32 && context === 'tr') {
      const even = new Uint8Array(33);
      even[0] = 2;
      even.set(bytes, 1);
      if (signatureEngine().isValidPublicKey(even))
        return new ConstantKey(state.keyCount++, even, true, state.encoding);
    }
    descriptorFail(`Pubkey '${text}' is invalid`);
  }
  const secret = PrivateKey.fromWif(text, state.encoding.wif);
  if (secret === null) return null;
  if (!secret.compressed && !uncompressedAllowed) descriptorFail('Uncompressed keys are not allowed');
  state.keys.addPrivateKey(secret);
  return new ConstantKey(state.keyCount++, secret.publicKey, context === 'tr', state.encoding);
}

function parseRoot(text: string, { encoding, keys }: ParseState): { key: ExtendedPublicKey; isPrivate: boolean } {
  const key = parseExtendedPublicKey(text, encoding.bip32);
  if (key !== null) return { key, isPrivate: false };
  const secret = ExtendedPrivateKey.parse(text, encoding.bip32) ?? descriptorFail(`key '${text}' is not valid`);
  keys.addPrivateKey(secret.key);
  return { key: secret.neuter(), isPrivate: true };
}
