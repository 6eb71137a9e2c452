import { isHighS, isOrderOrMore } from '../../../src/crypto/curve.ts';
import { derOfCompact, parseDerLax } from '../../../src/crypto/der.ts';
import { publicKeyOf } from '../../../src/crypto/keys.ts';
import { signatureEngine } from '../../../src/crypto/secp256k1.ts';
import { nobleEngine } from '../../../src/crypto/secp256k1-noble.ts';
import { signSchnorr } from '../../../src/crypto/sign-schnorr.ts';
import type { SignatureEngine } from '../../../src/crypto/signature-engine.ts';
import { readVarBytes, readVector, writeVarBytes, writeVector } from '../../../src/primitives/compact-size.ts';
import type { Txid } from '../../../src/primitives/hash.ts';
import type { Transaction, TxInput, TxOutput } from '../../../src/primitives/transaction.ts';
import { scriptToAsm } from '../../../src/script/asm.ts';
import { DecodedTxContext } from '../../../src/script/decoded-tx-context.ts';
import { findAndDelete } from '../../../src/script/find-and-delete.ts';
import { SCRIPT_FLAGS } from '../../../src/script/flags.ts';
import { evalScript } from '../../../src/script/interpreter.ts';
import { Op } from '../../../src/script/opcodes.ts';
import { pushData } from '../../../src/script/script-builder.ts';
import { type ScriptError, scriptErrorMessage } from '../../../src/script/script-error.ts';
import { isPushOnly, readOperations } from '../../../src/script/script-reader.ts';
import { newTaprootSpend, type SignatureChecker, type SigVersion } from '../../../src/script/signature-checker.ts';
import { checkSignatureEncoding, isStrictDer } from '../../../src/script/signature-encoding.ts';
import {
  countP2shSigops,
  countSigops,
  countWitnessSigops,
  isUnspendable,
  p2shOf,
  p2tr,
  p2wshOf,
  scriptType,
} from '../../../src/script/templates.ts';
import { checkInput, TxChecker } from '../../../src/script/tx-checker.ts';
import { verifyScript as verifyInput } from '../../../src/script/verify.ts';
import { ByteReader, ByteWriter, concatBytes, equalBytes } from '../../../src/util/bytes.ts';
import { encodedContext } from '../../lib/encoded-context.ts';
import { ALL_SCRIPT_FLAGS } from '../../lib/script-flags.ts';
import { signEcdsa } from '../../lib/sign-ecdsa.ts';
import { filled, trimmed } from '../../script/flag-sets.ts';
import { corpusScripts, corpusSpends } from '../corpus.ts';
import { Random, seedOf } from '../random.ts';
import { pushesOf, randomScript, type ScriptParts, signatureScript } from '../script-generator.ts';
import { decodeSpend, encodeSpend, type Spend } from '../spend.ts';
import { taprootOutput } from '../taproot-output.ts';
import { decoded, type FuzzTarget, hold } from '../target.ts';

const SECRET = new Uint8Array(32).fill(1);
const MESSAGE = new Uint8Array(32).fill(2);
const COMPRESSED = publicKeyOf(SECRET);
const UNCOMPRESSED = publicKeyOf(SECRET, false);
const HYBRID = Uint8Array.of(6 + (UNCOMPRESSED[64]! & 1), ...UNCOMPRESSED.subarray(1));
const DER = signEcdsa(MESSAGE, SECRET);
const SCHNORR = signSchnorr(MESSAGE, SECRET, new Uint8Array(32));
const EMPTY = new Uint8Array(0);

/** Valid, invalid and malformed signatures and keys. */
const PARTS: ScriptParts = {
  signatures: [
    EMPTY,
    Uint8Array.of(...DER, 1),
    Uint8Array.of(...DER, 0x83),
    Uint8Array.of(...DER, 0),
    DER,
    SCHNORR,
    Uint8Array.of(...SCHNORR, 1),
    Uint8Array.of(...SCHNORR, 0),
    Uint8Array.of(0x30, 6, 2, 1, 1, 2, 1, 1, 1),
    Uint8Array.of(1),
  ],
  keys: [COMPRESSED, UNCOMPRESSED, HYBRID, COMPRESSED.subarray(1), EMPTY, new Uint8Array(33), Uint8Array.of(5, 5)],
};

