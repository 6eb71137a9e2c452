import type { Chain } from '../chain/chain.ts';
import { medianTimePast } from '../consensus/header-entry.ts';
import type { NetworkParams } from '../params/network-params.ts';
import type { BackgroundStatus } from '../port/node-port.ts';
import { hashToHex } from '../primitives/hash.ts';
import { verificationProgress } from './verification-progress.ts';

/** Returns the state of the chain that is validated behind a loaded UTXO set; null without one. `now`: Unix seconds. */
export function backgroundStatus(chain: Chain, params: NetworkParams, now: number): BackgroundStatus | null {
  const { background, tip } = chain;
  if (background === null) return null;
  const { base, validated, tip: at } = background;
  const ahead = tip.height - at.height;
  return {
    baseHeight: base.height,
    baseHash: hashToHex(base.hash),
    validated,
    height: at.height,
    hash: hashToHex(at.hash),
    bits: at.bits,
    medianTime: medianTimePast(at),
    chainwork: at.chainwork,
    verificationProgress: verificationProgress({ time: at.time, txs: chain.transactionsAt(at), ahead }, params, now),
  };
}
