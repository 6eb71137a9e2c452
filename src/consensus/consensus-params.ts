import type { BlockHash } from '../primitives/hash.ts';
import type { ScriptFlags } from '../script/flags.ts';

/** Rule changes with a fixed activation height (BIP-90), by Core's names. */
export type BuriedDeployment = 'bip34' | 'bip65' | 'bip66' | 'csv' | 'segwit';

/** Rule changes that miners signal with version bits (BIP-9). */
export type DeploymentName = 'testdummy';

export interface Bip9Deployment {
  /** Bit of the block version. */
  readonly bit: number;
  /** Median time past at which signalling begins. */
  readonly startTime: number | 'always-active' | 'never-active';
  /** Median time past at which it fails if it is not locked in. */
  readonly timeout: number | 'no-timeout';
  /** Least height of activation after lock-in. */
  readonly minActivationHeight: number;
  /** Number of blocks in a signalling period. */
  readonly period: number;
  /** Number of signalling blocks in a period that locks it in. */
  readonly threshold: number;
}

/** Consensus parameters of one chain. */
export interface ConsensusParams {
  readonly genesisHash: BlockHash;
  /** Number of blocks between two halvings of the subsidy. */
  readonly subsidyHalvingInterval: number;
  /** Activation heights of the buried deployments (BIP-90). */
  readonly bip34Height: number;
  readonly bip65Height: number;
  readonly bip66Height: number;
  readonly csvHeight: number;
  readonly segwitHeight: number;
  /** Hash of the block at `bip34Height` on the known chain; on that chain BIP-30 need not be checked later. */
  readonly bip34Hash: BlockHash | null;
  /** Unknown version bits are ignored below this height, where known changes activated. */
  readonly minBip9WarningHeight: number;
  /** Script flags of historical blocks that violate today's flags, by block hash in display order. */
  readonly scriptFlagExceptions: ReadonlyMap<string, ScriptFlags>;
  /** The easiest target. */
  readonly powLimit: bigint;
  /** Intended time between blocks, seconds. */
  readonly powTargetSpacing: number;
  /** Intended duration of a retarget period, seconds. */
  readonly powTargetTimespan: number;
  /** Test networks: a block more than 20 minutes after its parent may have the easiest target. */
  readonly allowMinDifficultyBlocks: boolean;
  /** Enforces BIP-94, against time warps and block storms. */
  readonly enforceBip94: boolean;
  readonly noRetargeting: boolean;
  readonly deployments: Readonly<Record<DeploymentName, Bip9Deployment>>;
  /** Least work of the best chain. */
  readonly minimumChainWork: bigint;
  /** Scripts of this block and of its ancestors are assumed valid (Core's -assumevalid). */
  readonly assumeValid: BlockHash | null;
  /** BIP-325: the script that the solution of a signet block must satisfy. */
  readonly signetChallenge: Uint8Array | null;
}

/** Returns the number of blocks in a retarget period: 2,016 on the main network. */
export function retargetInterval({ powTargetTimespan, powTargetSpacing }: ConsensusParams): number {
  return Math.floor(powTargetTimespan / powTargetSpacing);
}