function isError(error: ScriptError): boolean {
  return typeof scriptErrorMessage(error) === 'string';
}

/** Returns the operations that the script reader must find, read in the plain way. */
function plainOperations(script: Uint8Array): { list: { opcode: number; data: Uint8Array }[]; broken: boolean } {
  const list: { opcode: number; data: Uint8Array }[] = [];
  const r = new ByteReader(script);
  const finished = decoded(() => {
    while (r.remaining > 0) {
      const opcode = r.u8();
      let size = opcode < Op.OP_PUSHDATA1 ? opcode : 0;
      if (opcode === Op.OP_PUSHDATA1) size = r.u8();
      else if (opcode === Op.OP_PUSHDATA2) size = r.u16();
      else if (opcode === Op.OP_PUSHDATA4) size = r.u32();
      list.push({ opcode, data: r.bytes(size) });
    }
    return true;
  });
  return { list, broken: finished === null };
}

const scriptReader: FuzzTarget = {
  name: 'script-reader',
  help: 'operations, templates, sigops, text',
  corpus: corpusScripts,
  generate: (random) => randomScript(random, PARTS),
  run(input) {
    const operations = [...readOperations(input)];
    const broken = operations.at(-1) === null;
    const whole = operations.filter((operation) => operation !== null);
    const { length } = whole;
    const plain = plainOperations(input);
    hold(plain.broken === broken && plain.list.length === length, 'where operations begin');
    for (const [i, { opcode, data }] of plain.list.entries())
      hold(whole[i]!.opcode === opcode && equalBytes(whole[i]!.data, data), 'operations and their data');
    const onlyPushes = plain.list.every(({ opcode }) => opcode <= Op.OP_16);
    hold(isPushOnly(input) === (onlyPushes && !broken), 'whether there are only pushes');
    hold(scriptToAsm(input).split(' ').length >= Math.min(1, length), 'text');
    scriptToAsm(input, { sighashDecode: true });
    const { type, solutions } = scriptType(input);
    hold(type !== 'nonstandard' || solutions.length === 0, 'nothing is known of what is not standard');
    hold(type !== 'nulldata' || isUnspendable(input), 'data outputs are unspendable');
    const inaccurate = countSigops(input, false);
    hold(countSigops(input, true) <= inaccurate && inaccurate <= 20 * length, 'sigops');
    countP2shSigops(input, p2shOf(input));
    countWitnessSigops(pushData(input), p2shOf(input), [input], ALL_SCRIPT_FLAGS);
    for (const data of [input.subarray(1, 1 + (input[0] ?? 0)), input.subarray(0, 1), EMPTY]) {
      const rest = findAndDelete(input, data);
      const push = pushData(data);
      hold((input.length - rest.length) % push.length === 0, 'whole pushes are deleted');
      hold(rest.length < input.length || rest === input, 'the same object where nothing is');
      if (input.length >= push.length && equalBytes(input.subarray(0, push.length), push))
        hold(rest !== input, 'what stands at the front is deleted');
    }
  },
};

