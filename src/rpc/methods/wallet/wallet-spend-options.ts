import type { NetworkParams } from '../../../params/network-params.ts';
import type { Amount } from '../../../primitives/amount.ts';
import { type Outpoint, outpointKey } from '../../../primitives/outpoint.ts';
import type { TxInput, TxOutput } from '../../../primitives/transaction.ts';
import { parseAddress } from '../../../script/address.ts';
import type { Recipient } from '../../../wallet/coin-selection/build-transaction.ts';
import type { KeyEncoding } from '../../../wallet/descriptor/descriptor.ts';
import { isAddressType } from '../../../wallet/scripts/own-descriptors.ts';
import {
  type FeeOptions,
  type NamedInput,
  ORDINARY_SPEND,
  type SpendRequest,
} from '../../../wallet/spend/spend-request.ts';
import { isObject, member, NumberText, type RpcObject, type RpcValue, typeName } from '../../engine/json.ts';
import { checkMembers, readAmount, readHashValue, readInteger, readString } from '../../engine/params.ts';
import { keyInText } from '../../engine/repeated-keys.ts';
import { rpcFail } from '../../engine/rpc-error.ts';
import { checkMode, checkTarget } from '../util/fee-methods.ts';
import { readSolvingData } from '../util/solving-data.ts';

type Format = Pick<NetworkParams, 'address'> & KeyEncoding;

/** Options of the methods that fund transactions with their JSON types; null if the type is checked later. */
const FUND_OPTIONS: Readonly<Record<string, string | null>> = {
  add_inputs: 'bool',
  include_unsafe: 'bool',
  add_to_wallet: 'bool',
  changeAddress: 'string',
  change_address: 'string',
  changePosition: 'number',
  change_position: 'number',
  change_type: 'string',
  includeWatching: 'bool',
  include_watching: 'bool',
  inputs: 'array',
  lockUnspents: 'bool',
  lock_unspents: 'bool',
  locktime: 'number',
  fee_rate: null,
  feeRate: null,
  psbt: 'bool',
  solving_data: 'object',
  subtractFeeFromOutputs: 'array',
  subtract_fee_from_outputs: 'array',
  replaceable: 'bool',
  conf_target: 'number',
  estimate_mode: 'string',
  minconf: 'number',
  maxconf: 'number',
  input_weights: 'array',
  max_tx_weight: 'number',
  request_id: 'string',
};

/** Throws RpcError for an unknown option, or for one of a wrong type. */
function checkOptions(options: RpcObject): void {
  const known = Object.entries(FUND_OPTIONS).filter(([key]) => Object.hasOwn(options, key));
  for (const key of Object.keys(options))
    if (!Object.hasOwn(FUND_OPTIONS, keyInText(key))) rpcFail('type', `Unexpected key ${key}`);
  const typed = known.filter(([, type]) => type !== null) as [string, string][];
  checkMembers(Object.fromEntries(typed.map(([key]) => [key, options[key]!])), Object.fromEntries(typed));
}

/** Parses satoshis per virtual byte with up to three decimals into satoshis per 1,000. Throws RpcError. */
function readSatPerVb(value: RpcValue): Amount {
  const scaled = readAmount(value);
  return scaled % 100_000n === 0n ? scaled / 100_000n : rpcFail('type', 'Invalid amount');
}

/** Parses the fee arguments of a call. Core's SetFeeEstimateMode. Throws RpcError. */
export function readFeeOptions(
  target: RpcValue,
  mode: RpcValue,
  feerate: RpcValue,
  overrideLimits = false,
): FeeOptions {
  const name = mode === null ? null : readString(mode);
  if (feerate !== null) {
    if (target !== null)
      rpcFail(
        'invalidParameter',
        'Cannot specify both conf_target and fee_rate. Please provide either a confirmation target in blocks for automatic fee estimation, or an explicit fee rate.',
      );
    if (name !== null && name !== 'unset')
      rpcFail('invalidParameter', 'Cannot specify both estimate_mode and fee_rate');
    return { feerate: readSatPerVb(feerate), overrideLimits, target: null, mode: 'unset' };
  }
  if (name !== null) checkMode(name);
  const blocks = target === null ? null : readInteger(target);
  if (blocks !== null) checkTarget(blocks);
  const requestedMode = (name?.toLowerCase() ?? 'unset') as FeeOptions['mode'];
  return { feerate: null, overrideLimits: false, target: blocks, mode: requestedMode };
}

