import { WITNESS_SCALE_FACTOR } from '../../consensus/limits.ts';
import { TRUC_MAX_VSIZE, TRUC_VERSION } from '../../policy/truc.ts';
import type { Amount } from '../../primitives/amount.ts';
import type { Outpoint } from '../../primitives/outpoint.ts';
import type { Recipient } from '../coin-selection/build-transaction.ts';

/** How the feerate is chosen. */
export interface FeeOptions {
  /** Satoshis per 1,000 vB, or null for an estimate. */
  readonly feerate: Amount | null;
  /** Whether that holds whatever the limits say. */
  readonly overrideLimits: boolean;
  /** Blocks; null for the usual target. */
  readonly target: number | null;
  readonly mode: 'unset' | 'economical' | 'conservative';
}

/** An input that a caller names. */
export interface NamedInput {
  readonly outpoint: Outpoint;
  /** Null for the usual one. */
  readonly sequence: number | null;
  /** Of the signed input; null where the wallet is to know it. */
  readonly weight: number | null;
}

/** What a caller tells of how outputs are spent that are not the wallet's. */
export interface ExternalSolvingData {
  readonly publicKeys: readonly Uint8Array[];
  readonly scripts: readonly Uint8Array[];
  /** With checksums. */
  readonly descriptors: readonly string[];
}

/** What a caller wants of a transaction; null leaves the choice to the wallet. */
export interface SpendRequest {
  readonly recipients: readonly Recipient[];
  readonly inputs: readonly NamedInput[];
  /** Whether the wallet adds coins. */
  readonly addInputs: boolean;
  readonly fee: FeeOptions;
  readonly replaceable: boolean | null;
  readonly changeScript: Uint8Array | null;
  readonly changeType: string | null;
  readonly changePosition: number | null;
  readonly locktime: number | null;
  readonly version: number;
  readonly minDepth: number;
  readonly maxDepth: number;
  readonly includeUnsafe: boolean;
  /** Keeps coins on used addresses apart; null as the wallet does. */
  readonly avoidReuse: boolean | null;
  readonly maxTxWeight: number | null;
  readonly lockInputs: boolean;
  /** For the sizes of named inputs. */
  readonly solvingData: ExternalSolvingData | null;
}

export const ORDINARY_SPEND: Omit<SpendRequest, 'recipients' | 'fee'> = {
  inputs: [],
  addInputs: true,
  replaceable: null,
  changeScript: null,
  changeType: null,
  changePosition: null,
  locktime: null,
  version: 2,
  minDepth: 0,
  maxDepth: 9_999_999,
  includeUnsafe: false,
  avoidReuse: null,
  maxTxWeight: null,
  lockInputs: false,
  solvingData: null,
};

const TRUC_MAX_WEIGHT = TRUC_MAX_VSIZE * WITNESS_SCALE_FACTOR;

/** Weight that the transaction may have at most, which version 3 bounds (BIP-431); null for the usual bound. */
export function maxWeightOf({ maxTxWeight, version }: Pick<SpendRequest, 'maxTxWeight' | 'version'>): number | null {
  return version === TRUC_VERSION ? Math.min(maxTxWeight ?? TRUC_MAX_WEIGHT, TRUC_MAX_WEIGHT) : maxTxWeight;
}