const der: FuzzTarget = {
  name: 'der',
  help: 'signatures, read strictly and leniently',
  corpus: () => PARTS.signatures,
  generate(random) {
    const compact = random.bytes(64);
    if (random.once(3)) compact.fill(random.once(2) ? 0 : 0xff, 0, random.int(33));
    if (random.once(3)) compact.fill(random.once(2) ? 0 : 0xff, 32, 32 + random.int(33));
    return Uint8Array.of(...derOfCompact(compact), random.once(2) ? 1 : random.int(256));
  },
  run(input) {
    const compact = new Uint8Array(64).fill(7);
    const plain = input.subarray(0, -1);
    const read = parseDerLax(plain, compact);
    if (isStrictDer(input)) {
      hold(read, 'what is strict is read leniently too');
      const numbersFit = plain[3]! <= 33 && plain[5 + plain[3]!]! <= 33;
      if (numbersFit && compact.some((byte) => byte !== 0))
        hold(equalBytes(derOfCompact(compact), plain), 'strict DER has one form');
    }
    for (const flags of [0, SCRIPT_FLAGS.DERSIG, SCRIPT_FLAGS.LOW_S, SCRIPT_FLAGS.STRICTENC, ALL_SCRIPT_FLAGS]) {
      const error = checkSignatureEncoding(input, flags);
      hold(isError(error), 'a known outcome');
      if (error !== 'OK' || flags === 0 || input.length === 0) continue;
      hold(isStrictDer(input), 'every flag wants strict DER');
      if (!(flags & SCRIPT_FLAGS.LOW_S)) continue;
      hold(!isHighS(compact, 32) || isOrderOrMore(compact, 32) || isOrderOrMore(compact, 0), 'low S');
    }
  },
};

const VERSIONS: readonly SigVersion[] = ['base', 'witness_v0', 'tapscript'];

/** Accepts or rejects by its arguments, so that scripts continue behind their checks. */
const FAKE_CHECKER: SignatureChecker = {
  checkEcdsa: (signature) => signature.length % 3 !== 0,
  checkSchnorr: (signature) => (signature.length % 3 !== 0 ? 'OK' : 'SCHNORR_SIG'),
  checkTapTweak: () => true,
  checkLockTime: (lockTime) => lockTime % 2 === 0,
  checkSequence: (sequence) => sequence % 2 === 0,
};

const MAX_STACK = 1000;
const MAX_ITEM = 520;

/** Input: flags, 4 bytes; version, 1 byte; the stack as a vector; the script. */
const interpreter: FuzzTarget = {
  name: 'interpreter',
  help: 'scripts of every version under any flags, with signatures that are good or bad by their looks',
  corpus: () => corpusScripts().map((script) => interpreterCase(0, 0, [], script)),
  generate(random) {
    const items = Array.from({ length: random.int(12) }, () =>
      random.bytes(random.once(3) ? 1 : random.length(MAX_ITEM)),
    );
    return interpreterCase(random.u32(), random.int(3), items, randomScript(random, PARTS));
  },
  run(input) {
    const r = new ByteReader(input);
    const head = decoded(() => ({ flags: r.u32(), version: r.u8(), items: readVector(r, readVarBytes) }));
    if (!head || head.items.length > MAX_STACK || head.items.some(({ length }) => length > MAX_ITEM)) return;
    const script = input.slice(r.pos);
    const before = script.slice();
    const version = VERSIONS[head.version % 3]!;
    const execute = (flags: number) => {
      const stack = head.items.slice();
      const spend = version === 'tapscript' ? { ...newTaprootSpend(), validationWeightLeft: 300 } : null;
      const error = evalScript(stack, script, flags, FAKE_CHECKER, version, spend);
      return { error, stack };
    };
    const flags = head.flags & ALL_SCRIPT_FLAGS;
    const { error, stack } = execute(flags);
    hold(isError(error), 'a known outcome');
    hold(equalBytes(script, before), 'scripts are not written to');
    if (error === 'OK') hold(stack.length <= MAX_STACK && stack.every(({ length }) => length <= MAX_ITEM), 'limits');
    const random = new Random(seedOf(input));
    for (let i = 0; i < 3; i++) {
      const change = random.u32() & random.u32();
      if (error === 'OK') hold(execute(flags & ~change).error === 'OK', 'fewer flags allow more');
      else hold(execute((flags | change) & ALL_SCRIPT_FLAGS).error !== 'OK', 'more flags allow less');
    }
  },
};

function interpreterCase(flags: number, version: number, items: readonly Uint8Array[], script: Uint8Array): Uint8Array {
  const w = new ByteWriter();
  w.u32(flags);
  w.u8(version);
  writeVector(w, items, writeVarBytes);
  w.bytes(script);
  return w.finish();
}

