import { WITNESS_SCALE_FACTOR } from '../../consensus/limits.ts';
import { TRUC_MAX_VSIZE, TRUC_VERSION } from '../../policy/truc.ts';
import type { Amount } from '../../primitives/amount.ts';
import type { Outpoint } from '../../primitives/outpoint.ts';
import type { Recipient } from '../coin-selection/build-transaction.ts';
import type { ScriptSolution } from '../coin-selection/preset-inputs.ts';

/** Choice of the feerate. */
export interface FeeOptions {
  /** Satoshis per 1,000 vB, or null for an estimate. */
  readonly feerate: Amount | null;
  /** Whether the feerate holds below the minimum. */
  readonly overrideLimits: boolean;
  /** Confirmation target in blocks; null for the default. */
  readonly target: number | null;
  readonly mode: 'unset' | 'economical' | 'conservative';
}

/** An input that the caller names. */
export interface NamedInput {
  readonly outpoint: Outpoint;
  /** Null for the default. */
  readonly sequence: number | null;
  /** Weight of the signed input; null where the wallet computes it. */
  readonly weight: number | null;
  /** Data that signs the input already; the wallet keeps it. */
  readonly solution?: ScriptSolution | null;
}

/** Keys, scripts and descriptors for spending outputs that are not the wallet's. */
export interface ExternalSolvingData {
  readonly publicKeys: readonly Uint8Array[];
  readonly scripts: readonly Uint8Array[];
  /** With checksums. */
  readonly descriptors: readonly string[];
}

/** Parameters of a transaction; null leaves the choice to the wallet. */
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
  /** Whether coins on used addresses are avoided; null for the wallet's flag. */
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

/** Returns the maximum weight of the transaction, which version 3 limits (BIP-431); null for the default. */
export function maxWeightOf({ maxTxWeight, version }: Pick<SpendRequest, 'maxTxWeight' | 'version'>): number | null {
  return version === TRUC_VERSION ? Math.min(maxTxWeight ?? TRUC_MAX_WEIGHT, TRUC_MAX_WEIGHT) : maxTxWeight;
}
