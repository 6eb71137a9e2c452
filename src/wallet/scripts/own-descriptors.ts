import type { NetworkParams } from '../../params/network-params.ts';
import type { Descriptor, KeyEncoding, OutputType } from '../descriptor/descriptor.ts';
import { parseDescriptor } from '../descriptor/parse-descriptor.ts';

export type AddressType = OutputType;

/** Core's order. */
export const ADDRESS_TYPES: readonly AddressType[] = ['legacy', 'p2sh-segwit', 'bech32', 'bech32m'];

export function isAddressType(text: string): text is AddressType {
  return (ADDRESS_TYPES as readonly string[]).includes(text);
}

/** Purposes of BIP-44, 49, 84 and 86. */
const PURPOSES = { legacy: 44, 'p2sh-segwit': 49, bech32: 84, bech32m: 86 } as const;

/** Returns the active descriptor of an address type: the first account of a master key. */
export function ownDescriptor(
  masterKey: string,
  type: AddressType,
  internal: boolean,
  params: Pick<NetworkParams, 'slip44'> & KeyEncoding,
): Descriptor {
  const path = `${masterKey}/${PURPOSES[type]}h/${params.slip44}h/0h/${internal ? 1 : 0}/*`;
  const text = {
    legacy: `pkh(${path})`,
    'p2sh-segwit': `sh(wpkh(${path}))`,
    bech32: `wpkh(${path})`,
    bech32m: `tr(${path})`,
  }[type];
  const parsed = parseDescriptor(text, params);
  if (!parsed.ok) throw new Error(`a descriptor of our own is wrong: ${parsed.error}`);
  return parsed.descriptors[0]!;
}