const verifyScript: FuzzTarget = {
  name: 'verify-script',
  help: 'inputs of transactions under any flags: what fewer flags allow, what caches change, what the engines say',
  corpus: () => corpusSpends().map(encodeSpend),
  generate: (random) => encodeSpend(random.once(2) ? wrappedSpend(random) : changedSpend(random)),
  run(input) {
    const spend = decoded(() => decodeSpend(input));
    if (!spend) return;
    const { index, tx, spent } = spend;
    const flags = trimmed(spend.flags & ALL_SCRIPT_FLAGS);
    const engine = signatureEngine();
    const random = new Random(seedOf(input));
    const context = new DecodedTxContext(tx, spent);
    const error = checkInput(context, index, flags, engine);
    hold(isError(error), 'a known outcome');
    // The cache of the first run must not change the result of the second.
    hold(checkInput(context, index, flags, engine) === error, 'the same answer twice');
    hold(
      checkInput(encodedContext(tx, spent), index, flags, engine) === error,
      'the same answer for the encoded transaction',
    );
    for (let i = 0; i < 2; i++) {
      const change = random.u32() & random.u32();
      const other = error === 'OK' ? trimmed(flags & ~change) : filled((flags | change) & ALL_SCRIPT_FLAGS);
      const fresh = checkInput(new DecodedTxContext(tx, spent), index, other, engine);
      if (error === 'OK') hold(fresh === 'OK', 'fewer flags allow more');
      else if ((other & flags) === flags) hold(fresh !== 'OK', 'more flags allow less');
    }
    hold(
      outcome(tx, spent, index, flags, true) === outcome(tx, spent, index, flags, false),
      'what is kept of signature hashes changes nothing',
    );
    if (random.once(20)) hold(checkInput(context, index, flags, nobleEngine()) === error, 'both engines agree');
  },
};

/** Accepts or rejects by the signed hash, so that a wrong hash shows without elliptic curves. */
const HASH_ENGINE: SignatureEngine = {
  name: 'noble',
  verifyEcdsa: (_, hash) => hash[0]! % 4 !== 0,
  verifySchnorr: (_, hash) => hash[0]! % 4 !== 0,
  checkTapTweak: (...tweak) => signatureEngine().checkTapTweak(...tweak),
  isValidPublicKey: (key) => signatureEngine().isValidPublicKey(key),
};

/** Returns the result under that engine. With `fresh` every signature hash is computed without a cache. */
function outcome(
  tx: Transaction,
  spent: readonly TxOutput[],
  index: number,
  flags: number,
  fresh: boolean,
): ScriptError {
  const context = new DecodedTxContext(tx, spent);
  if (!fresh) return checkInput(context, index, flags, HASH_ENGINE);
  const checker = () => new TxChecker(new DecodedTxContext(tx, spent), index, HASH_ENGINE);
  const forgetful: SignatureChecker = {
    checkEcdsa: (...question) => checker().checkEcdsa(...question),
    checkSchnorr: (signature, key, spend) => checker().checkSchnorr(signature, key, { ...spend, outputHash: null }),
    checkTapTweak: (...question) => checker().checkTapTweak(...question),
    checkLockTime: (lockTime) => checker().checkLockTime(lockTime),
    checkSequence: (sequence) => checker().checkSequence(sequence),
  };
  const { scriptSig, witness } = tx.inputs[index]!;
  return verifyInput(scriptSig, spent[index]!.scriptPubKey, witness, flags, forgetful);
}

