import { type BlockHash, hashToHex } from '../primitives/hash.ts';
import { equalBytes } from '../util/bytes.ts';
import type { ConsensusParams } from './consensus-params.ts';
import type { HeaderEntry } from './header-entry.ts';

/**
 * The two blocks of the main chain whose coinbase repeats the txid of an earlier one with unspent outputs, by height, with
 * the height of that earlier one.
 */
const REPEATS = new Map([
  [91_842, { hash: '00000000000a4d0a398161ffc163c503763b1f4360639393e0e4c8e300e0caec', earlier: 91_812 }],
  [91_880, { hash: '00000000000743f190a18c5577a3c2d2a1f610ae9601ac046a38084ccb7cd721', earlier: 91_722 }],
]);

/**
 * The lowest height that a coinbase from before BIP-34 commits to by chance: from here on a coinbase could repeat it
 * (Core's BIP34_IMPLIES_BIP30_LIMIT).
 */
const BIP34_IMPLIES_BIP30_LIMIT = 1_983_702;

/** Whether a block is one of the two that violate BIP-30. */
export function isBip30Repeat(hash: BlockHash, height: number): boolean {
  return repeatedCoinbaseHeight(hash, height) !== null;
}

/** Returns the height of the coinbase whose unspent outputs the coinbase of a block overwrites; null without one. */
export function repeatedCoinbaseHeight(hash: BlockHash, height: number): number | null {
  const repeat = REPEATS.get(height);
  return repeat !== undefined && repeat.hash === hashToHex(hash) ? repeat.earlier : null;
}

/** The two blocks of the main chain whose coinbase is repeated, by height: their outputs are lost. */
const REPEATED = new Map([
  [91_722, '00000000000271a2dc26e7667f8419f2e15416dc6955e5a6c6cdf3f2574dd08e'],
  [91_812, '00000000000af0aed4792b1acee3d966af36cf5def14935db8de83d6f9306f2f'],
]);

/** Whether a later coinbase overwrites the outputs of the coinbase of a block (Core's IsBIP30Unspendable). */
export function isBip30Unspendable(hash: BlockHash, height: number): boolean {
  const repeated = REPEATED.get(height);
  return repeated !== undefined && repeated === hashToHex(hash);
}

/**
 * Whether a child of `parent` must be checked for outputs that overwrite unspent ones (`bad-txns-BIP30`,
 * CVE-2012-1909). After BIP-34 on the known chain coinbases commit to their height, so none repeats and the look-ups
 * are skipped.
 */
export function mustCheckBip30(hash: BlockHash, parent: HeaderEntry, params: ConsensusParams): boolean {
  const height = parent.height + 1;
  if (height >= BIP34_IMPLIES_BIP30_LIMIT) return true;
  if (isBip30Repeat(hash, height)) return false;
  const activation = parent.ancestor(params.bip34Height);
  return !(activation && params.bip34Hash && equalBytes(activation.hash, params.bip34Hash));
}
