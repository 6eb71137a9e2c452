import { describe, expect, test } from 'bun:test';
import { hash256 } from '../../src/crypto/hash-functions.ts';
import { publicKeyOf } from '../../src/crypto/keys.ts';
import { signatureEngine } from '../../src/crypto/secp256k1.ts';
import { nobleEngine } from '../../src/crypto/secp256k1-noble.ts';
import { parseBlock } from '../../src/primitives/block.ts';
import type { Txid } from '../../src/primitives/hash.ts';
import { decodeOutput, type Transaction, type TxOutput } from '../../src/primitives/transaction.ts';
import { DecodedTxContext } from '../../src/script/decoded-tx-context.ts';
import { findAndDelete } from '../../src/script/find-and-delete.ts';
import { evalScript } from '../../src/script/interpreter.ts';
import { pushData, scriptOf } from '../../src/script/script-builder.ts';
import { legacyPreimage, legacySighash } from '../../src/script/sighash-legacy.ts';
import { witnessV0Sighash } from '../../src/script/sighash-v0.ts';
import { NO_SIGNATURES } from '../../src/script/signature-checker.ts';
import { multisig, p2wshOf, scriptType } from '../../src/script/templates.ts';
import { checkInput } from '../../src/script/tx-checker.ts';
import { ByteReader, bytesToHex, concatBytes, hexToBytes } from '../../src/util/bytes.ts';
import { parseScriptFlags } from '../lib/script-flags.ts';
import { signEcdsa } from '../lib/sign-ecdsa.ts';
import { hasVectors, readVectorBytes } from '../lib/vectors.ts';

const EMPTY = new Uint8Array(0);
const BEFORE_SEGWIT = parseScriptFlags('P2SH');
const SEGWIT = parseScriptFlags('P2SH,DERSIG,CHECKLOCKTIMEVERIFY,CHECKSEQUENCEVERIFY,WITNESS,NULLDUMMY,TAPROOT');

const SECRETS = [1, 2, 3].map((n) => new Uint8Array(32).fill(n));
const KEYS = SECRETS.map((secret) => publicKeyOf(secret));

function txWith(outputs: number, sequence = 0): Transaction {
  const output: TxOutput = { value: 1n, scriptPubKey: new Uint8Array(30).fill(0x51) };
  const prevout = { txid: new Uint8Array(32).fill(9) as Txid, vout: 1 };
  const input = { prevout, scriptSig: EMPTY, sequence, witness: [] };
  return { version: 2, inputs: [input, input], outputs: Array.from({ length: outputs }, () => output), locktime: 0 };
}

function withInput(tx: Transaction, scriptSig: Uint8Array, witness: readonly Uint8Array[] = []): Transaction {
  return { ...tx, inputs: [{ ...tx.inputs[0]!, scriptSig, witness }, tx.inputs[1]!] };
}

// With 100 outputs the preimage is long enough for the state of its hash to be cached; 0x41 and 0x01 differ only after
// it.
describe.each([1, 100])('hash types that share a preimage have separate hashes, %d outputs', (outputs) => {
  const types = [0x01, 0x41, 0x01, 0x83, 0xc3, 0x02];

  test('in inputs before segwit', () => {
    const unsigned = txWith(outputs);
    const lock = concatBytes(
      ...types.map(() => concatBytes(pushData(KEYS[0]!), Uint8Array.of(0xad))),
      Uint8Array.of(0x51),
    );
    const spent = [
      { value: 5n, scriptPubKey: lock },
      { value: 5n, scriptPubKey: lock },
    ];
    const context = new DecodedTxContext(unsigned, spent);
    const signatures = types.map((type) =>
      concatBytes(signEcdsa(legacySighash(context, 0, lock, type), SECRETS[0]!), Uint8Array.of(type)),
    );
    const good = withInput(unsigned, scriptOf(...signatures.toReversed()));
    for (const engine of [signatureEngine(), nobleEngine()])
      expect(checkInput(new DecodedTxContext(good, spent), 0, BEFORE_SEGWIT, engine)).toBe('OK');
    const mixed = withInput(
      unsigned,
      scriptOf(...signatures.toReversed().with(3, signatures[0]!).with(2, signatures[1]!)),
    );
    expect(checkInput(new DecodedTxContext(mixed, spent), 0, BEFORE_SEGWIT, signatureEngine())).toBe('OK');
    const wrongType = signatures[1]!.slice();
    wrongType[wrongType.length - 1] = 0x01;
    const wrong = withInput(unsigned, scriptOf(...signatures.toReversed().with(4, wrongType)));
    expect(checkInput(new DecodedTxContext(wrong, spent), 0, BEFORE_SEGWIT, signatureEngine())).toBe('CHECKSIGVERIFY');
  });

  test('in version 0 witnesses', () => {
    const unsigned = txWith(outputs);
    const script = multisig(2, KEYS);
    const spent = [
      { value: 5n, scriptPubKey: p2wshOf(script) },
      { value: 5n, scriptPubKey: p2wshOf(script) },
    ];
    const context = new DecodedTxContext(unsigned, spent);
    const sign = (key: number, type: number): Uint8Array =>
      concatBytes(signEcdsa(witnessV0Sighash(context, 0, script, type), SECRETS[key]!), Uint8Array.of(type));
    for (const [first, second] of [
      [0x01, 0x41],
      [0x41, 0x01],
      [0x02, 0x42],
      [0x03, 0x83],
    ] as const) {
      const good = withInput(unsigned, EMPTY, [EMPTY, sign(0, first), sign(2, second), script]);
      expect(checkInput(new DecodedTxContext(good, spent), 0, SEGWIT, signatureEngine())).toBe('OK');
      const swapped = withInput(unsigned, EMPTY, [EMPTY, sign(2, first), sign(0, second), script]);
      expect(checkInput(new DecodedTxContext(swapped, spent), 0, SEGWIT, signatureEngine())).toBe('EVAL_FALSE');
    }
  });
});

