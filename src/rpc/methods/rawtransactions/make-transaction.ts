import { MAX_SEQUENCE_NONFINAL, SEQUENCE_FINAL } from '../../../consensus/limits.ts';
import type { NetworkParams } from '../../../params/network-params.ts';
import { MAX_BIP125_RBF_SEQUENCE, signalsOptInRbf } from '../../../policy/rbf.ts';
import type { Txid } from '../../../primitives/hash.ts';
import type { Transaction, TxInput, TxOutput } from '../../../primitives/transaction.ts';
import { parseAddress } from '../../../script/address.ts';
import { Op } from '../../../script/opcodes.ts';
import { pushData } from '../../../script/script-builder.ts';
import { bytesToHex, concatBytes, hexToBytes, isHex } from '../../../util/bytes.ts';
import { EXAMPLE, example } from '../../engine/example.ts';
import { isObject, member, NumberText, type RpcObject, type RpcValue, typeName } from '../../engine/json.ts';
import {
  any,
  array,
  flagParam,
  integerParam,
  largeInteger,
  optional,
  readAmount,
  readHashValue,
  readInteger,
} from '../../engine/params.ts';
import { keyInText } from '../../engine/repeated-keys.ts';
import { rpcFail } from '../../engine/rpc-error.ts';
import { anyOf, arr, hashStr, hexStr, int, mapOf, maybe, num, obj, str } from '../../engine/schema.ts';

const MAX_LOCKTIME = 0xffff_ffff;
const MIN_VERSION = 1;
const MAX_VERSION = 3;
const DEFAULT_VERSION = 2;

/** Schema of outputs: a list of objects with one member each, or one object. */
export const outputsSchema = anyOf(
  arr(
    anyOf(
      mapOf('address', anyOf(num('coins'), str('coins as text'))),
      obj({ data: hexStr('bytes for an OP_RETURN output; at most one') }),
    ),
  ),
  mapOf('address, or data', anyOf(num('coins'), str('coins as text, or hex for data'))),
);

/** Description of an `outputs` argument. */
const OUTPUTS_NOTE = 'Outputs in their order; an address occurs once.';

export const outputsParam = any('outputs', {
  oneline: '[{"address":amount,...},{"data":"hex"},...]',
  schema: outputsSchema,
  note: OUTPUTS_NOTE,
});

/** Descriptions of a `locktime` and of a `version` argument. */
export const LOCKTIME_NOTE = 'Locktime of the transaction: a height below 500,000,000, else Unix seconds; 0 for none.';
export const VERSION_NOTE = 'Version of the transaction, 1 to 3; version 3 has the policy of TRUC (BIP-431).';

/** Parameters of the methods that make a transaction. */
export const TRANSACTION_PARAMS = [
  array('inputs', (value) => value, {
    oneline: '[{"txid":"hex","vout":n,"sequence":n},...]',
    schema: arr(
      obj({ txid: hashStr(), vout: int(), sequence: maybe(int('by default it follows replaceable and locktime')) }),
    ),
    note: 'Outputs to spend.',
  }),
  outputsParam,
  optional(largeInteger('locktime', { note: LOCKTIME_NOTE }), 0),
  optional(
    flagParam('replaceable', {
      note: 'Whether the sequence numbers signal replaceability (BIP-125). By default they do, unless an input has its own.',
    }),
    null,
  ),
  optional(integerParam('version', { unsigned: true, note: VERSION_NOTE }), DEFAULT_VERSION),
] as const;

/** Examples of the methods with `TRANSACTION_PARAMS`. */
export const TRANSACTION_EXAMPLES = [
  example([[{ txid: EXAMPLE.txid, vout: 0 }], [{ [EXAMPLE.address]: 0.1 }]]),
  example([[{ txid: EXAMPLE.txid, vout: 0 }], [{ data: '00010203' }], 0, false]),
];

export interface TransactionArguments {
  readonly inputs: readonly RpcValue[];
  readonly outputs: RpcValue;
  readonly locktime: number;
  /** Null means true, unless sequence numbers of inputs say otherwise. */
  readonly replaceable: boolean | null;
  readonly version: number;
}

/** Microseconds to parse an input or an output. */
const ITEM_US = 10;

/** Returns the microseconds that `makeTransaction` needs. */
export function makeTransactionUs({
  inputs,
  outputs: given,
}: Pick<TransactionArguments, 'inputs' | 'outputs'>): number {
  const { length } = Array.isArray(given) ? given : Object.keys(given ?? {});
  return (inputs.length + length) * ITEM_US;
}

