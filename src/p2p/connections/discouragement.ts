import { type RandomTweak, RollingBloomFilter } from '../../util/rolling-bloom-filter.ts';
import { addressBytes, type NetAddress } from '../address/net-address.ts';

const REMEMBERED = 50_000;
const FALSE_POSITIVE_RATE = 1e-6;

/**
 * Addresses of peers that misbehaved: they are not dialled, and the first to go when inbound places are full. The last
 * 50,000, until the process ends; an address may be counted among them by chance, one in a million.
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
