import type { TreeLeaf } from '../descriptor/taproot-tree.ts';
import type { KeyOrigin } from '../keys/key-path.ts';
import type { MusigParticipants, MusigShares } from './musig-data.ts';
import { NO_TAP_SPEND, type TapSpend } from './tap-spend.ts';

interface KeySignature {
  readonly publicKey: Uint8Array;
  /** With its hash type. */
  readonly signature: Uint8Array;
}

interface KnownKey {
  readonly publicKey: Uint8Array;
  readonly origin: KeyOrigin;
}

export interface KnownTapKey {
  readonly publicKey: Uint8Array;
  /** Leaf hashes by their hex. */
  readonly leafHashes: Map<string, Uint8Array>;
  readonly origin: KeyOrigin;
}

interface TapLeafSignature {
  readonly publicKey: Uint8Array;
  readonly leafHash: Uint8Array;
  readonly signature: Uint8Array;
}

/** Preimages by the hex of their hashes. */
interface Preimages {
  readonly sha256: Map<string, Uint8Array>;
  readonly hash256: Map<string, Uint8Array>;
  readonly ripemd160: Map<string, Uint8Array>;
  readonly hash160: Map<string, Uint8Array>;
}

/**
 * Signature data of one input, to which each signer adds. Maps are keyed by hex: of HASH160s for keys, of x-only keys
 * for taproot.
 */
export interface SignatureData {
  /** Whether scriptSig and witness satisfy the output. */
  complete: boolean;
  /** Whether a witness is what the output asks for. */
  witness: boolean;
  scriptSig: Uint8Array;
  scriptWitness: readonly Uint8Array[];
  redeemScript: Uint8Array | null;
  witnessScript: Uint8Array | null;
  readonly signatures: Map<string, KeySignature>;
  readonly keys: Map<string, KnownKey>;
  spend: TapSpend;
  /** Leaves depth first; null if no provider knows the tree. */
  tree: readonly TreeLeaf[] | null;
  tapKeySignature: Uint8Array | null;
  /** By key and leaf hash. */
  readonly tapScriptSignatures: Map<string, TapLeafSignature>;
  readonly tapKeys: Map<string, KnownTapKey>;
  /** X-only keys by their HASH160. */
  readonly tapKeysByHash: Map<string, Uint8Array>;
  /** By aggregate key. */
  readonly musigParticipants: Map<string, MusigParticipants>;
  /** By `musigSessionKey`. */
  readonly musigNonces: Map<string, MusigShares>;
  readonly musigPartialSignatures: Map<string, MusigShares>;
  readonly preimages: Preimages;
  /** HASH160s of keys that were not found. */
  readonly missingKeys: Uint8Array[];
  /** HASH160s of keys whose signatures were not. */
  readonly missingSignatures: Uint8Array[];
  /** HASH160. */
  missingRedeemScript: Uint8Array | null;
  /** SHA-256. */
  missingWitnessScript: Uint8Array | null;
}

const EMPTY = new Uint8Array(0);

export function newSignatureData(): SignatureData {
  return {
    complete: false,
    witness: false,
    scriptSig: EMPTY,
    scriptWitness: [],
    redeemScript: null,
    witnessScript: null,
    signatures: new Map(),
    keys: new Map(),
    spend: NO_TAP_SPEND,
    tree: null,
    tapKeySignature: null,
    tapScriptSignatures: new Map(),
    tapKeys: new Map(),
    tapKeysByHash: new Map(),
    musigParticipants: new Map(),
    musigNonces: new Map(),
    musigPartialSignatures: new Map(),
    preimages: { sha256: new Map(), hash256: new Map(), ripemd160: new Map(), hash160: new Map() },
    missingKeys: [],
    missingSignatures: [],
    missingRedeemScript: null,
    missingWitnessScript: null,
  };
}

/** Merges scripts and signatures. A complete one wins. Core's MergeSignatureData. */
export function mergeSignatureData(a: SignatureData, b: SignatureData): SignatureData {
  if (a.complete) return a;
  if (b.complete) return b;
  return {
    ...a,
    redeemScript: a.redeemScript ?? b.redeemScript,
    witnessScript: a.witnessScript ?? b.witnessScript,
    signatures: new Map([...b.signatures, ...a.signatures]),
  };
}
