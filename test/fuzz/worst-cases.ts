import { publicKeyOf, xOnlyOf } from '../../src/crypto/keys.ts';
import { signatureEngine } from '../../src/crypto/secp256k1.ts';
import { signSchnorr } from '../../src/crypto/sign-schnorr.ts';
import { encodeBlock, parseBlock } from '../../src/primitives/block.ts';
import type { BlockHash, MerkleRoot, Txid } from '../../src/primitives/hash.ts';
import type { Transaction, TxInput, TxOutput } from '../../src/primitives/transaction.ts';
import { DecodedTxContext } from '../../src/script/decoded-tx-context.ts';
import { SCRIPT_FLAGS } from '../../src/script/flags.ts';
import { Op } from '../../src/script/opcodes.ts';
import { pushData, pushNumber, scriptOf } from '../../src/script/script-builder.ts';
import { taprootSighash } from '../../src/script/sighash-taproot.ts';
import { newTaprootSpend } from '../../src/script/signature-checker.ts';
import { tapLeafHash } from '../../src/script/taproot.ts';
import { p2wshOf, witnessScript } from '../../src/script/templates.ts';
import { checkInput } from '../../src/script/tx-checker.ts';
import { ByteWriter, concatBytes } from '../../src/util/bytes.ts';
import { taprootOutput } from './taproot-output.ts';

/** A valid block part that costs as much as its kind can. */
export interface WorstCase {
  readonly name: string;
  /** Expected result, which proves that it ran to its end. */
  readonly expected: string;
  /** Time limit on a slow machine, seconds. */
  readonly maxSeconds: number;
  /** Whether it is small enough for every run of the tests. */
  readonly quick: boolean;
  /** Prepares the case outside of the measured time. */
  prepare(): () => string;
}

const EMPTY: Uint8Array = new Uint8Array(0);
const SECRET = new Uint8Array(32).fill(1);
const KEY = publicKeyOf(SECRET);
/** Strict DER of small numbers with hash type ALL: well-formed and invalid. */
const BAD_SIGNATURE = Uint8Array.of(0x30, 6, 2, 1, 1, 2, 1, 1, 1);
const CONSENSUS_FLAGS =
  SCRIPT_FLAGS.P2SH |
  SCRIPT_FLAGS.DERSIG |
  SCRIPT_FLAGS.CHECKLOCKTIMEVERIFY |
  SCRIPT_FLAGS.CHECKSEQUENCEVERIFY |
  SCRIPT_FLAGS.WITNESS |
  SCRIPT_FLAGS.NULLDUMMY |
  SCRIPT_FLAGS.TAPROOT;
const MAX_WITNESS = 3_900_000;

const ops = (...opcodes: readonly number[]): Uint8Array => Uint8Array.from(opcodes);

function repeated(piece: Uint8Array, times: number): Uint8Array {
  const out = new Uint8Array(piece.length * times);
  for (let i = 0; i < times; i++) out.set(piece, i * piece.length);
  return out;
}

const inputWith = (scriptSig: Uint8Array, witness: readonly Uint8Array[], n = 0): TxInput => ({
  prevout: { txid: new Uint8Array(32).fill(9) as Txid, vout: n },
  scriptSig,
  sequence: 0xffff_ffff,
  witness,
});
const outputTo = (scriptPubKey: Uint8Array): TxOutput => ({ value: 1000n, scriptPubKey });

function oneInput(output: Uint8Array, witness: readonly Uint8Array[] = [], to: Uint8Array = EMPTY): DecodedTxContext {
  const tx: Transaction = { version: 2, inputs: [inputWith(EMPTY, witness)], outputs: [outputTo(to)], locktime: 0 };
  return new DecodedTxContext(tx, [outputTo(output)]);
}

const verify = (context: DecodedTxContext, index = 0, flags = CONSENSUS_FLAGS) =>
  checkInput(context, index, flags, signatureEngine());

/** Returns a pre-segwit script as a bare output. */
function bare(name: string, expected: string, script: () => Uint8Array): WorstCase {
  return {
    name: `legacy: ${name}`,
    expected,
    maxSeconds: 1,
    quick: true,
    prepare() {
      const context = oneInput(script());
      return () => verify(context);
    },
  };
}

