import fc from 'fast-check';
import { hash160, sha256 } from '../../../src/crypto/hash-functions.ts';
import { publicKeyOf, xOnlyOf } from '../../../src/crypto/keys.ts';
import type { Txid } from '../../../src/primitives/hash.ts';
import { type Transaction, txidOf } from '../../../src/primitives/transaction.ts';
import { bytesToHex, concatBytes } from '../../../src/util/bytes.ts';
import type { Fields, Psbt, PsbtInput, PsbtOutput, PsbtVersion } from '../../../src/wallet/psbt/psbt.ts';
import { musigKey } from '../../../src/wallet/signing/musig-data.ts';
import { mergeTapScripts, type TapScript } from '../../../src/wallet/signing/tap-spend.ts';
import { signEcdsa } from '../../lib/sign-ecdsa.ts';

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length }).map((b) => new Uint8Array(b));
const someBytes = fc.uint8Array({ minLength: 1, maxLength: 40 }).map((b) => new Uint8Array(b));
const u32 = fc.nat({ max: 0xffff_ffff });
const KEYS = Array.from({ length: 20 }, (_, i) => {
  const secret = sha256(Uint8Array.of(i, 3));
  const signature = concatBytes(signEcdsa(sha256(secret), secret), Uint8Array.of(1));
  return { publicKey: publicKeyOf(secret), xOnly: xOnlyOf(secret), signature };
});
const keyPair = fc.constantFrom(...KEYS);
const publicKey = keyPair.map((key) => key.publicKey);
const xOnly = keyPair.map((key) => key.xOnly);
const origin = fc.record({ fingerprint: bytes(4), path: fc.array(u32, { maxLength: 5 }) });
const orNull = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value);

/** Fields by their keys. */
function fields<T>(value: fc.Arbitrary<T>, key: (value: T) => string, maxLength = 3): fc.Arbitrary<Fields<T>> {
  return fc.array(value, { maxLength }).map((list) => new Map(list.map((item) => [key(item), item])));
}

const derivations = fields(fc.record({ publicKey, origin }), (field) => bytesToHex(field.publicKey));
const leafHashes = fc
  .uniqueArray(bytes(32), { maxLength: 3, selector: bytesToHex })
  .map((list) => list.sort((a, b) => Buffer.compare(a, b)));
const tapDerivations = fields(fc.record({ publicKey: xOnly, leafHashes, origin }), (field) =>
  bytesToHex(field.publicKey),
);
const preimages = (size: number) =>
  fields(fc.record({ hash: bytes(size), preimage: someBytes }), (field) => bytesToHex(field.hash));
const partialSignatures = fields(
  keyPair.map(({ publicKey: key, signature }) => ({ publicKey: key, signature })),
  (field) => bytesToHex(hash160(field.publicKey)),
);
const schnorr = fc.constantFrom(64, 65).chain(bytes);
const tapScriptSignatures = fields(
  fc.record({ publicKey: xOnly, leafHash: bytes(32), signature: schnorr }),
  (field) => bytesToHex(field.publicKey) + bytesToHex(field.leafHash),
);
const tapScript: fc.Arbitrary<TapScript> = fc.record({
  script: someBytes,
  leafVersion: fc.constantFrom(0xc0, 0xc2),
  controlBlocks: fc.array(fc.constantFrom(33, 65, 97).chain(bytes), { minLength: 1, maxLength: 3 }),
});
const tapScripts = fc.array(tapScript, { maxLength: 3 }).map((list) => mergeTapScripts(new Map(), list));
const musigParticipants = fields(
  fc.record({ aggregateKey: publicKey, participants: fc.array(publicKey, { maxLength: 3 }) }),
  (field) => bytesToHex(field.aggregateKey),
);
const nonZero = bytes(32).filter((hash) => hash.some((byte) => byte !== 0));
const contributions = (size: number) =>
  fields(
    fc.record({ participant: publicKey, aggregateKey: publicKey, leafHash: orNull(nonZero), value: bytes(size) }),
    musigKey,
  );
