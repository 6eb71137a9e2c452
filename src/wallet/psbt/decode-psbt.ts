import { readCompactSize } from '../../primitives/compact-size.ts';
import type { Transaction } from '../../primitives/transaction.ts';
import { ByteReader, bytesToHex, DecodeError, equalBytes } from '../../util/bytes.ts';
import { runSteps, type Steps } from '../../util/slices.ts';
import type { KeyOrigin } from '../keys/key-path.ts';
import { decodeInputFields } from './decode-input.ts';
import { decodeOutputFields } from './decode-output.ts';
import { GLOBAL, PSBT_MAGIC } from './field-types.ts';
import { knownTxidOf } from './known-txid.ts';
import {
  type GlobalXpub,
  newPsbtInput,
  type ProprietaryField,
  type Psbt,
  type PsbtInput,
  type PsbtOutput,
  type PsbtVersion,
  type UnknownField,
} from './psbt.ts';
import {
  decodeUnsignedTx,
  expectKeySize,
  isFullyValidKey,
  type OpenField,
  readFields,
  readOrigin,
  readProprietary,
  readSized,
  readSizedCount,
  readU8,
  readU32,
  readUnknown,
  refuse,
} from './read-fields.ts';

const XPUB_SIZE = 78;
/** Characters that one step decodes; four of them are three bytes. */
const BASE64_STEP = 1 << 20;

/** Core's words for what readers of other objects throw. */
const STREAM_ERRORS: Readonly<Record<string, string>> = {
  'unexpected end of data': 'SpanReader::read(): end of data',
  'non-canonical compact size': 'non-canonical ReadCompactSize()',
  'compact size too large': 'ReadCompactSize(): size too large',
  'superfluous witness record': 'Superfluous witness record',
  'unknown transaction flags': 'Unknown transaction optional data',
};

/** Throws DecodeError with Core's words. */
export function decodePsbtBase64(text: string): Psbt {
  return runSteps(decodePsbtBase64Steps(text));
}

/** Decodes in steps of a megabyte of text, then of one input or output. */
export function* decodePsbtBase64Steps(text: string): Steps<Psbt> {
  return yield* decodePsbtSteps(yield* base64BytesSteps(text));
}

/** Throws DecodeError on anything but canonical Base64. */
function* base64BytesSteps(text: string): Steps<Uint8Array> {
  const bytes = new Uint8Array(Math.ceil(text.length / 4) * 3);
  let length = 0;
  for (let at = 0; at < text.length; at += BASE64_STEP) {
    const part = text.slice(at, at + BASE64_STEP);
    const decoded = base64Bytes(part);
    const isLast = at + BASE64_STEP >= text.length;
    // Padding ends a text.
    if (!isLast && decoded.length !== (BASE64_STEP / 4) * 3) throw new DecodeError('invalid base64');
    bytes.set(decoded, length);
    length += decoded.length;
    yield;
  }
  return bytes.subarray(0, length);
}

function base64Bytes(text: string): Uint8Array {
  let bytes: Uint8Array;
  try {
    bytes = Uint8Array.fromBase64(text, { lastChunkHandling: 'strict' });
  } catch {
    throw new DecodeError('invalid base64');
  }
  // The decoder skips whitespace, which Core rejects.
  if (bytes.toBase64() !== text) throw new DecodeError('invalid base64');
  return bytes;
}

/** Decodes in steps of one input or output. Throws DecodeError with Core's words. The result refers to `bytes`. */
function* decodePsbtSteps(bytes: Uint8Array): Steps<Psbt> {
  const r = new ByteReader(bytes);
  let psbt: Psbt;
  try {
    psbt = yield* readPsbt(r);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new DecodeError(`${STREAM_ERRORS[error.message] ?? error.message}: iostream error`);
  }
  if (r.remaining > 0) throw new DecodeError('extra data after PSBT');
  return psbt;
}

/** Contents of the global map. */
interface Globals {
  tx: Transaction | null;
  txVersion: number | null;
  fallbackLocktime: number | null;
  inputCount: number | null;
  outputCount: number | null;
  modifiable: number | null;
  version: number | null;
  readonly xpubs: Map<string, GlobalXpub>;
  readonly proprietary: Map<string, ProprietaryField>;
  readonly unknown: Map<string, UnknownField>;
}

function* readPsbt(r: ByteReader): Steps<Psbt> {
  if (!equalBytes(r.bytes(PSBT_MAGIC.length), PSBT_MAGIC)) refuse('Invalid PSBT magic bytes');
  const globals = readGlobals(r);
  const version = checkVersion(globals);
  yield;
  const { tx, xpubs, proprietary, unknown, modifiable } = globals;
  return {
    version,
    txVersion: tx?.version ?? globals.txVersion!,
    fallbackLocktime: tx?.locktime ?? globals.fallbackLocktime,
    modifiable,
    xpubs,
    proprietary,
    unknown,
    inputs: yield* readInputs(r, version, tx, tx?.inputs.length ?? globals.inputCount!),
    outputs: yield* readOutputs(r, version, tx, tx?.outputs.length ?? globals.outputCount!),
  };
}