/** Returns a leaf that fills a block with a script of `size` bytes. */
function tapscript(
  name: string,
  expected: string,
  script: (size: number) => Uint8Array,
  { items = [], maxSeconds = 30 }: { items?: readonly Uint8Array[]; maxSeconds?: number } = {},
): WorstCase {
  return {
    name: `tapscript of 3.9 MB: ${name}`,
    expected,
    maxSeconds,
    quick: false,
    prepare() {
      const leaf = script(MAX_WITNESS);
      const { output, control } = taprootOutput(xOnlyOf(SECRET), leaf);
      const context = oneInput(output, [...items, leaf, control]);
      return () => verify(context);
    },
  };
}

/** Repeats a piece to fill the script up, between a beginning and an end. */
const filling =
  (piece: Uint8Array, start = EMPTY, end = ops(Op.OP_1)) =>
  (size: number) =>
    concatBytes(start, repeated(piece, Math.floor((size - start.length - end.length) / piece.length)), end);

const LARGE_ITEM = new Uint8Array(520).fill(7);

/** A signature check requires 50 bytes of witness (BIP-342), which the padding provides exactly. */
function checkSigAdds(): () => string {
  const piece = concatBytes(
    ops(Op.OP_OVER, Op.OP_SWAP),
    pushData(xOnlyOf(SECRET)),
    ops(Op.OP_CHECKSIGADD),
    pushData(new Uint8Array(12)),
    ops(Op.OP_DROP),
  );
  const leaf = filling(piece, EMPTY, ops(Op.OP_DROP, Op.OP_DROP, Op.OP_1))(MAX_WITNESS);
  const { output, control } = taprootOutput(xOnlyOf(SECRET), leaf);
  const spend = { ...newTaprootSpend(), tapleafHash: tapLeafHash(0xc0, leaf) };
  const hash = taprootSighash(oneInput(output), 0, 0, spend)!;
  const signature = signSchnorr(hash, SECRET, new Uint8Array(32));
  const context = oneInput(output, [signature, EMPTY, leaf, control]);
  return () => verify(context);
}

/** Every check signs another script, so that no cached hash helps. */
function checksBetweenSeparators(hashType: number, checks: number): Uint8Array {
  const signature = Uint8Array.of(...BAD_SIGNATURE.subarray(0, -1), hashType);
  return repeated(scriptOf(signature, KEY, Op.OP_CHECKSIG, Op.OP_CODESEPARATOR), checks);
}

/**
 * Returns a transaction of 1 MB with as many inputs as fit, one of which has the maximum number of signature hashes.
 */
function quadraticInput(hashType: number): () => string {
  const inputs = Array.from({ length: 24_300 }, (_, i) => inputWith(EMPTY, [], i));
  const script = concatBytes(checksBetweenSeparators(hashType, 99), ops(Op.OP_1));
  const tx: Transaction = { version: 1, inputs, outputs: [outputTo(EMPTY)], locktime: 0 };
  const spent = inputs.map((_, i) => outputTo(i === 0 ? script : ops(Op.OP_1)));
  return () => verify(new DecodedTxContext(tx, spent));
}

/** Returns a transaction like the one that once took nodes half a minute; every tenth of its inputs is checked. */
function manyInputs(): () => string {
  const scriptSig = pushData(new Uint8Array(106));
  const inputs = Array.from({ length: 6_700 }, (_, i) => inputWith(scriptSig, [], i));
  const tx: Transaction = { version: 1, inputs, outputs: [outputTo(EMPTY)], locktime: 0 };
  const script = scriptOf(BAD_SIGNATURE, KEY, Op.OP_CHECKSIG, Op.OP_NOT);
  const spent = inputs.map(() => outputTo(script));
  return () => {
    const context = new DecodedTxContext(tx, spent);
    for (let i = 0; i < inputs.length; i += 10) {
      const error = verify(context, i);
      if (error !== 'OK') return error;
    }
    return 'OK';
  };
}

function largeSingleOutput(): () => string {
  const script = checksBetweenSeparators(3, 99);
  const context = oneInput(p2wshOf(script), [script], new Uint8Array(900_000));
  return () => verify(context);
}

