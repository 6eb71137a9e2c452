import { decodeBase58Check } from '../../script/base58.ts';
import { type ExtendedPublicKey, readExtendedPublicKey } from './extended-key.ts';

/** The scripts that the version bytes of an extended key stand for (SLIP-132). */
type KeyScripts = 'pkh' | 'sh-wpkh' | 'wpkh' | 'multisig';

interface KeyVersion {
  /** Whether the key belongs to the main network; the test networks share their versions. */
  readonly isMain: boolean;
  readonly scripts: KeyScripts;
}

/** SLIP-132: xpub, ypub, zpub, Ypub and Zpub; tpub, upub, vpub, Upub and Vpub. */
const PUBLIC_VERSIONS: ReadonlyMap<number, KeyVersion> = new Map([
  [0x0488_b21e, { isMain: true, scripts: 'pkh' }],
  [0x049d_7cb2, { isMain: true, scripts: 'sh-wpkh' }],
  [0x04b2_4746, { isMain: true, scripts: 'wpkh' }],
  [0x0295_b43f, { isMain: true, scripts: 'multisig' }],
  [0x02aa_7ed3, { isMain: true, scripts: 'multisig' }],
  [0x0435_87cf, { isMain: false, scripts: 'pkh' }],
  [0x044a_5262, { isMain: false, scripts: 'sh-wpkh' }],
  [0x045f_1cf6, { isMain: false, scripts: 'wpkh' }],
  [0x0242_89ef, { isMain: false, scripts: 'multisig' }],
  [0x0257_5483, { isMain: false, scripts: 'multisig' }],
]);

/** Four bytes of version and the key. */
const TEXT_SIZE = 78;

/** An extended public key whose version says which scripts it is used for. */
export interface VersionedKey extends KeyVersion {
  readonly key: ExtendedPublicKey;
}

/** Returns null for anything but an extended public key with a version of SLIP-132. */
export function parseVersionedKey(text: string): VersionedKey | null {
  const payload = decodeBase58Check(text, TEXT_SIZE);
  if (payload?.length !== TEXT_SIZE) return null;
  const version = PUBLIC_VERSIONS.get(new DataView(payload.buffer, payload.byteOffset).getUint32(0));
  // The payload may be a private key.
  if (!version) payload.fill(0);
  const key = version ? readExtendedPublicKey(payload.subarray(4)) : null;
  return version && key ? { ...version, key } : null;
}