// Types that nothing is known of; the proprietary one with identifier and subtype.
const unknown = fields(
  fc
    .record({ type: fc.integer({ min: 0x30, max: 0xf0 }), data: someBytes, value: someBytes })
    .map(({ type, data, value }) => ({ key: concatBytes(Uint8Array.of(type), data), value })),
  (field) => bytesToHex(field.key),
);
const proprietary = fields(
  fc
    .record({ identifier: someBytes, subtype: fc.nat({ max: 200 }), data: someBytes, value: someBytes })
    .map((field) => ({
      key: concatBytes(
        Uint8Array.of(0xfc, field.identifier.length),
        field.identifier,
        Uint8Array.of(field.subtype),
        field.data,
      ),
      identifier: field.identifier,
      subtype: field.subtype,
      value: field.value,
    })),
  (field) => bytesToHex(field.key),
);
const output = fc.record({ value: fc.bigInt(0n, 21_000_000n), scriptPubKey: someBytes });

function transactionWith(outputs: Transaction['outputs']): Transaction {
  const prevout = { txid: new Uint8Array(32).fill(7) as Txid, vout: 3 };
  const input = { prevout, scriptSig: Uint8Array.of(0), sequence: 1, witness: [] };
  return { version: 2, inputs: [input], outputs, locktime: 0 };
}

function inputOf(version: PsbtVersion): fc.Arbitrary<PsbtInput> {
  const before = fc.array(output, { minLength: 1, maxLength: 3 }).map(transactionWith);
  const only2 = <T>(value: fc.Arbitrary<T>) => (version === 2 ? orNull(value) : fc.constant(null));
  return fc
    .record({
      nonWitnessUtxo: orNull(before),
      vout: fc.nat(),
      txid: bytes(32),
      sequence: version === 2 ? orNull(u32) : u32,
      requiredTimeLocktime: only2(fc.integer({ min: 500_000_000, max: 0xffff_ffff })),
      requiredHeightLocktime: only2(fc.integer({ min: 1, max: 499_999_999 })),
      witnessUtxo: orNull(output),
      partialSignatures,
      sighashType: orNull(fc.constantFrom(0, 1, 2, 3, 0x81)),
      redeemScript: orNull(someBytes),
      witnessScript: orNull(someBytes),
      derivations,
      ripemd160Preimages: preimages(20),
      sha256Preimages: preimages(32),
      hash160Preimages: preimages(20),
      hash256Preimages: preimages(32),
      tapKeySignature: orNull(schnorr),
      tapScriptSignatures,
      tapScripts,
      tapDerivations,
      tapInternalKey: orNull(xOnly),
      tapMerkleRoot: orNull(nonZero),
      musigParticipants,
      musigNonces: contributions(66),
      musigPartialSignatures: contributions(32),
      proprietary,
      unknown,
    })
    .map(({ txid, vout, ...rest }) => {
      const tx = rest.nonWitnessUtxo;
      const prevout = tx === null ? { txid: txid as Txid, vout } : { txid: txidOf(tx), vout: vout % tx.outputs.length };
      return { ...rest, prevout, finalScriptSig: null, finalScriptWitness: null };
    });
}

const leaf = (depth: number) => someBytes.map((script) => ({ depth, leafVersion: 0xc0, script }));
const tapTree = fc.oneof(
  fc.constant([]),
  fc.tuple(leaf(0)),
  fc.tuple(leaf(1), leaf(1)),
  fc.tuple(leaf(1), leaf(2), leaf(2)),
);

const psbtOutput: fc.Arbitrary<PsbtOutput> = fc
  .record({
    output,
    redeemScript: orNull(someBytes),
    witnessScript: orNull(someBytes),
    derivations,
    tapInternalKey: orNull(xOnly),
    tapTree,
    tapDerivations,
    musigParticipants,
    proprietary,
    unknown,
  })
  .map(({ output: { value, scriptPubKey }, ...rest }) => ({ value, scriptPubKey, ...rest }));

/** PSBTs with any fields that a version may have; final scripts left out, as they take the place of others. */
export function anyPsbt(version: PsbtVersion): fc.Arbitrary<Psbt> {
  return fc.record({
    version: fc.constant(version),
    txVersion: u32,
    fallbackLocktime: version === 2 ? orNull(u32) : u32,
    modifiable: version === 2 ? orNull(fc.nat({ max: 255 })) : fc.constant(null),
    xpubs: fc.constant(new Map()),
    inputs: fc.array(inputOf(version), { minLength: 1, maxLength: 3 }),
    outputs: fc.array(psbtOutput, { maxLength: 3 }),
    proprietary,
    unknown,
  });
}
