import { type BlockHash, hashToHex } from '../primitives/hash.ts';
import { equalBytes } from '../util/bytes.ts';
import type { ConsensusParams } from './consensus-params.ts';
import type { HeaderEntry } from './header-entry.ts';

/** The two blocks of the main chain whose coinbase repeats an earlier one that was not spent. */
const REPEATS = new Map([
  [91_842, '00000000000a4d0a398161ffc163c503763b1f4360639393e0e4c8e300e0caec'],
  [91_880, '00000000000743f190a18c5577a3c2d2a1f610ae9601ac046a38084ccb7cd721'],
]);

/** Coinbases from before BIP-34 name heights as low as this one, so from here on they could be repeated again. */
const BIP34_IMPLIES_BIP30_LIMIT = 1_983_702;

/** Whether this is one of the two blocks that BIP-30 was broken in. */
export function isBip30Repeat(hash: BlockHash, height: number): boolean {
  return REPEATS.get(height) === hashToHex(hash);
}

/**
 * Whether the block, a child of `parent`, must be searched for outputs that exist unspent already (`bad-txns-BIP30`,
 * CVE-2012-1909). Past BIP-34 on the known chain coinbases name their height, so none repeats and the lookups are spared.
 */
export function mustCheckBip30(hash: BlockHash, parent: HeaderEntry, params: ConsensusParams): boolean {
  const height = parent.height + 1;
  if (height >= BIP34_IMPLIES_BIP30_LIMIT) return true;
  if (isBip30Repeat(hash, height)) return false;
  const activation = parent.ancestor(params.bip34Height);
  return !(activation && params.bip34Hash && equalBytes(activation.hash, params.bip34Hash));
}
