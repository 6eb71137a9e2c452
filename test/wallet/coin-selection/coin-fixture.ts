import { hash160, sha256 } from '../../../src/crypto/hash-functions.ts';
import type { Txid } from '../../../src/primitives/hash.ts';
import { p2wpkh } from '../../../src/script/templates.ts';
import type { RandomBelow } from '../../../src/util/random.ts';
import { runSteps } from '../../../src/util/slices.ts';
import type { InputSize } from '../../../src/wallet/coin-selection/input-size.ts';
import {
  type OutputGroup,
  outputGroup,
  priceCoins,
  type WalletCoin,
} from '../../../src/wallet/coin-selection/wallet-coin.ts';

export const CENT = 1_000_000n;
export const COIN = 100_000_000n;
export const P2WPKH_VSIZE = 68;
const LONG_TERM_FEERATE = 10_000n;

/** Always the same numbers, for a test that must not differ from run to run. */
export function seededRandom(seed: number): RandomBelow {
  let state = seed >>> 0;
  return (limit) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 0x1_0000_0000) * limit);
  };
}

/** Satoshis for so many virtual bytes, rounded up. */
export function feeFor(feerate: bigint, vsize: number): bigint {
  return (feerate * BigInt(vsize) + 999n) / 1000n;
}

/** Size of an input with this number of virtual bytes beside others with witnesses. */
function sizeOfVsize(vsize: number): InputSize {
  // 41 bytes without witness, and the count of its items.
  return { satisfactionWeight: (vsize - 41) * 4 - 1, witnessElements: 2, segwit: true };
}

/** P2WPKH witness: count, signature of 71 bytes and key, with their lengths. */
export const P2WPKH_SIZE: InputSize = { satisfactionWeight: 1 + 71 + 1 + 33, witnessElements: 2, segwit: true };

let serial = 0;

export function walletCoin(value: bigint, more: Partial<WalletCoin> = {}): WalletCoin {
  const id = Uint8Array.of(serial & 0xff, (serial >> 8) & 0xff, (serial >> 16) & 0xff);
  serial++;
  return {
    outpoint: { txid: sha256(id) as Txid, vout: 0 },
    output: { value, scriptPubKey: p2wpkh(hash160(id)) },
    type: 'bech32',
    depth: 144,
    size: P2WPKH_SIZE,
    fromMe: false,
    ancestors: 0,
    clusterCount: 0,
    bumpFee: 0n,
    ...more,
  };
}

/** A group of one coin that is worth `effectiveValue` at a feerate. */
export function effectiveGroup(effectiveValue: bigint, feerate: bigint, vsize = P2WPKH_VSIZE): OutputGroup {
  return valueGroup(effectiveValue + feeFor(feerate, vsize), feerate, vsize);
}

/** A group of one coin of a value. */
export function valueGroup(
  value: bigint,
  feerate: bigint,
  vsize = P2WPKH_VSIZE,
  longTerm = LONG_TERM_FEERATE,
): OutputGroup {
  const size = sizeOfVsize(vsize);
  const coin = runSteps(priceCoins([walletCoin(value, { size })], { effective: feerate, longTerm }))[0]!;
  return outputGroup([{ coin, ancestors: 0, clusterCount: 0 }], false);
}

export const repeat = <T>(count: number, make: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i));
