import { hash160, sha256 } from '../../src/crypto/hash-functions.ts';
import type { Amount } from '../../src/primitives/amount.ts';
import type { TxPosition } from '../../src/primitives/coin.ts';
import type { Outpoint } from '../../src/primitives/outpoint.ts';
import { type Transaction, type TxInput, type TxOutput, txidOf } from '../../src/primitives/transaction.ts';
import { Op } from '../../src/script/opcodes.ts';
import { scriptOf } from '../../src/script/script-builder.ts';
import { multisig, p2pk, p2pkh, p2shOf, p2tr, p2wpkh, p2wshOf } from '../../src/script/templates.ts';
import { bytesToHex } from '../../src/util/bytes.ts';
import { KeyRing } from './key-ring.ts';
import { type SignOptions, signTransaction } from './sign-input.ts';

/** Every standard way to lock a coin, and two that need no key. */
export const LOCK_KINDS = [
  'p2pk',
  'p2pk-uncompressed',
  'p2pkh',
  'p2pkh-uncompressed',
  'p2wpkh',
  'p2sh-p2wpkh',
  'multisig',
  'p2sh-multisig',
  'p2wsh-multisig',
  'p2sh-p2wsh-multisig',
  'p2tr',
  'p2tr-script',
  'anyone',
  'p2wsh-anyone',
] as const;
export type LockKind = (typeof LOCK_KINDS)[number];

/** An output script that `spend` can sign for. */
export interface Lock {
  readonly kind: LockKind;
  readonly index: number;
  readonly scriptPubKey: Uint8Array;
}

/** A kind stands for its first lock. */
export type Destination = LockKind | Lock | Uint8Array;

export interface TestCoin {
  readonly outpoint: Outpoint;
  readonly output: TxOutput;
  /** Absent where it is in no block yet. */
  readonly position?: TxPosition;
}

export interface Payee {
  readonly to: Destination;
  readonly value: Amount;
}

export interface SpendOptions extends SignOptions {
  readonly version?: number;
  readonly locktime?: number;
  /** Sequence number of every input. */
  readonly sequence?: number;
  /** False leaves scriptSigs and witnesses empty. */
  readonly sign?: boolean;
}

/** BIP-341's point with an unknown secret, for outputs that only a script spends. */
const UNSPENDABLE_KEY = Uint8Array.fromHex('50929b74c1a04954b78b4b6035e97a5e078a5a0f28ec96d547bfee9ace803ac0');
const ANYONE = Uint8Array.of(Op.OP_1);
const SEQUENCE_RBF = 0xffff_fffd;

/** The keys of all locks that were made. */
const testRing = new KeyRing();
const locks = new Map<string, Lock>();

/** The same secret in every run. */
export function testSecret(name: string): Uint8Array {
  return sha256(new TextEncoder().encode(`test key ${name}`));
}

/** Adds a key that `spend` signs with. Returns its compressed public key. */
export function addTestKey(secret: Uint8Array): Uint8Array {
  return testRing.addKey(secret, true);
}

/** The lock of a kind with an index, always the same one. */
export function lockOf(kind: LockKind, index = 0): Lock {
  const name = `${kind} ${index}`;
  let lock = locks.get(name);
  if (!lock) locks.set(name, (lock = { kind, index, scriptPubKey: lockScript(kind, name) }));
  return lock;
}

function lockScript(kind: LockKind, name: string): Uint8Array {
  const key = (part = ''): Uint8Array => testRing.addKey(testSecret(name + part), !kind.endsWith('uncompressed'));
  const script = (content: Uint8Array): Uint8Array => {
    testRing.addScript(content);
    return content;
  };
  const twoOfThree = (): Uint8Array => multisig(2, [key('a'), key('b'), key('c')]);
  switch (kind) {
    case 'p2pk':
    case 'p2pk-uncompressed':
      return p2pk(key());
    case 'p2pkh':
    case 'p2pkh-uncompressed':
      return p2pkh(hash160(key()));
    case 'p2wpkh':
      return p2wpkh(hash160(key()));
    case 'p2sh-p2wpkh':
      return p2shOf(script(p2wpkh(hash160(key()))));
    case 'multisig':
      return twoOfThree();
    case 'p2sh-multisig':
      return p2shOf(script(twoOfThree()));
    case 'p2wsh-multisig':
      return p2wshOf(script(twoOfThree()));
    case 'p2sh-p2wsh-multisig':
      return p2shOf(script(p2wshOf(script(twoOfThree()))));
    case 'p2tr':
      return p2tr(testRing.addTaproot(key().subarray(1)));
    case 'p2tr-script':
      return p2tr(testRing.addTaproot(UNSPENDABLE_KEY, scriptOf(key().subarray(1), Op.OP_CHECKSIG)));
    case 'anyone':
      return ANYONE;
    case 'p2wsh-anyone':
      return p2wshOf(ANYONE);
  }
}

export function scriptOfDestination(to: Destination): Uint8Array {
  if (to instanceof Uint8Array) return to;
  return typeof to === 'string' ? lockOf(to).scriptPubKey : to.scriptPubKey;
}

