import { hash160, sha256 } from '../../crypto/hash-functions.ts';
import { tapTweakPublicKey } from '../../crypto/keys.ts';
import { AggregateKey, type MusigTweak } from '../../crypto/musig.ts';
import { newMusigNonce } from '../../crypto/musig-nonce.ts';
import {
  aggregateNonces,
  aggregatePartials,
  type MusigSession,
  musigSession,
  signPartially,
  verifyPartial,
} from '../../crypto/musig-session.ts';
import { signatureEngine } from '../../crypto/secp256k1.ts';
import { tapTweakHash } from '../../script/taproot.ts';
import { bytesToHex, concatBytes, equalBytes } from '../../util/bytes.ts';
import { musigExtendedKey } from '../descriptor/musig-key.ts';
import { derivePublicChild, fingerprintOf, publicChildTweak } from '../keys/extended-key.ts';
import { HARDENED, type KeyOrigin } from '../keys/key-path.ts';
import { keyOriginOfXOnly, type SigningProvider } from '../keys/signing-data.ts';
import { type MusigParticipants, type MusigShares, musigSessionKey, sharesOf } from './musig-data.ts';
import { noteTapKey } from './note-tap-key.ts';
import type { SignatureCreator, TaprootPath } from './signature-creator.ts';
import type { SignatureData } from './signature-data.ts';

interface Signing {
  readonly provider: SigningProvider;
  readonly creator: SignatureCreator;
  readonly data: SignatureData;
}

/** A signed key and its derivation from an aggregate. */
interface DerivedKey {
  readonly publicKey: Uint8Array;
  readonly tweaks: readonly MusigTweak[];
}

/** One key in one input and path: what its participants sign, and what they have contributed. */
interface Ceremony extends MusigParticipants {
  readonly signedKey: Uint8Array;
  readonly leafHash: Uint8Array | null;
  readonly tweaks: readonly MusigTweak[];
  readonly sighash: Uint8Array;
  readonly nonces: MusigShares;
  readonly partials: MusigShares;
}

/** Advances the sessions of one input, whose aggregate keys are in `data`. Core's SignMuSig2. */
export class MusigSigner {
  readonly #signing: Signing;
  /** X-only keys of participants whose origins the provider knows. */
  readonly #known: readonly Uint8Array[];
  readonly #byKey = new Map<string, MusigParticipants[]>();
  readonly #byFingerprint = new Map<string, MusigParticipants[]>();

