import type { Amount } from '../../primitives/amount.ts';
import type { Outpoint } from '../../primitives/outpoint.ts';
import type { Transaction, TxOutput } from '../../primitives/transaction.ts';
import type { TreeLeaf } from '../descriptor/taproot-tree.ts';
import type { KeyOrigin } from '../keys/key-path.ts';
import type { MusigContribution, MusigParticipants } from '../signing/musig-data.ts';
import type { TapScript } from '../signing/tap-spend.ts';

/** BIP-174 is version 0, BIP-370 version 2; there is no version 1. */
export type PsbtVersion = 0 | 2;

/** A signature and its key. */
export interface PartialSignature {
  readonly publicKey: Uint8Array;
  /** With its hash type at the end. */
  readonly signature: Uint8Array;
}

export interface KeyDerivation {
  readonly publicKey: Uint8Array;
  readonly origin: KeyOrigin;
}

/** Origin of an x-only key, and the leaves that it signs (BIP-371). */
export interface TapDerivation {
  readonly publicKey: Uint8Array;
  readonly leafHashes: readonly Uint8Array[];
  readonly origin: KeyOrigin;
}

interface TapScriptSignature {
  readonly publicKey: Uint8Array;
  readonly leafHash: Uint8Array;
  readonly signature: Uint8Array;
}

export interface Preimage {
  readonly hash: Uint8Array;
  readonly preimage: Uint8Array;
}

/** An unknown field as it was read; the key begins with the type. */
export interface UnknownField {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

export interface ProprietaryField extends UnknownField {
  readonly identifier: Uint8Array;
  readonly subtype: number;
}

export interface GlobalXpub {
  /** 78 bytes of the extended key (BIP-32). */
  readonly xpub: Uint8Array;
  readonly origin: KeyOrigin;
}

/** Fields by the hexadecimal form of their keys, which is also the order in which they are written. */
export type Fields<T> = ReadonlyMap<string, T>;

export interface PsbtInput {
  readonly prevout: Outpoint;
  /** Sequence number; null for the final one, in version 2 only. */
  readonly sequence: number | null;
  readonly requiredTimeLocktime: number | null;
  readonly requiredHeightLocktime: number | null;
  readonly nonWitnessUtxo: Transaction | null;
  readonly witnessUtxo: TxOutput | null;
  /** By the HASH160 of the key. */
  readonly partialSignatures: Fields<PartialSignature>;
  readonly sighashType: number | null;
  readonly redeemScript: Uint8Array | null;
  readonly witnessScript: Uint8Array | null;
  readonly finalScriptSig: Uint8Array | null;
  readonly finalScriptWitness: readonly Uint8Array[] | null;
  /** By public key. */
  readonly derivations: Fields<KeyDerivation>;
  readonly ripemd160Preimages: Fields<Preimage>;
  readonly sha256Preimages: Fields<Preimage>;
  readonly hash160Preimages: Fields<Preimage>;
  readonly hash256Preimages: Fields<Preimage>;
  readonly tapKeySignature: Uint8Array | null;
  /** By key and leaf hash. */
  readonly tapScriptSignatures: Fields<TapScriptSignature>;
  /** By `tapScriptKey`. */
  readonly tapScripts: Fields<TapScript>;
  readonly tapDerivations: Fields<TapDerivation>;
  readonly tapInternalKey: Uint8Array | null;
  readonly tapMerkleRoot: Uint8Array | null;
  /** By aggregate key. */
  readonly musigParticipants: Fields<MusigParticipants>;
  /** By aggregate key, leaf hash and participant. */
  readonly musigNonces: Fields<MusigContribution>;
  readonly musigPartialSignatures: Fields<MusigContribution>;
  readonly proprietary: Fields<ProprietaryField>;
  readonly unknown: Fields<UnknownField>;
}

export interface PsbtOutput {
  readonly value: Amount;
  readonly scriptPubKey: Uint8Array;
  readonly redeemScript: Uint8Array | null;
  readonly witnessScript: Uint8Array | null;
  readonly derivations: Fields<KeyDerivation>;
  readonly tapInternalKey: Uint8Array | null;
  /** Leaves depth first; empty without a tree. */
  readonly tapTree: readonly TreeLeaf[];
  readonly tapDerivations: Fields<TapDerivation>;
  readonly musigParticipants: Fields<MusigParticipants>;
  readonly proprietary: Fields<ProprietaryField>;
  readonly unknown: Fields<UnknownField>;
}

/** A partially signed transaction (BIP-174, 370, 371, 373). */
export interface Psbt {
  readonly version: PsbtVersion;
  readonly txVersion: number;
  /** Locktime of the transaction if no input requires one. */
  readonly fallbackLocktime: number | null;
  /** Flags of BIP-370. Bit 0: inputs, bit 1: outputs, bit 2: a signature is SIGHASH_SINGLE. */
  readonly modifiable: number | null;
  /** By origin, then key. */
  readonly xpubs: Fields<GlobalXpub>;
  readonly inputs: readonly PsbtInput[];
  readonly outputs: readonly PsbtOutput[];
  readonly proprietary: Fields<ProprietaryField>;
  readonly unknown: Fields<UnknownField>;
}

export function newPsbtInput(prevout: Outpoint, sequence: number | null): PsbtInput {
  return {
    prevout,
    sequence,
    requiredTimeLocktime: null,
    requiredHeightLocktime: null,
    nonWitnessUtxo: null,
    witnessUtxo: null,
    partialSignatures: new Map(),
    sighashType: null,
    redeemScript: null,
    witnessScript: null,
    finalScriptSig: null,
    finalScriptWitness: null,
    derivations: new Map(),
    ripemd160Preimages: new Map(),
    sha256Preimages: new Map(),
    hash160Preimages: new Map(),
    hash256Preimages: new Map(),
    tapKeySignature: null,
    tapScriptSignatures: new Map(),
    tapScripts: new Map(),
    tapDerivations: new Map(),
    tapInternalKey: null,
    tapMerkleRoot: null,
    musigParticipants: new Map(),
    musigNonces: new Map(),
    musigPartialSignatures: new Map(),
    proprietary: new Map(),
    unknown: new Map(),
  };
}

export function newPsbtOutput({ value, scriptPubKey }: TxOutput): PsbtOutput {
  return {
    value,
    scriptPubKey,
    redeemScript: null,
    witnessScript: null,
    derivations: new Map(),
    tapInternalKey: null,
    tapTree: [],
    tapDerivations: new Map(),
    musigParticipants: new Map(),
    proprietary: new Map(),
    unknown: new Map(),
  };
}

/** Returns a PSBT of a transaction without its scriptSigs and witnesses. BIP-174's creator. */
export function createPsbt(tx: Transaction, version: PsbtVersion): Psbt {
  return {
    version,
    txVersion: tx.version,
    fallbackLocktime: tx.locktime,
    modifiable: null,
    xpubs: new Map(),
    inputs: tx.inputs.map(({ prevout, sequence }) => newPsbtInput(prevout, sequence)),
    outputs: tx.outputs.map(newPsbtOutput),
    proprietary: new Map(),
    unknown: new Map(),
  };
}

/** Returns the fields sorted by their keys, as they are written and shown. */
export function sortedFields<T>(fields: Fields<T>): T[] {
  return [...fields].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)).map(([, field]) => field);
}