/** An output of a transaction as a coin to spend. */
export function coinOf(tx: Transaction, vout: number): TestCoin {
  const output = tx.outputs[vout];
  if (!output) throw new Error(`transaction has no output ${vout}`);
  return { outpoint: { txid: txidOf(tx), vout }, output };
}

/** A coin that no transaction made, for checks that read the coin alone. */
export function madeUpCoin(to: Destination, value: Amount, index = 0): TestCoin {
  const outpoint = { txid: sha256(testSecret(`coin ${index}`)) as Outpoint['txid'], vout: 0 };
  return { outpoint, output: { value, scriptPubKey: scriptOfDestination(to) } };
}

/**
 * A signed transaction; what the outputs leave over is the fee. Throws where a coin's script is not of a lock that was
 * made here.
 */
export function spend(
  coins: TestCoin | readonly TestCoin[],
  payees: readonly Payee[],
  options: SpendOptions = {},
): Transaction {
  const { version = 2, locktime = 0, sequence = SEQUENCE_RBF, sign = true } = options;
  const spent = Array.isArray(coins) ? (coins as readonly TestCoin[]) : [coins as TestCoin];
  const unsigned: Transaction = {
    version,
    inputs: spent.map(({ outpoint }) => ({ prevout: outpoint, scriptSig: new Uint8Array(0), sequence, witness: [] })),
    outputs: payees.map(({ to, value }) => ({ value, scriptPubKey: scriptOfDestination(to) })),
    locktime,
  };
  return sign ? signAgain(unsigned, spent, options) : unsigned;
}

/** All of a coin but the fee to one destination. */
export function sweep(coin: TestCoin, to: Destination, fee: Amount = 1000n, options: SpendOptions = {}): Transaction {
  return spend(coin, [{ to, value: coin.output.value - fee }], options);
}

/** Signs every input, over what was there: after a change that should not be found out. */
export function signAgain(tx: Transaction, coins: readonly TestCoin[], options: SignOptions = {}): Transaction {
  const outputs = coins.map(({ output }) => output);
  const { tx: signed } = signTransaction(tx, outputs, testRing, { aux: new Uint8Array(32), ...options });
  const inputs = signed.inputs.map((input, i) => {
    const anyone = anyoneSolution(outputs[i]!.scriptPubKey);
    if (anyone) return { ...input, ...anyone };
    if (input.scriptSig.length === 0 && input.witness.length === 0)
      throw new Error(`no key for the script ${bytesToHex(outputs[i]!.scriptPubKey)} of input ${i}`);
    return input;
  });
  return { ...signed, inputs };
}

function anyoneSolution(script: Uint8Array): Pick<TxInput, 'scriptSig' | 'witness'> | null {
  const hex = bytesToHex(script);
  const scriptSig = new Uint8Array(0);
  if (hex === bytesToHex(ANYONE)) return { scriptSig, witness: [] };
  return hex === bytesToHex(p2wshOf(ANYONE)) ? { scriptSig, witness: [ANYONE] } : null;
}

/** With one input changed; the signatures stay as they are. */
export function withInput(tx: Transaction, index: number, change: Partial<TxInput>): Transaction {
  return { ...tx, inputs: tx.inputs.map((input, i) => (i === index ? { ...input, ...change } : input)) };
}

/** With one output changed; the signatures stay as they are. */
export function withOutput(tx: Transaction, vout: number, change: Partial<TxOutput>): Transaction {
  return { ...tx, outputs: tx.outputs.map((output, i) => (i === vout ? { ...output, ...change } : output)) };
}

/** With one bit of the first signature of an input flipped, so that it is well-formed and wrong. */
export function withBadSignature(tx: Transaction, index = 0): Transaction {
  const { scriptSig, witness } = tx.inputs[index]!;
  const item = witness.findIndex(looksSigned);
  if (item >= 0) return withInput(tx, index, { witness: witness.with(item, spoiled(witness[item]!, 0)) });
  // In a scriptSig the signature is the first push that is not empty.
  const at = scriptSig[0] === Op.OP_0 ? 1 : 0;
  if (scriptSig.length < at + 60) throw new Error(`input ${index} has no signature`);
  return withInput(tx, index, { scriptSig: spoiled(scriptSig, at + 1) });
}

/** 64 or 65 bytes of Schnorr, or DER. */
function looksSigned(item: Uint8Array): boolean {
  return item.length === 64 || item.length === 65 || (item[0] === 0x30 && item.length >= 68 && item.length <= 73);
}

/** Flips the lowest bit of a byte in the middle of R, where it changes the value and not the form. */
function spoiled(bytes: Uint8Array, start: number): Uint8Array {
  const copy = bytes.slice();
  copy[start + 20]! ^= 1;
  return copy;
}

/** Without any witness, as a peer that strips them would send it. */
export function withoutWitness(tx: Transaction): Transaction {
  return { ...tx, inputs: tx.inputs.map((input) => ({ ...input, witness: [] })) };
}
