import type { NetworkParams } from '../../params/network-params.ts';
import { assert } from '../../util/assert.ts';
import type { ExtendedPrivateKey } from '../keys/extended-key.ts';
import { formatExtendedPublicKey } from '../keys/extended-key.ts';
import { addChecksum } from './checksum.ts';
import type { Descriptor, OutputType } from './descriptor.ts';
import { parseDescriptor } from './parse.ts';

/** Address types in the order that wallets list them. */
export const OUTPUT_TYPES: readonly OutputType[] = ['legacy', 'p2sh-segwit', 'bech32', 'bech32m'];

/** BIP-44, BIP-49, BIP-84 and BIP-86. */
const PURPOSES: Readonly<Record<OutputType, number>> = { legacy: 44, 'p2sh-segwit': 49, bech32: 84, bech32m: 86 };
const WRAPPERS: Readonly<Record<OutputType, (key: string) => string>> = {
  legacy: (key) => `pkh(${key})`,
  'p2sh-segwit': (key) => `sh(wpkh(${key}))`,
  bech32: (key) => `wpkh(${key})`,
  bech32m: (key) => `tr(${key})`,
};

/**
 * The descriptor of a wallet's first account: `wpkh(xpub…/84h/0h/0h/0/*)`, `internal` for change. Public, with the master
 * key's own xpub; to expand it the first time takes the master key.
 */
export function defaultDescriptor(
  master: ExtendedPrivateKey,
  type: OutputType,
  internal: boolean,
  params: Pick<NetworkParams, 'address' | 'wif' | 'bip32' | 'slip44'>,
): Descriptor {
  const xpub = formatExtendedPublicKey(master.neuter(), params.bip32);
  const path = `${PURPOSES[type]}h/${params.slip44}h/0h/${internal ? 1 : 0}/*`;
  const parsed = parseDescriptor(addChecksum(WRAPPERS[type](`${xpub}/${path}`)), params);
  assert(parsed.ok, 'a default descriptor is one');
  return parsed.descriptors[0]!;
}