function readGlobals(r: ByteReader): Globals {
  const globals: Globals = {
    tx: null,
    txVersion: null,
    fallbackLocktime: null,
    inputCount: null,
    outputCount: null,
    modifiable: null,
    version: null,
    xpubs: new Map(),
    proprietary: new Map(),
    unknown: new Map(),
  };
  readFields(r, 'global', 'the', (field) => {
    switch (field.type) {
      case GLOBAL.UNSIGNED_TX:
        expectKeySize(field, 1, 'Global Unsigned TX');
        globals.tx = readSized(r, decodeUnsignedTx);
        if (globals.tx.inputs.some(({ scriptSig }) => scriptSig.length > 0))
          refuse('Unsigned tx does not have empty scriptSigs and scriptWitnesses.');
        break;
      case GLOBAL.TX_VERSION:
        expectKeySize(field, 1, 'Global Transaction Version');
        globals.txVersion = readU32(r);
        break;
      case GLOBAL.FALLBACK_LOCKTIME:
        expectKeySize(field, 1, 'Global Fallback Locktime');
        globals.fallbackLocktime = readU32(r);
        break;
      case GLOBAL.INPUT_COUNT:
        expectKeySize(field, 1, 'Global Input Count');
        globals.inputCount = readSizedCount(r);
        break;
      case GLOBAL.OUTPUT_COUNT:
        expectKeySize(field, 1, 'Global Output Count');
        globals.outputCount = readSizedCount(r);
        break;
      case GLOBAL.TX_MODIFIABLE:
        expectKeySize(field, 1, 'Global TX Modifiable Flags');
        globals.modifiable = readU8(r);
        break;
      case GLOBAL.XPUB: {
        const xpub = readXpub(r, field);
        const key = globalXpubKey(xpub);
        if (!globals.xpubs.has(key)) globals.xpubs.set(key, xpub);
        break;
      }
      case GLOBAL.VERSION:
        expectKeySize(field, 1, 'Global PSBT Version');
        globals.version = readU32(r);
        if (globals.version > 2) refuse('Unsupported version number');
        break;
      case GLOBAL.PROPRIETARY:
        globals.proprietary.set(bytesToHex(field.key), readProprietary(r, field));
        break;
      default:
        globals.unknown.set(bytesToHex(field.key), readUnknown(r, field));
    }
  });
  return globals;
}

/** Returns the sort key by origin, public key and chain code, in the order of Core's map of sets. */
export function globalXpubKey({ origin, xpub }: GlobalXpub): string {
  return `${keyOriginSortKey(origin)}!${bytesToHex(xpub.subarray(45))}${bytesToHex(xpub.subarray(13, 45))}`;
}

/** Returns the sort key by fingerprint, path length and steps. */
function keyOriginSortKey({ fingerprint, path }: KeyOrigin): string {
  const words = [path.length, ...path].map((word) => word.toString(16).padStart(8, '0'));
  return [bytesToHex(fingerprint), ...words].join(' ');
}

function readXpub(r: ByteReader, field: OpenField): GlobalXpub {
  expectKeySize(field, XPUB_SIZE + 1, 'Global XPUB');
  const xpub = field.key.subarray(1);
  const depth = xpub[4]!;
  // A master key has neither parent fingerprint nor child index (BIP-32).
  const orphan = depth === 0 && xpub.subarray(5, 13).some((byte) => byte !== 0);
  if (orphan || !isFullyValidKey(xpub.subarray(45))) refuse('Invalid pubkey');
  return { xpub, origin: readOrigin(r, readCompactSize(r)) };
}

function checkVersion(globals: Globals): PsbtVersion {
  const { tx, version } = globals;
  if (version === 1) return refuse('There is no PSBT version 1');
  if (version === 2) {
    if (globals.txVersion === null) refuse('PSBT_GLOBAL_TX_VERSION is required in PSBTv2');
    if (globals.inputCount === null) refuse('PSBT_GLOBAL_INPUT_COUNT is required in PSBTv2');
    if (globals.outputCount === null) refuse('PSBT_GLOBAL_OUTPUT_COUNT is required in PSBTv2');
    if (tx !== null) refuse('PSBT_GLOBAL_UNSIGNED_TX is not allowed in PSBTv2');
    return 2;
  }
  if (tx === null) refuse('No unsigned transaction was provided');
  const refuseField = (name: string) => refuse(`PSBT_GLOBAL_${name} is not allowed in PSBTv0`);
  if (globals.txVersion !== null) refuseField('TX_VERSION');
  if (globals.fallbackLocktime !== null) refuseField('FALLBACK_LOCKTIME');
  if (globals.inputCount !== null) refuseField('INPUT_COUNT');
  if (globals.outputCount !== null) refuseField('OUTPUT_COUNT');
  if (globals.modifiable !== null) refuseField('TX_MODIFIABLE');
  return 0;
}

function* readInputs(r: ByteReader, version: PsbtVersion, tx: Transaction | null, count: number): Steps<PsbtInput[]> {
  const inputs: PsbtInput[] = [];
  while (r.remaining > 0 && inputs.length < count) {
    const given = tx?.inputs[inputs.length];
    const input = decodeInputFields(r, version, given && newPsbtInput(given.prevout, given.sequence));
    const { nonWitnessUtxo: utxo, prevout } = input;
    if (utxo !== null) {
      if (!equalBytes(knownTxidOf(utxo), prevout.txid)) refuse('Non-witness UTXO does not match outpoint hash');
      if (prevout.vout >= utxo.outputs.length) refuse('Input specifies output index that does not exist');
    }
    inputs.push(input);
    yield;
  }
  if (inputs.length !== count) refuse('Inputs provided does not match the number of inputs in transaction.');
  return inputs;
}

function* readOutputs(r: ByteReader, version: PsbtVersion, tx: Transaction | null, count: number): Steps<PsbtOutput[]> {
  const outputs: PsbtOutput[] = [];
  while (r.remaining > 0 && outputs.length < count) {
    outputs.push(decodeOutputFields(r, version, tx?.outputs[outputs.length] ?? null));
    yield;
  }
  if (outputs.length !== count) refuse('Outputs provided does not match the number of outputs in transaction.');
  return outputs;
}
