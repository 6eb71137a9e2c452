import { hash160, sha256 } from '../../../src/crypto/hash-functions.ts';
import type { Txid } from '../../../src/primitives/hash.ts';
import type { Transaction, TxOutput } from '../../../src/primitives/transaction.ts';
import { Op } from '../../../src/script/opcodes.ts';
import { scriptOf } from '../../../src/script/script-builder.ts';
import { multisig, p2pk, p2pkh, p2shOf, p2tr, p2wpkh, p2wshOf } from '../../../src/script/templates.ts';
import { buildTaproot, type TreeLeaf } from '../../../src/wallet/descriptor/taproot-tree.ts';
import { PrivateKey } from '../../../src/wallet/keys/private-key.ts';
import { SigningData } from '../../../src/wallet/keys/signing-data.ts';

/** The same key in every run. */
export function keyOf(name: string, compressed = true): PrivateKey {
  return new PrivateKey(sha256(new TextEncoder().encode(`signing ${name}`)), compressed);
}

/** One way to lock a coin: its script, what solves it without private keys, and whose signatures it takes. */
export interface Template {
  readonly name: string;
  readonly scriptPubKey: Uint8Array;
  /** Public keys and scripts. */
  readonly solving: SigningData;
  readonly signers: readonly PrivateKey[];
  /** Number of keys that must sign. */
  readonly required: number;
  readonly taproot?: boolean;
}

function template(
  name: string,
  signers: readonly PrivateKey[],
  scriptPubKey: Uint8Array,
  scripts: readonly Uint8Array[] = [],
  required = signers.length,
): Template {
  const solving = new SigningData();
  for (const { publicKey } of signers) solving.addPublicKey(publicKey);
  for (const script of scripts) solving.addScript(script);
  return { name, scriptPubKey, solving, signers, required };
}

/** BIP-341's point without a known secret. */
const NOBODY = Uint8Array.fromHex('50929b74c1a04954b78b4b6035e97a5e078a5a0f28ec96d547bfee9ace803ac0');

function taprootTemplate(
  name: string,
  internalKey: Uint8Array,
  leaves: readonly TreeLeaf[],
  signers: readonly PrivateKey[],
  required = 1,
): Template {
  const built = buildTaproot(internalKey, leaves)!;
  const base = template(name, signers, p2tr(built.outputKey), [], required);
  base.solving.addTaproot(built);
  return { ...base, taproot: true };
}

const leaf = (depth: number, script: Uint8Array): TreeLeaf => ({ depth, leafVersion: 0xc0, script });
const xOnly = ({ publicKey }: PrivateKey): Uint8Array => publicKey.slice(1);

function multiA(required: number, keys: readonly PrivateKey[]): Uint8Array {
  const parts = keys.flatMap((key, i) => [xOnly(key), i === 0 ? Op.OP_CHECKSIG : Op.OP_CHECKSIGADD]);
  return scriptOf(...parts, Uint8Array.of(required), Op.OP_NUMEQUAL);
}

/** and_v(v:pk(key),after(500)) */
function locked(key: Uint8Array): Uint8Array {
  return scriptOf(key, Op.OP_CHECKSIGVERIFY, Uint8Array.of(0xf4, 0x01), Op.OP_CHECKLOCKTIMEVERIFY);
}

export function templates(): Template[] {
  const [a, b, c] = [keyOf('a'), keyOf('b'), keyOf('c')];
  const fat = keyOf('fat', false);
  const twoOfThree = multisig(2, [a.publicKey, b.publicKey, c.publicKey]);
  const keyHashScript = p2wpkh(hash160(a.publicKey));
  const witnessHashScript = p2wshOf(twoOfThree);
  const pkScript = scriptOf(xOnly(a), Op.OP_CHECKSIG);
  return [
    template('p2pk', [a], p2pk(a.publicKey)),
    template('p2pk uncompressed', [fat], p2pk(fat.publicKey)),
    template('p2pkh', [a], p2pkh(hash160(a.publicKey))),
    template('p2pkh uncompressed', [fat], p2pkh(hash160(fat.publicKey))),
    template('p2wpkh', [a], keyHashScript),
    template('p2sh-p2wpkh', [a], p2shOf(keyHashScript), [keyHashScript]),
    template('multisig', [a, b, c], twoOfThree, [], 2),
    template('p2sh multisig', [a, b, c], p2shOf(twoOfThree), [twoOfThree], 2),
    template('p2wsh multisig', [a, b, c], witnessHashScript, [twoOfThree], 2),
    template('p2sh-p2wsh multisig', [a, b, c], p2shOf(witnessHashScript), [twoOfThree, witnessHashScript], 2),
    template('p2wsh pk', [a], p2wshOf(p2pk(a.publicKey)), [p2pk(a.publicKey)]),
    template('p2wsh pkh', [a], p2wshOf(p2pkh(hash160(a.publicKey))), [p2pkh(hash160(a.publicKey))]),
    template('p2wsh miniscript', [a], p2wshOf(locked(a.publicKey)), [locked(a.publicKey)]),
    taprootTemplate('p2tr miniscript leaf', NOBODY, [leaf(0, locked(xOnly(a)))], [a]),
    taprootTemplate('p2tr key', xOnly(a), [], [a]),
    taprootTemplate('p2tr key beside scripts', xOnly(a), [leaf(1, pkScript), leaf(1, multiA(2, [b, c]))], [a]),
    taprootTemplate('p2tr pk leaf', NOBODY, [leaf(0, pkScript)], [a]),
    taprootTemplate('p2tr multi_a leaf', NOBODY, [leaf(0, multiA(2, [a, b, c]))], [a, b, c], 2),
    taprootTemplate(
      'p2tr deep leaf',
      NOBODY,
      [leaf(1, multiA(1, [keyOf('x')])), leaf(2, pkScript), leaf(2, multiA(2, [keyOf('y'), keyOf('z')]))],
      [a],
    ),
  ];
}

/** Public data of all templates. */
export function solvingAll(list: readonly Template[]): SigningData {
  const all = new SigningData();
  for (const { solving } of list) all.merge(solving);
  return all;
}

export function withKeys(solving: SigningData, keys: readonly PrivateKey[]): SigningData {
  const all = new SigningData().merge(solving);
  for (const key of keys) all.addPrivateKey(key);
  return all;
}

/** Spends one coin of each template to as many outputs. */
export function spendingTx(list: readonly Template[]): { readonly tx: Transaction; readonly spent: TxOutput[] } {
  const spent = list.map(({ scriptPubKey }, i) => ({ value: 100_000n + BigInt(i), scriptPubKey }));
  const inputs = list.map((_, i) => ({
    prevout: { txid: sha256(Uint8Array.of(i)) as Txid, vout: i },
    scriptSig: new Uint8Array(0),
    sequence: 0xffff_fffd,
    witness: [],
  }));
  const outputs = list.map((_, i) => ({ value: 90_000n, scriptPubKey: p2wpkh(hash160(Uint8Array.of(i))) }));
  return { tx: { version: 2, inputs, outputs, locktime: 500 }, spent };
}