  constructor(signing: Signing) {
    this.#signing = signing;
    const { provider, data } = signing;
    const known = new Map<string, Uint8Array>();
    for (const [hex, aggregate] of [...data.musigParticipants].sort(([a], [b]) => (a < b ? -1 : 1))) {
      addTo(this.#byKey, hex.slice(2), aggregate);
      addTo(this.#byFingerprint, bytesToHex(fingerprintOf(aggregate.aggregateKey)), aggregate);
      for (const participant of aggregate.participants) {
        const xOnly = participant.subarray(1);
        if (keyOriginOfXOnly(provider, xOnly) !== null) known.set(bytesToHex(xOnly), xOnly);
      }
    }
    this.#known = [...known.values()];
  }

  /**
   * Signs for each aggregate that is the key of an output or a script, or its parent: adds the partial signatures of
   * the provider's keys and, once all are there, the whole signature; before any signature their public nonces.
   */
  sign(xOnlyKey: Uint8Array, path: TaprootPath): void {
    const { provider, data } = this.#signing;
    const leafHash = path.kind === 'script' ? path.leafHash : null;
    for (const participant of this.#known) noteTapKey(provider, participant, leafHash, data);
    const hex = bytesToHex(xOnlyKey);
    const origin = data.tapKeys.get(hex)?.origin ?? null;
    const roots = origin === null ? [] : (this.#byFingerprint.get(bytesToHex(origin.fingerprint)) ?? []);
    for (const aggregate of new Set([...(this.#byKey.get(hex) ?? []), ...roots])) {
      const derived = derivedFrom(aggregate.aggregateKey, xOnlyKey, origin);
      const signed = derived && withTree(derived, xOnlyKey, path);
      if (signed !== null) stepFurther(this.#signing, aggregate, signed, xOnlyKey, leafHash);
    }
  }
}

function addTo<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const list = lists.get(key);
  if (list) list.push(item);
  else lists.set(key, [item]);
}

function stepFurther(
  { provider, creator, data }: Signing,
  aggregate: MusigParticipants,
  { publicKey: signedKey, tweaks }: DerivedKey,
  xOnlyKey: Uint8Array,
  leafHash: Uint8Array | null,
): void {
  const sighash = creator.taprootSighash(leafHash);
  if (sighash === null) return;
  const id = musigSessionKey({ aggregateKey: signedKey, leafHash });
  const nonces = sharesOf(data.musigNonces, id);
  const partials = sharesOf(data.musigPartialSignatures, id);
  const ceremony: Ceremony = { ...aggregate, signedKey, leafHash, tweaks, sighash, nonces, partials };
  addPartials(provider, ceremony);
  // The last signer has all parts.
  const signature = wholeSignature(ceremony);
  if (signature !== null) addSignature(data, xOnlyKey, leafHash, creator.withHashType(signature));
  else if (partials.size === 0) addNonces(provider, ceremony);
}

function addSignature(
  data: SignatureData,
  publicKey: Uint8Array,
  leafHash: Uint8Array | null,
  signature: Uint8Array,
): void {
  if (leafHash === null) data.tapKeySignature = signature;
  else data.tapScriptSignatures.set(bytesToHex(publicKey) + bytesToHex(leafHash), { publicKey, leafHash, signature });
}

/** Returns null unless the key is the aggregate, or derives from it by its origin (BIP-328). */
function derivedFrom(aggregateKey: Uint8Array, xOnlyKey: Uint8Array, origin: KeyOrigin | null): DerivedKey | null {
  if (equalBytes(aggregateKey.subarray(1), xOnlyKey)) return { publicKey: aggregateKey, tweaks: [] };
  if (origin === null || !equalBytes(origin.fingerprint, fingerprintOf(aggregateKey))) return null;
  const tweaks: MusigTweak[] = [];
  let key = musigExtendedKey(aggregateKey);
  for (const child of origin.path) {
    const next = child < HARDENED ? derivePublicChild(key, child) : null;
    if (next === null) return null;
    tweaks.push({ tweak: publicChildTweak(key, child), xOnly: false });
    key = next;
  }
  // The origin comes from another party and may be wrong.
  return equalBytes(key.publicKey.subarray(1), xOnlyKey) ? { publicKey: key.publicKey, tweaks } : null;
}

/** Returns the output key if the derived key is an internal one (BIP-341). */
function withTree(derived: DerivedKey, xOnlyKey: Uint8Array, path: TaprootPath): DerivedKey | null {
  if (path.kind === 'script' || path.tweak === null) return derived;
  const tweak = tapTweakHash(xOnlyKey, path.tweak.merkleRoot);
  const output = tapTweakPublicKey(xOnlyKey, tweak);
  if (output === null) return null;
  const publicKey = concatBytes(Uint8Array.of(2 + output.parity), output.key);
  return { publicKey, tweaks: [...derived.tweaks, { tweak, xOnly: true }] };
}

/** Returns null until all nonces are known, and if a nonce or participant is invalid. */
function sessionOf(ceremony: Ceremony): MusigSession | null {
  const { participants, tweaks, nonces, sighash } = ceremony;
  if (participants.length === 0 || nonces.size !== participants.length) return null;
  const publicNonces = valuesOf(participants, nonces);
  let key = publicNonces && trueAggregate(ceremony);
  for (const tweak of tweaks) key = key?.tweaked(tweak) ?? null;
  const nonce = publicNonces && aggregateNonces(publicNonces);
  return key && nonce && musigSession(key, nonce, sighash);
}

/** Returns null if the participants do not aggregate to the aggregate key. */
function trueAggregate({ aggregateKey, participants }: MusigParticipants): AggregateKey | null {
  const key = AggregateKey.of(participants);
  return key !== null && equalBytes(key.publicKey, aggregateKey) ? key : null;
}

/** Returns the participants' values in their order; null where one is missing. */
function valuesOf(participants: readonly Uint8Array[], shares: MusigShares): Uint8Array[] | null {
  const values = participants.flatMap((participant) => shares.get(bytesToHex(participant))?.value ?? []);
  return values.length === participants.length ? values : null;
}

/** Returns the signature of 64 bytes; null if a part is missing or the result is invalid. */
function wholeSignature(ceremony: Ceremony): Uint8Array | null {
  const { participants, partials, sighash } = ceremony;
  const values = partials.size === participants.length ? valuesOf(participants, partials) : null;
  const session = values && sessionOf(ceremony);
  if (values === null || session === null) return null;
  const signature = aggregatePartials(session, values);
  return signature && signatureEngine().verifySchnorr(signature, sighash, session.key.xOnly) ? signature : null;
}

/** Signs with each key whose secret nonce for just this is still kept. */
function addPartials(provider: SigningProvider, ceremony: Ceremony): void {
  const { participants, signedKey, leafHash, nonces, partials } = ceremony;
  const { musigNonces } = provider;
  if (musigNonces === null || nonces.size !== participants.length) return;
  let session: MusigSession | null = null;
  for (const participant of participants) {
    const hex = bytesToHex(participant);
    const publicNonce = nonces.get(hex)?.value;
    const key = publicNonce && !partials.has(hex) ? provider.privateKey(hash160(participant)) : null;
    if (!publicNonce || key === null) continue;
    const id = sessionId(ceremony, participant, publicNonce);
    if (!musigNonces.has(id)) continue;
    // If another participant's nonce is invalid ours stays, since nothing was signed with it.
    session ??= sessionOf(ceremony);
    const secretNonce = session && musigNonces.consume(id);
    if (session === null || secretNonce === null) return;
    const value = signPartially(session, secretNonce, key.reveal());
    if (verifyPartial(session, value, publicNonce, participant))
      partials.set(hex, { participant, aggregateKey: signedKey, leafHash, value });
  }
}

/** Creates a nonce for each own key without one, and stores its secret half. */
function addNonces(provider: SigningProvider, ceremony: Ceremony): void {
  const { participants, signedKey, leafHash, nonces, sighash } = ceremony;
  const { musigNonces } = provider;
  if (musigNonces === null) return;
  let aggregate: AggregateKey | null = null;
  for (const participant of participants) {
    const hex = bytesToHex(participant);
    const key = nonces.has(hex) ? null : provider.privateKey(hash160(participant));
    if (key === null) continue;
    aggregate ??= trueAggregate(ceremony);
    if (aggregate === null) return;
    const { secretNonce, publicNonce } = newMusigNonce({
      secret: key.reveal(),
      publicKey: participant,
      aggregateKey: aggregate.xOnly,
      message: sighash,
      extra: null,
    });
    musigNonces.add(sessionId(ceremony, participant, publicNonce), secretNonce);
    nonces.set(hex, { participant, aggregateKey: signedKey, leafHash, value: publicNonce });
  }
}

/** Returns the identity of a nonce's purpose; the nonce is found again for nothing else. */
function sessionId({ signedKey, sighash }: Ceremony, participant: Uint8Array, publicNonce: Uint8Array): string {
  return bytesToHex(sha256(concatBytes(signedKey, participant, sighash, publicNonce)));
}