test('FindAndDelete', () => {
  const cases: readonly (readonly [script: string, data: string, left: string])[] = [
    // An empty signature is pushed by OP_0, so every OP_0 is removed.
    ['51005200', '', '5152'],
    ['0302ff03', 'ffff', '0302ff03'],
    ['02ff0302ff03', 'ff03', ''],
    ['0302ff030302ff03', 'ff03', '0302ff030302ff03'],
    ['0302ff030302ff03', '02ff03', ''],
    // It is not found inside a push, but directly after one.
    ['0302ff0302ff03', 'ff03', '0302ff03'],
    ['02feed5169', 'feed', '5169'],
    ['516902feed5169', 'feed', '51695169'],
    // Repeated, and before an incomplete push.
    ['01aa01aa5101aa4c', 'aa', '514c'],
    ['5101aa05aa', 'aa', '5105aa'],
    ['05aa01aa', 'aa', '05aa01aa'],
    ['', 'aa', ''],
  ];
  for (const [script, data, left] of cases)
    expect(bytesToHex(findAndDelete(hexToBytes(script), hexToBytes(data)))).toBe(left);
  const untouched = hexToBytes('5152');
  expect(findAndDelete(untouched, Uint8Array.of(7))).toBe(untouched);
});

test('signatures before segwit commit to scripts without OP_CODESEPARATOR, up to a broken push', () => {
  const context = new DecodedTxContext(txWith(1), [
    { value: 0n, scriptPubKey: EMPTY },
    { value: 0n, scriptPubKey: EMPTY },
  ]);
  const signed = (script: string): string =>
    // After version, input count and outpoint; before sequence, second input, outputs, locktime, hash type.
    bytesToHex(legacyPreimage(context, 0, hexToBytes(script), 1)!.subarray(41, -4 - 41 - (1 + 8 + 1 + 30) - 8));
  expect(signed('')).toBe('00');
  expect(signed('51ab52ab')).toBe('025152');
  expect(signed('ababab')).toBe('00');
  // Within a push it is data.
  expect(signed('01ab51')).toBe('0301ab51');
  // The length counts bytes that are not written.
  expect(signed('51ab05aa')).toBe('035105');
  expect(signed('51ab4d01')).toBe('03514d');
  expect(signed('51ab4c05aa')).toBe('04514c05');
  expect(signed('514c')).toBe('02514c');
});

test('a script leaves its result on the stack', () => {
  const stack = [Uint8Array.of(1), Uint8Array.of(2)];
  expect(evalScript(stack, hexToBytes('937c'), 0, NO_SIGNATURES, 'base')).toBe('INVALID_STACK_OPERATION');
  const other = [Uint8Array.of(1), Uint8Array.of(2)];
  expect(evalScript(other, hexToBytes('9304ffffffff'), 0, NO_SIGNATURES, 'base')).toBe('OK');
  expect(other.map(bytesToHex)).toEqual(['03', 'ffffffff']);
  expect(evalScript([EMPTY, KEYS[0]!], hexToBytes('ac'), 0, NO_SIGNATURES, 'base')).toBe('OK');
  // A tapscript has no size limit.
  expect(evalScript([], new Uint8Array(10_001).fill(0x61), 0, NO_SIGNATURES, 'base')).toBe('SCRIPT_SIZE');
  expect(evalScript([], new Uint8Array(10_001).fill(0x61), 0, NO_SIGNATURES, 'tapscript')).toBe('OK');
});

test('the numbers of spent outputs and inputs must be equal', () => {
  expect(() => new DecodedTxContext(txWith(1), [])).toThrow();
});

// Scripts of real blocks with the outputs that they spend.
describe.skipIf(!hasVectors)('real blocks', () => {
  const blocks: readonly (readonly [name: string, flags: number])[] = [
    ['mainnet-300025', BEFORE_SEGWIT],
    ['testnet3-928816', SEGWIT],
    ['testnet3-928828', SEGWIT],
  ];
  for (const [name, flags] of blocks)
    test(name, () => {
      const { txs } = parseBlock(readVectorBytes(`blocks/${name}.block`));
      const r = new ByteReader(readVectorBytes(`blocks/${name}.prevouts`));
      let inputs = 0;
      for (const { tx } of txs.slice(1)) {
        const spent = tx.inputs.map(() => decodeOutput(r));
        const context = new DecodedTxContext(tx, spent);
        for (let i = 0; i < spent.length; i++, inputs++) {
          const error = checkInput(context, i, flags, signatureEngine());
          if (error !== 'OK') throw new Error(`${error}: input ${i} of ${scriptType(spent[i]!.scriptPubKey).type}`);
        }
      }
      expect(r.remaining).toBe(0);
      expect(inputs).toBeGreaterThan(100);
    }, 180_000);
});

test('the hash of SIGHASH_SINGLE without a matching output is one', () => {
  const tx = txWith(1);
  const context = new DecodedTxContext(tx, [
    { value: 0n, scriptPubKey: EMPTY },
    { value: 0n, scriptPubKey: EMPTY },
  ]);
  const one = `01${'00'.repeat(31)}`;
  expect(bytesToHex(legacySighash(context, 1, EMPTY, 3))).toBe(one);
  expect(bytesToHex(legacySighash(context, 1, EMPTY, 0x83))).toBe(one);
  expect(legacySighash(context, 0, EMPTY, 3)).toEqual(hash256(legacyPreimage(context, 0, EMPTY, 3)!));
});
