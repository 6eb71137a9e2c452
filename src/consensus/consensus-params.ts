import type { BlockHash } from '../primitives/hash.ts';
import type { ScriptFlags } from '../script/flags.ts';

/** Rule changes whose activation is fixed by height in hindsight (BIP-90), by Core's names. */
export type BuriedDeployment = 'bip34' | 'bip65' | 'bip66' | 'csv' | 'segwit';

/** Rule changes that miners signal for with version bits (BIP-9). */
export type DeploymentName = 'testdummy';

export interface Bip9Deployment {
  /** Bit of the block version. */
  readonly bit: number;
  /** Median time past at which signalling begins. */
  readonly startTime: number | 'always-active' | 'never-active';
  /** Median time past at which it fails when not locked in. */
  readonly timeout: number | 'no-timeout';
  /** Once locked in, active no earlier than at this height. */
  readonly minActivationHeight: number;
  /** Blocks to a signalling period. */
  readonly period: number;
  /** Signalling blocks of a period that lock it in. */
  readonly threshold: number;
}

/** What the rules of one chain depend on. */
export interface ConsensusParams {
  readonly genesisHash: BlockHash;
  /** Blocks between two halvings of the subsidy. */
  readonly subsidyHalvingInterval: number;
  /** BIP-90: heights from which a buried rule holds. */
  readonly bip34Height: number;
  readonly bip65Height: number;
  readonly bip66Height: number;
  readonly csvHeight: number;
  readonly segwitHeight: number;
  /** The block at the height of BIP-34 on the known chain, past which BIP-30 need not be looked up. */
  readonly bip34Hash: BlockHash | null;
  /** No warning of unknown signalling below this height: known changes activated there. */
  readonly minBip9WarningHeight: number;
  /** Blocks of the known chain that break today's flags, by hash in display hex: the flags they were made under. */
  readonly scriptFlagExceptions: ReadonlyMap<string, ScriptFlags>;
  /** Easiest target. */
  readonly powLimit: bigint;
  /** Seconds a block should take. */
  readonly powTargetSpacing: number;
  /** Seconds a retarget period should take. */
  readonly powTargetTimespan: number;
  /** Test networks: a block 20 minutes after its parent may have the easiest target. */
  readonly allowMinDifficultyBlocks: boolean;
  /** BIP-94: against time warps and block storms. */
  readonly enforceBip94: boolean;
  readonly noRetargeting: boolean;
  readonly deployments: Readonly<Record<DeploymentName, Bip9Deployment>>;
  /** The best chain has at least this much work. */
  readonly minimumChainWork: bigint;
  /** Scripts of this block and its ancestors are taken as valid unless told otherwise. */
  readonly assumeValid: BlockHash | null;
  /** BIP-325: the script that a block's solution must satisfy, on a signet. */
  readonly signetChallenge: Uint8Array | null;
}

/** Blocks to a retarget period: 2,016 on the main network. */
export function retargetInterval({ powTargetTimespan, powTargetSpacing }: ConsensusParams): number {
  return Math.floor(powTargetTimespan / powTargetSpacing);
}
