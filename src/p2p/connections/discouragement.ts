import { type RandomTweak, RollingBloomFilter } from '../../util/rolling-bloom-filter.ts';
import { addressBytes, type NetAddress } from '../address/net-address.ts';

const REMEMBERED = 50_000;
const FALSE_POSITIVE_RATE = 1e-6;

/**
 * Addresses of misbehaving peers (Core's discouragement): not connected to, and evicted first when inbound slots are
 * full. Keeps the last 50,000 in memory; a false positive has a probability of one in a million.
 */
export class Discouragement {
  readonly #filter: RollingBloomFilter;

  constructor(random?: RandomTweak) {
    this.#filter = new RollingBloomFilter(REMEMBERED, FALSE_POSITIVE_RATE, random);
  }

  discourage(address: NetAddress): void {
    this.#filter.insert(addressBytes(address));
  }

  isDiscouraged(address: NetAddress): boolean {
    return this.#filter.contains(addressBytes(address));
  }
}
