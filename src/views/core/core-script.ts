import { signatureEngine } from '../../crypto/secp256k1.ts';
import type { NetworkParams } from '../../params/network-params.ts';
import { addressOf } from '../../script/address.ts';
import { scriptToAsm } from '../../script/asm.ts';
import { scriptType } from '../../script/templates.ts';
import { concatBytes } from '../../util/bytes.ts';
import { addChecksum } from '../../wallet/descriptor/checksum.ts';

type Format = Pick<NetworkParams, 'address'>;

/** Returns an output script in the form of Core's RPC; `address` is absent if it has none. */
export function coreScript(script: Uint8Array, params: Format) {
  const { type } = scriptType(script);
  const address = addressOf(script, params.address);
  return {
    asm: scriptToAsm(script),
    desc: scriptDescriptor(script, params),
    hex: script.toHex(),
    ...(address !== null && { address }),
    type,
  };
}

/** Returns the descriptor, with checksum, that Core infers from a script alone. */
export function scriptDescriptor(script: Uint8Array, { address: format }: Format): string {
  const { type, solutions } = scriptType(script);
  if (type === 'pubkey' && !isHybrid(solutions[0]!)) return addChecksum(`pk(${solutions[0]!.toHex()})`);
  if (type === 'multisig') {
    const keys = solutions.slice(1, -1);
    if (!keys.some(isHybrid))
      return addChecksum(`multi(${solutions[0]![0]},${keys.map((key) => key.toHex()).join(',')})`);
  }
  if (type === 'witness_v1_taproot' && isXOnlyKey(solutions[0]!)) return addChecksum(`rawtr(${solutions[0]!.toHex()})`);
  const address = addressOf(script, format);
  return addChecksum(address === null ? `raw(${script.toHex()})` : `addr(${address})`);
}

/** Hybrid keys are uncompressed with the parity of Y in the first byte. No descriptor allows them. */
function isHybrid(key: Uint8Array): boolean {
  return key[0] === 6 || key[0] === 7;
}

function isXOnlyKey(key: Uint8Array): boolean {
  return signatureEngine().isValidPublicKey(concatBytes(Uint8Array.of(2), key));
}
