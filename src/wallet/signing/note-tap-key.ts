import { bytesToHex } from '../../util/bytes.ts';
import { keyOriginOfXOnly, type SigningProvider } from '../keys/signing-data.ts';
import type { SignatureData } from './signature-data.ts';

/** Records the origin of a key, if it is known, and the leaf that it signs. */
export function noteTapKey(
  provider: SigningProvider,
  publicKey: Uint8Array,
  leafHash: Uint8Array | null,
  data: SignatureData,
): void {
  const origin = keyOriginOfXOnly(provider, publicKey);
  if (origin === null) return;
  const id = bytesToHex(publicKey);
  const known = data.tapKeys.get(id) ?? { publicKey, leafHashes: new Map<string, Uint8Array>(), origin };
  if (leafHash !== null) known.leafHashes.set(bytesToHex(leafHash), leafHash);
  data.tapKeys.set(id, known);
}