/** Merges the fee arguments of a call into its options. Core's InterpretFeeEstimationInstructions. Throws RpcError. */
export function mergedFeeOptions(options: RpcObject, target: RpcValue, mode: RpcValue, feerate: RpcValue): RpcObject {
  const has = (key: string) => member(options, key) !== null;
  if ((has('conf_target') || has('estimate_mode')) && (target !== null || mode !== null))
    rpcFail(
      'invalidParameter',
      'Pass conf_target and estimate_mode either as arguments or in the options object, but not both',
    );
  if (has('fee_rate') && feerate !== null)
    rpcFail('invalidParameter', 'Pass the fee_rate either as an argument, or in the options object, but not both');
  const merged: Record<string, RpcValue> = { ...options };
  for (const [key, value] of [
    ['conf_target', target],
    ['estimate_mode', mode],
    ['fee_rate', feerate],
  ] as const)
    if (value !== null) merged[key] = value;
  const requestedMode = member(merged, 'estimate_mode');
  if (member(merged, 'conf_target') !== null && (requestedMode === null || requestedMode === 'unset'))
    rpcFail('invalidParameter', 'Specify estimate_mode');
  return merged;
}

const OUTDATED = [
  ['feeRate', 'Use fee_rate (sat/vB) instead of feeRate'],
  ['changeAddress', 'Use change_address instead of changeAddress'],
  ['changePosition', 'Use change_position instead of changePosition'],
  ['lockUnspents', 'Use lock_unspents instead of lockUnspents'],
  ['subtractFeeFromOutputs', 'Use subtract_fee_from_outputs instead of subtractFeeFromOutputs'],
] as const;

export function rejectRenamedOptions(options: RpcObject): void {
  for (const [key, text] of OUTDATED) if (Object.hasOwn(options, key)) rpcFail('invalidParameter', text);
}

/** Throws RpcError for `input_weights` in methods whose inputs have a `weight` each. */
export function rejectInputWeights(options: RpcObject): void {
  if (Object.hasOwn(options, 'input_weights'))
    rpcFail('invalidParameter', 'Input weights should be specified in inputs rather than in options.');
}

/** Returns the indexes of the recipients that pay the fee, given by index or by address. Throws RpcError. */
export function feePayers(given: RpcValue, names: readonly string[]): ReadonlySet<number> {
  const payers = new Set<number>();
  const prefix = "Invalid parameter 'subtract fee from output',";
  for (const value of (given ?? []) as readonly RpcValue[]) {
    let position: number;
    if (typeof value === 'string') {
      position = names.indexOf(value);
      if (position < 0) rpcFail('invalidParameter', `${prefix} destination ${value} not found in tx outputs`);
    } else if (value instanceof NumberText) position = readInteger(value);
    else return rpcFail('invalidParameter', `${prefix} invalid value type: ${typeName(value)}`);
    if (payers.has(position)) rpcFail('invalidParameter', `${prefix} duplicated position: ${position}`);
    if (position < 0) rpcFail('invalidParameter', `${prefix} negative position: ${position}`);
    if (position >= names.length) rpcFail('invalidParameter', `${prefix} position too large: ${position}`);
    payers.add(position);
  }
  return payers;
}

export function recipientsOf(outputs: readonly TxOutput[], payers: ReadonlySet<number>): Recipient[] {
  return outputs.map((output, i) => ({ ...output, subtractFee: payers.has(i) }));
}

/** Returns the names of outputs in their order: addresses, or `data`. */
export function outputNames(outputs: RpcValue): string[] {
  if (isObject(outputs)) return Object.keys(outputs);
  return Array.isArray(outputs) ? outputs.flatMap((pair) => (isObject(pair) ? Object.keys(pair) : [])) : [];
}

/**
 * Returns the inputs of the caller. `sequence` is null unless the caller gave one. As in Core, an output that `weights`
 * alone names is an input as well.
 */
export function selectedInputs(
  inputs: readonly TxInput[],
  given: readonly RpcValue[],
  weights: RpcValue,
): NamedInput[] {
  const known = readWeights(weights);
  const named = inputs.map(({ prevout, sequence }, i) => {
    const value = given[i];
    const own = isObject(value) ? member(value, 'weight') : null;
    const weight = own !== null ? checkedWeight(readInteger(own)) : (known.get(outpointKey(prevout))?.weight ?? null);
    const chosen = isObject(value) && member(value, 'sequence') instanceof NumberText;
    return { outpoint: prevout, sequence: chosen ? sequence : null, weight };
  });
  for (const { prevout } of inputs) known.delete(outpointKey(prevout));
  for (const { outpoint, weight } of known.values()) named.push({ outpoint, sequence: null, weight });
  return named;
}

const MIN_INPUT_WEIGHT = 165;
const MAX_INPUT_WEIGHT = 400_000;

function readWeights(given: RpcValue): Map<string, { outpoint: Outpoint; weight: number }> {
  const weights = new Map<string, { outpoint: Outpoint; weight: number }>();
  for (const value of (given ?? []) as readonly RpcValue[]) {
    if (!isObject(value))
      return rpcFail('type', `JSON value of type ${typeName(value)} is not of expected type object`);
    const txid = readHashValue<Outpoint['txid']>(member(value, 'txid'), 'txid');
    const vout = member(value, 'vout');
    if (!(vout instanceof NumberText)) rpcFail('invalidParameter', 'Invalid parameter, missing vout key');
    const index = readInteger(vout);
    if (index < 0) rpcFail('invalidParameter', 'Invalid parameter, vout cannot be negative');
    const weight = member(value, 'weight');
    if (!(weight instanceof NumberText)) rpcFail('invalidParameter', 'Invalid parameter, missing weight key');
    const outpoint = { txid, vout: index };
    weights.set(outpointKey(outpoint), { outpoint, weight: checkedWeight(readInteger(weight)) });
  }
  return weights;
}