/** Returns the unsigned transaction that the arguments describe. Throws RpcError with Core's texts. */
export function makeTransaction(args: TransactionArguments, params: Pick<NetworkParams, 'address'>): Transaction {
  const { locktime, version, replaceable } = args;
  if (locktime < 0 || locktime > MAX_LOCKTIME) rpcFail('invalidParameter', 'Invalid parameter, locktime out of range');
  if (version < MIN_VERSION || version > MAX_VERSION)
    rpcFail('invalidParameter', `Invalid parameter, version out of range(${MIN_VERSION}~${MAX_VERSION})`);
  const inputs = args.inputs.map((value) => readInput(value, defaultSequence(replaceable, locktime)));
  const tx = { version, inputs, outputs: readOutputs(args.outputs, params), locktime };
  if (replaceable && inputs.length > 0 && !signalsOptInRbf(tx))
    rpcFail('invalidParameter', 'Invalid parameter combination: Sequence number(s) contradict replaceable option');
  return tx;
}

function defaultSequence(replaceable: boolean | null, locktime: number): number {
  if (replaceable ?? true) return MAX_BIP125_RBF_SEQUENCE;
  // SEQUENCE_FINAL in every input would disable the locktime.
  return locktime > 0 ? MAX_SEQUENCE_NONFINAL : SEQUENCE_FINAL;
}

function readInput(value: RpcValue, ordinarySequence: number): TxInput {
  if (!isObject(value)) return wrongType(value, 'object');
  const txid = readHashValue<Txid>(member(value, 'txid'), 'txid');
  const index = member(value, 'vout');
  if (!(index instanceof NumberText)) return rpcFail('invalidParameter', 'Invalid parameter, missing vout key');
  const vout = readInteger(index);
  if (vout < 0) rpcFail('invalidParameter', 'Invalid parameter, vout cannot be negative');
  const given = member(value, 'sequence');
  const sequence = given instanceof NumberText ? largeInteger('sequence').read(given) : ordinarySequence;
  if (sequence < 0 || sequence > SEQUENCE_FINAL)
    rpcFail('invalidParameter', 'Invalid parameter, sequence number is out of range');
  return { prevout: { txid, vout }, scriptSig: new Uint8Array(0), sequence, witness: [] };
}

/** Returns the outputs in the given order. Throws RpcError with Core's texts. */
export function readOutputs(value: RpcValue, { address: format }: Pick<NetworkParams, 'address'>): TxOutput[] {
  const seen = new Set<string>();
  return keyedOutputs(value).map(([name, amount]) => {
    if (name === 'data') {
      if (seen.has(name)) rpcFail('invalidParameter', 'Invalid parameter, duplicate key: data');
      seen.add(name);
      return { value: 0n, scriptPubKey: concatBytes(Uint8Array.of(Op.OP_RETURN), pushData(readData(amount))) };
    }
    const parsed = parseAddress(name, format);
    const coins = readAmount(amount);
    if (!parsed.ok) return rpcFail('invalidAddressOrKey', `Invalid Bitcoin address: ${name}`);
    const script = bytesToHex(parsed.script);
    if (seen.has(script)) rpcFail('invalidParameter', `Invalid parameter, duplicated address: ${name}`);
    seen.add(script);
    return { value: coins, scriptPubKey: parsed.script };
  });
}

function keyedOutputs(value: RpcValue): [string, RpcValue][] {
  if (value === null) return rpcFail('invalidParameter', 'Invalid parameter, output argument must be non-null');
  if (isObject(value)) return Object.entries(value).map(([key, each]) => [keyInText(key), each]);
  if (!Array.isArray(value)) return wrongType(value, 'array');
  return (value as readonly RpcValue[]).map((pair) => {
    if (!isObject(pair))
      return rpcFail('invalidParameter', 'Invalid parameter, key-value pair not an object as expected');
    const entries = Object.entries(pair as RpcObject);
    if (entries.length !== 1)
      return rpcFail('invalidParameter', 'Invalid parameter, key-value pair must contain exactly one key');
    return entries[0]!;
  });
}

function readData(value: RpcValue): Uint8Array {
  const hex = typeof value === 'string' ? value : value instanceof NumberText ? value.text : value === true ? '1' : '';
  if (hex === '' || !isHex(hex)) return rpcFail('invalidParameter', `Data must be hexadecimal string (not '${hex}')`);
  return hexToBytes(hex);
}

function wrongType(value: RpcValue, expected: string): never {
  return rpcFail('type', `JSON value of type ${typeName(value)} is not of expected type ${expected}`);
}
