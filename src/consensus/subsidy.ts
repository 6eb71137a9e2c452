import { type Amount, COIN } from '../primitives/amount.ts';

const INITIAL_SUBSIDY = 50n * COIN;

/** From here on Core's shift is undefined, and the subsidy zero. */
const HALVINGS_END = 64;

/** What a block at `height` may create beyond its fees. */
export function blockSubsidy(height: number, halvingInterval: number): Amount {
  const halvings = Math.floor(height / halvingInterval);
  return halvings >= HALVINGS_END ? 0n : INITIAL_SUBSIDY >> BigInt(halvings);
}

/** Sum of the subsidies of all blocks up to and with `height`, the genesis block's among them. */
export function issuedSupply(height: number, halvingInterval: number): Amount {
  let issued = 0n;
  let blocks = height + 1;
  for (let halvings = 0; blocks > 0 && halvings < HALVINGS_END; halvings++) {
    issued += BigInt(Math.min(blocks, halvingInterval)) * (INITIAL_SUBSIDY >> BigInt(halvings));
    blocks -= halvingInterval;
  }
  return issued;
}

/** Sum of all subsidies there will ever be. */
export function maxSupply(halvingInterval: number): Amount {
  return issuedSupply(HALVINGS_END * halvingInterval, halvingInterval);
}