function checkedWeight(weight: number): number {
  if (weight < MIN_INPUT_WEIGHT)
    rpcFail(
      'invalidParameter',
      `Invalid parameter, weight cannot be less than ${MIN_INPUT_WEIGHT} (41 bytes (size of outpoint + sequence + empty scriptSig) * 4 (witness scaling factor)) + 1 (empty witness)`,
    );
  if (weight > MAX_INPUT_WEIGHT)
    rpcFail(
      'invalidParameter',
      'Invalid parameter, weight cannot be greater than the maximum standard tx weight of 400000',
    );
  return weight;
}

/** Returns the part of a spend request that comes from the options. Core's FundTransaction. Throws RpcError. */
export function fundRequest(
  options: RpcObject,
  recipients: readonly Recipient[],
  { params, overrideLimits }: { readonly params: Format; readonly overrideLimits: boolean },
): Omit<SpendRequest, 'inputs' | 'version'> {
  checkOptions(options);
  const get = (...keys: string[]) => keys.map((key) => member(options, key)).find((value) => value !== null) ?? null;
  const numberOf = (...keys: string[]) => {
    const value = get(...keys);
    return value === null ? null : readInteger(value);
  };
  const changeAddress = get('change_address', 'changeAddress');
  const parsed = changeAddress === null ? null : parseAddress(changeAddress as string, params.address);
  if (parsed && !parsed.ok) rpcFail('invalidAddressOrKey', 'Change address must be a valid bitcoin address');
  const changePosition = numberOf('change_position', 'changePosition');
  if (changePosition !== null && (changePosition < 0 || changePosition > recipients.length))
    rpcFail('invalidParameter', 'changePosition out of bounds');
  // As in Core, null is no change type, whereas a null of most other options counts as absent.
  if (Object.hasOwn(options, 'change_type') && get('change_type') === null)
    rpcFail('type', 'JSON value of type null is not of expected type string');
  const changeType = get('change_type') as string | null;
  if (changeType !== null && parsed)
    rpcFail('invalidParameter', 'Cannot specify both change address and address type options');
  if (changeType !== null && !isAddressType(changeType))
    rpcFail('invalidAddressOrKey', `Unknown change type '${changeType}'`);
  const minDepth = numberOf('minconf') ?? ORDINARY_SPEND.minDepth;
  if (minDepth < 0) rpcFail('invalidParameter', 'Negative minconf');
  const maxDepth = numberOf('maxconf') ?? ORDINARY_SPEND.maxDepth;
  if (maxDepth < minDepth)
    rpcFail('invalidParameter', `maxconf can't be lower than minconf: ${maxDepth} < ${minDepth}`);
  if (recipients.length === 0 && get('changePosition', 'change_position') === null && get('inputs') === null)
    rpcFail('invalidParameter', 'TX must have at least one output');
  return {
    ...ORDINARY_SPEND,
    recipients,
    addInputs: (get('add_inputs') as boolean | null) ?? true,
    fee: fundFee(options, overrideLimits),
    replaceable: get('replaceable') as boolean | null,
    changeScript: parsed?.ok ? parsed.script : null,
    changeType,
    changePosition,
    minDepth,
    maxDepth,
    includeUnsafe: get('include_unsafe') === true,
    maxTxWeight: numberOf('max_tx_weight'),
    lockInputs: get('lock_unspents', 'lockUnspents') === true,
    solvingData: readSolvingData(get('solving_data'), params),
  };
}

function fundFee(options: RpcObject, overrideLimits: boolean): FeeOptions {
  const [target, mode, feerate, outdated] = ['conf_target', 'estimate_mode', 'fee_rate', 'feeRate'].map((key) =>
    member(options, key),
  ) as [RpcValue, RpcValue, RpcValue, RpcValue];
  if (outdated === null) return readFeeOptions(target, mode, feerate, overrideLimits);
  if (feerate !== null) rpcFail('invalidParameter', 'Cannot specify both fee_rate (sat/vB) and feeRate (BTC/kvB)');
  if (target !== null)
    rpcFail(
      'invalidParameter',
      'Cannot specify both conf_target and feeRate. Please provide either a confirmation target in blocks for automatic fee estimation, or an explicit fee rate.',
    );
  if (mode !== null) rpcFail('invalidParameter', 'Cannot specify both estimate_mode and feeRate');
  return { feerate: readAmount(outdated), overrideLimits: true, target: null, mode: 'unset' };
}
