import { signatureEngine } from '../../../crypto/secp256k1.ts';
import { hexToBytes, isHex } from '../../../util/bytes.ts';
import type { KeyEncoding } from '../../../wallet/descriptor/descriptor.ts';
import { parseDescriptor } from '../../../wallet/descriptor/parse-descriptor.ts';
import { hideSecrets } from '../../../wallet/keys/hide-secrets.ts';
import type { ExternalSolvingData } from '../../../wallet/spend/spend-request.ts';
import { isObject, member, type RpcObject, type RpcValue } from '../../engine/json.ts';
import { checkMembers, readString } from '../../engine/params.ts';
import { rpcFail } from '../../engine/rpc-error.ts';

/** Parses a public key in hex. Throws RpcError. */
export function readHexPublicKey(hex: string): Uint8Array {
  const refuse = (reason: string) => rpcFail('invalidAddressOrKey', `Pubkey "${hideSecrets(hex)}" must ${reason}`);
  if (hex === '' || !isHex(hex)) return refuse('be a hex string');
  if (hex.length !== 66 && hex.length !== 130) return refuse('have a length of either 33 or 65 bytes');
  const key = hexToBytes(hex);
  return signatureEngine().isValidPublicKey(key) ? key : refuse('be cryptographically valid.');
}

/** Parses the keys, scripts and descriptors of outputs that are not the wallet's. Throws RpcError. */
export function readSolvingData(value: RpcValue, encoding: KeyEncoding): ExternalSolvingData | null {
  if (!isObject(value)) return null;
  checkMembers(value, { pubkeys: 'array', scripts: 'array', descriptors: 'array' });
  return {
    publicKeys: texts(value, 'pubkeys').map(readHexPublicKey),
    scripts: texts(value, 'scripts').map((hex) =>
      isHex(hex) && hex !== '' ? hexToBytes(hex) : rpcFail('invalidAddressOrKey', `'${hideSecrets(hex)}' is not hex`),
    ),
    descriptors: texts(value, 'descriptors').map((text) => {
      const parsed = parseDescriptor(text, encoding, { requireChecksum: true });
      if (parsed.ok) return text;
      return rpcFail('invalidParameter', `Unable to parse descriptor '${hideSecrets(text)}': ${parsed.error}`);
    }),
  };
}

function texts(data: RpcObject, key: string): string[] {
  return ((member(data, key) ?? []) as readonly RpcValue[]).map(readString);
}