function parsed(tx: Transaction): () => string {
  const w = new ByteWriter(1 << 22);
  const zero = new Uint8Array(32);
  const header = { version: 4, previousHash: zero as BlockHash, merkleRoot: zero as MerkleRoot, time: 0, bits: 0 };
  encodeBlock(w, { header: { ...header, nonce: 0 }, transactions: [tx] });
  const raw = w.finish();
  return () => (parseBlock(raw).txs.length === 1 ? 'OK' : 'lost');
}

/** Returns a spend of an unknown witness version, whose witness is limited by its weight only. */
function witnessItems(size: number): Transaction {
  const item = new Uint8Array(size);
  const witness: Uint8Array[] = new Array(Math.floor(MAX_WITNESS / (size + 1))).fill(item);
  return { version: 2, inputs: [inputWith(EMPTY, witness)], outputs: [outputTo(witnessScript(2, KEY))], locktime: 0 };
}

const multisigOf20 = concatBytes(
  ops(Op.OP_0),
  pushData(BAD_SIGNATURE),
  ops(Op.OP_1),
  repeated(pushData(KEY), 20),
  pushNumber(20),
  ops(Op.OP_CHECKMULTISIG),
);

export const WORST_CASES: readonly WorstCase[] = [
  bare('201 operations on 520 bytes', 'OK', () => concatBytes(pushData(LARGE_ITEM), filling201(Op.OP_SHA1))),
  bare('202 operations', 'OP_COUNT', () => repeated(ops(Op.OP_NOP), 202)),
  bare('10 kB of pushes in a branch not taken', 'OK', () =>
    concatBytes(
      ops(Op.OP_1, Op.OP_0, Op.OP_IF),
      repeated(pushData(LARGE_ITEM), 19),
      repeated(ops(0), 50),
      ops(Op.OP_ENDIF),
    ),
  ),
  bare('more than 10 kB', 'SCRIPT_SIZE', () => repeated(ops(Op.OP_1), 10_001)),
  bare('1,000 items, then moved', 'OK', () =>
    concatBytes(repeated(ops(Op.OP_1), 999), repeated(concatBytes(pushNumber(998), ops(Op.OP_ROLL)), 201)),
  ),
  bare('1,001 items', 'STACK_SIZE', () => repeated(ops(Op.OP_1), 1_001)),
  bare('100 conditions in each other', 'OK', () =>
    concatBytes(repeated(ops(Op.OP_1, Op.OP_IF), 100), ops(Op.OP_1), repeated(ops(Op.OP_ENDIF), 100)),
  ),
  bare('items that double', 'STACK_SIZE', () =>
    concatBytes(
      pushData(LARGE_ITEM),
      repeated(ops(Op.OP_DUP, Op.OP_2DUP, Op.OP_3DUP), 67),
      repeated(ops(Op.OP_1), 700),
    ),
  ),
  bare('OP_CAT', 'DISABLED_OPCODE', () => concatBytes(pushData(LARGE_ITEM), ops(Op.OP_DUP, Op.OP_CAT))),
  bare('9 times 1 of 20 keys, no signature good', 'EVAL_FALSE', () => repeated(multisigOf20, 9)),
  bare('20 signatures to be cut out of 10 kB', 'OK', () =>
    concatBytes(
      repeated(
        concatBytes(
          ops(Op.OP_0),
          ...distinctSignatures(20),
          pushNumber(20),
          repeated(ops(1, 5), 20),
          pushNumber(20),
          ops(Op.OP_CHECKMULTISIG),
        ),
        9,
      ),
      repeated(ops(1, 5), 500),
    ),
  ),
  {
    name: 'legacy: 99 hashes of 1 MB for one of 24,300 inputs, ALL',
    expected: 'OK',
    maxSeconds: 10,
    quick: false,
    prepare: () => quadraticInput(1),
  },
  {
    name: 'legacy: 99 hashes of 1 MB for one of 24,300 inputs, NONE',
    expected: 'OK',
    maxSeconds: 10,
    quick: false,
    prepare: () => quadraticInput(2),
  },
  {
    name: 'legacy: a tenth of 6,700 inputs in 1 MB, one signature each',
    expected: 'OK',
    maxSeconds: 10,
    quick: false,
    prepare: manyInputs,
  },
  {
    name: 'segwit: 99 times SIGHASH_SINGLE of an output of 900 kB',
    expected: 'CLEANSTACK',
    maxSeconds: 10,
    quick: false,
    prepare: largeSingleOutput,
  },
  tapscript('OP_NOP', 'OK', filling(ops(Op.OP_NOP))),
  tapscript('conditions in each other', 'OK', (size) => {
    const depth = Math.floor(size / 3) - 1;
    return concatBytes(repeated(ops(Op.OP_1, Op.OP_IF), depth), ops(Op.OP_1), repeated(ops(Op.OP_ENDIF), depth));
  }),
  tapscript('conditions in a branch not taken', 'OK', (size) => {
    const depth = Math.floor(size / 2) - 2;
    return concatBytes(ops(Op.OP_1, Op.OP_0), repeated(ops(Op.OP_IF), depth), repeated(ops(Op.OP_ENDIF), depth));
  }),
  tapscript('OP_ELSE', 'OK', filling(ops(Op.OP_ELSE), ops(Op.OP_1, Op.OP_0, Op.OP_IF), ops(Op.OP_ENDIF))),
  tapscript(
    'OP_ROLL from the bottom of 999 items',
    'CLEANSTACK',
    filling(concatBytes(pushNumber(997), ops(Op.OP_ROLL)), EMPTY),
    {
      items: new Array(998).fill(LARGE_ITEM),
    },
  ),
  tapscript('OP_CODESEPARATOR', 'OK', filling(ops(Op.OP_CODESEPARATOR))),
  tapscript(
    'OP_HASH160 of 520 bytes',
    'CLEANSTACK',
    filling(ops(Op.OP_DUP, Op.OP_HASH160, Op.OP_DROP), pushData(LARGE_ITEM)),
  ),
  tapscript(
    'OP_RIPEMD160 of 520 bytes',
    'CLEANSTACK',
    filling(ops(Op.OP_DUP, Op.OP_RIPEMD160, Op.OP_DROP), pushData(LARGE_ITEM)),
  ),
  tapscript('OP_HASH256', 'CLEANSTACK', filling(ops(Op.OP_HASH256), ops(Op.OP_1))),
  tapscript('OP_1ADD', 'OK', filling(ops(Op.OP_1ADD), ops(Op.OP_2), EMPTY)),
  tapscript('items that double', 'STACK_SIZE', filling(ops(Op.OP_3DUP), pushData(LARGE_ITEM), EMPTY), {
    items: [LARGE_ITEM, LARGE_ITEM],
  }),
  tapscript('OP_CAT', 'OK', filling(ops(Op.OP_NOP), EMPTY, ops(Op.OP_CAT))),
  {
    name: 'tapscript of 3.9 MB: 78,000 OP_CHECKSIGADD',
    expected: 'OK',
    maxSeconds: 60,
    quick: false,
    prepare: checkSigAdds,
  },
  {
    name: 'block: witness of 3.9 million empty items',
    expected: 'OK',
    maxSeconds: 10,
    quick: false,
    prepare: () => parsed(witnessItems(0)),
  },
  {
    name: 'block: witness of 1.9 million items of 1 byte',
    expected: 'OK',
    maxSeconds: 10,
    quick: false,
    prepare: () => parsed(witnessItems(1)),
  },
];

function filling201(opcode: number): Uint8Array {
  return repeated(ops(Op.OP_DUP, opcode, Op.OP_DROP), 67);
}

function distinctSignatures(count: number): Uint8Array[] {
  return Array.from({ length: count }, (_, i) => pushData(Uint8Array.of(0x30, 6, 2, 1, 1 + i, 2, 1, 1, 1)));
}

export interface WorstResult {
  readonly seconds: number;
  readonly grownBytes: number;
  /** The fault that was found, or null. */
  readonly fault: string | null;
}

export function measureWorstCase({ prepare, expected, maxSeconds }: WorstCase): WorstResult {
  const run = prepare();
  Bun.gc(true);
  const rss = process.memoryUsage.rss();
  const start = performance.now();
  const outcome = run();
  const seconds = (performance.now() - start) / 1000;
  const grownBytes = process.memoryUsage.rss() - rss;
  const fault =
    outcome !== expected
      ? `ended with ${outcome} instead of ${expected}`
      : seconds > maxSeconds
        ? `took more than ${maxSeconds} s`
        : null;
  return { seconds, grownBytes, fault };
}
