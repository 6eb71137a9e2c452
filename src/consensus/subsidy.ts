import { type Amount, COIN } from '../primitives/amount.ts';

const INITIAL_SUBSIDY = 50n * COIN;

/** From this number of halvings on the subsidy is zero: Core's shift would be undefined. */
const HALVINGS_END = 64;

/** Returns the subsidy of a block at `height`, satoshis. */
export function blockSubsidy(height: number, halvingInterval: number): Amount {
  const halvings = Math.floor(height / halvingInterval);
  return halvings >= HALVINGS_END ? 0n : INITIAL_SUBSIDY >> BigInt(halvings);
}

/** Returns the sum of the subsidies of all blocks up to and including `height`, the genesis block's among them. */
export function issuedSupply(height: number, halvingInterval: number): Amount {
  let issued = 0n;
  let blocks = height + 1;
  for (let halvings = 0; blocks > 0 && halvings < HALVINGS_END; halvings++) {
    issued += BigInt(Math.min(blocks, halvingInterval)) * (INITIAL_SUBSIDY >> BigInt(halvings));
    blocks -= halvingInterval;
  }
  return issued;
}

/** Returns the sum of all subsidies. */
export function maxSupply(halvingInterval: number): Amount {
  return issuedSupply(HALVINGS_END * halvingInterval, halvingInterval);
}