/** Returns a case of the vectors with one changed part of one input. */
function changedSpend(random: Random): Spend {
  const spends = corpusSpends();
  if (spends.length === 0) return wrappedSpend(random);
  const spend = random.pick(spends);
  const inputs = spend.tx.inputs.slice();
  const spent = spend.spent.slice();
  const index = random.once(3) ? random.int(inputs.length) : spend.index;
  const input = inputs[index]!;
  const flags = random.once(2) ? spend.flags : random.u32();
  const donor = random.pick(spends);
  const from = donor.tx.inputs[donor.index]!;
  const witness = input.witness.slice();
  switch (random.int(7)) {
    case 0:
      inputs[index] = { ...input, scriptSig: from.scriptSig };
      break;
    case 1:
      inputs[index] = { ...input, witness: from.witness };
      break;
    case 2:
      spent[index] = { ...spent[index]!, scriptPubKey: donor.spent[donor.index]!.scriptPubKey };
      break;
    case 3:
      if (witness.length > 0) witness[random.int(witness.length)] = random.pick(PARTS.signatures);
      inputs[index] = { ...input, witness };
      break;
    case 4:
      witness.splice(random.int(witness.length + 1), random.int(2), random.bytes(random.length(40)));
      inputs[index] = { ...input, witness };
      break;
    case 5:
      inputs[index] = { ...input, sequence: random.u32() };
      break;
  }
  return { flags, index, tx: { ...spend.tx, inputs }, spent };
}

/** Returns a random script as bare output, redeem script, witness script or leaf, with a transaction that spends it. */
function wrappedSpend(random: Random): Spend {
  const script = random.once(3) ? signatureScript(random, DER, PARTS) : randomScript(random, PARTS);
  // Some scripts require only a clean stack.
  const items = Array.from({ length: random.once(2) ? 0 : random.int(5) }, () =>
    random.once(2) ? random.pick(PARTS.signatures) : random.bytes(random.length(80)),
  );
  const parts = wrapped(random, script, items);
  const inputCount = 1 + random.int(3);
  const index = random.int(inputCount);
  const inputs: TxInput[] = Array.from({ length: inputCount }, (_, i) => ({
    prevout: { txid: random.bytes(32) as Txid, vout: random.int(3) },
    scriptSig: i === index ? parts.scriptSig : EMPTY,
    sequence: random.once(2) ? 0xffff_ffff : random.u32(),
    witness: i === index ? parts.witness : [],
  }));
  const output = (scriptPubKey: Uint8Array): TxOutput => ({ value: BigInt(random.u32()), scriptPubKey });
  const outputs = Array.from({ length: 1 + random.int(3) }, () =>
    output(random.bytes(random.once(3) ? 1500 : random.int(40))),
  );
  const tx: Transaction = { version: random.int(3), inputs, outputs, locktime: random.u32() };
  return { flags: random.u32(), index, tx, spent: inputs.map((_, i) => output(i === index ? parts.output : EMPTY)) };
}

interface Wrapped {
  readonly output: Uint8Array;
  readonly scriptSig: Uint8Array;
  readonly witness: readonly Uint8Array[];
}

function wrapped(random: Random, script: Uint8Array, items: readonly Uint8Array[]): Wrapped {
  switch (random.int(6)) {
    case 0:
      return { output: script, scriptSig: pushesOf(items), witness: [] };
    case 1:
      return { output: p2shOf(script), scriptSig: concatBytes(pushesOf(items), pushData(script)), witness: [] };
    case 2:
      return { output: p2wshOf(script), scriptSig: EMPTY, witness: [...items, script] };
    case 3: {
      const program = p2wshOf(script);
      return { output: p2shOf(program), scriptSig: pushData(program), witness: [...items, script] };
    }
    case 4:
      return { output: p2tr(COMPRESSED.subarray(1)), scriptSig: EMPTY, witness: items };
    default: {
      const { output, control } = taprootOutput(COMPRESSED.subarray(1), script, random.once(8) ? 0xc2 : 0xc0);
      const annex = random.once(4) ? [Uint8Array.of(0x50, 1)] : [];
      return { output, scriptSig: EMPTY, witness: [...items, script, control, ...annex] };
    }
  }
}

export const SCRIPT_TARGETS: readonly FuzzTarget[] = [scriptReader, der, interpreter, verifyScript];
