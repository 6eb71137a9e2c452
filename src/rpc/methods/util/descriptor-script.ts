import type { NetworkParams } from '../../../params/network-params.ts';
import { parseDescriptor } from '../../../wallet/descriptor/parse-descriptor.ts';
import { rpcFail } from '../../engine/rpc-error.ts';

/**
 * Returns the output script of a descriptor, or an error text if it cannot be parsed. For `combo()` that is P2WPKH, or
 * P2PKH if the key is not compressed. Throws RpcError with Core's texts if the descriptor has not exactly one script.
 */
export function descriptorScript(given: string, params: NetworkParams): Uint8Array | string {
  const parsed = parseDescriptor(given, params, { requireChecksum: false });
  if (!parsed.ok) return parsed.error;
  const { descriptors, keys } = parsed;
  if (descriptors.length > 1) return rpcFail('invalidParameter', 'Multipath descriptor not accepted');
  const [descriptor] = descriptors;
  if (descriptor!.isRange)
    return rpcFail('invalidParameter', 'Ranged descriptor not accepted. Maybe pass through deriveaddresses first?');
  const expansion = descriptor!.expand(0, keys);
  if (expansion === null) return rpcFail('invalidAddressOrKey', 'Cannot derive script without private keys');
  const { scripts } = expansion;
  if (scripts.length === 0) return rpcFail('invalidAddressOrKey', 'Descriptor does not have a script');
  return scripts[scripts.length === 4 ? 2 : scripts.length - 1]!;
}
