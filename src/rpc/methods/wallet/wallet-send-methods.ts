import { coins } from '../../../http/core-number.ts';
import type { Txid } from '../../../primitives/hash.ts';
import type { FinishedView } from '../../../wallet/spend/send.ts';
import { ORDINARY_SPEND, type SpendRequest } from '../../../wallet/spend/spend-request.ts';
import { avoidReuseOf, walletName, walletOf } from '../../engine/call-wallet.ts';
import { EXAMPLE, example } from '../../engine/example.ts';
import { member, NumberText, type RpcObject, type RpcValue } from '../../engine/json.ts';
import { LongText, type MainThreadEnv, nodeMethod, type RpcMethod } from '../../engine/method.ts';
import {
  any,
  array,
  checkMembers,
  flagParam,
  hashParam,
  integerParam,
  object,
  optional,
  options,
  type Param,
  readInteger,
  textParam,
} from '../../engine/params.ts';
import { orFail, rpcFail } from '../../engine/rpc-error.ts';
import { arr, hashStr, obj, type Schema, str } from '../../engine/schema.ts';
import { makeTransaction, outputsParam, readOutputs, VERSION_NOTE } from '../rawtransactions/make-transaction.ts';
import {
  amountSchema,
  amountsSchema,
  bumpOptions,
  FEERATE_NOTE,
  feerateSchema,
  MODE_NOTE,
  psbtBumpOptions,
  REPLACEABLE_NOTE,
  REQUEST_ID_NOTE,
  recipientsSchema,
  sendAllOptions,
  sendOptions,
  TARGET_NOTE,
  targetSchema,
} from './wallet-option-schemas.ts';
import { bumpMembers, sentMoney, sentTx } from './wallet-schemas.ts';
import {
  feePayers,
  fundRequest,
  mergedFeeOptions,
  outputNames,
  readFeeOptions,
  recipientsOf,
  rejectInputWeights,
  rejectRenamedOptions,
  selectedInputs,
} from './wallet-spend-options.ts';

const DEFAULT_VERSION = 2;
const targetParam = optional(
  { ...any('conf_target', { schema: targetSchema, note: TARGET_NOTE }), type: 'number' } satisfies Param<RpcValue>,
  null,
);
const modeParam = optional(textParam('estimate_mode', { note: MODE_NOTE }), null);
const feerateParam = optional(any('fee_rate', { schema: feerateSchema, note: FEERATE_NOTE }), null);
const feeParams = [targetParam, modeParam, feerateParam] as const;
const requestParam = optional(textParam('request_id', { note: REQUEST_ID_NOTE }), null);
const verboseParam = optional(
  flagParam('verbose', { note: 'Whether the result is an object with the source of the feerate.' }),
  false,
);
const replaceableParam = optional(flagParam('replaceable', { note: REPLACEABLE_NOTE }), null);
const commentParam = optional(
  textParam('comment', { note: 'Comment that the wallet stores, at most 1,000 characters.' }),
  '',
);

const sendtoaddress = nodeMethod({
  name: 'sendtoaddress',
  category: 'wallet',
  help: 'Sends coins to an address. With a request_id the call can be repeated safely.',
  params: [
    textParam('address', { note: 'Address to pay.' }),
    any('amount', { schema: amountSchema, note: 'Amount to send.' }),
    commentParam,
    optional(
      textParam('comment_to', { note: 'Name of the recipient, which the wallet stores; at most 1,000 characters.' }),
      '',
    ),
    optional(
      flagParam('subtractfeefromamount', { note: 'Whether the recipient receives the amount less the fee.' }),
      false,
    ),
    replaceableParam,
    targetParam,
    modeParam,
    optional(
      flagParam('avoid_reuse', {
        note: 'Whether coins on used addresses are left out. True is possible and the default for a wallet with the flag avoid_reuse.',
      }),
      null,
    ),
    feerateParam,
    verboseParam,
    requestParam,
  ],
  result: sentMoney,
  examples: [
    example([EXAMPLE.address, 0.1]),
    example({ address: EXAMPLE.address, amount: '0.1', fee_rate: 5, request_id: 'invoice-1042' }),
  ],
  scope: 'wallet.spend',
  async run(
    env,
    address,
    amount,
    comment,
    commentTo,
    subtractFee,
    replaceable,
    target,
    mode,
    avoidReuse,
    feerate,
    verbose,
    requestId,
  ) {
    const wallet = walletOf(env);
    const fee = readFeeOptions(target, mode, feerate);
    const outputs = readOutputs({ [address]: amount }, env.ctx.params);
    const recipients = recipientsOf(outputs, new Set(subtractFee ? [0] : []));
    const reuse = avoidReuseOf(wallet, avoidReuse);
    const request = { ...ORDINARY_SPEND, recipients, fee, replaceable, avoidReuse: reuse };
    return sendMoney(env, request, { comment, commentTo, requestId }, verbose);
  },
});

const sendmany = nodeMethod({
  name: 'sendmany',
  category: 'wallet',
  help: 'Sends coins to several addresses in one transaction. With a request_id the call can be repeated safely.',
  params: [
    optional(textParam('dummy', { placeholder: true, note: 'Must be empty or null; kept for older clients.' }), ''),
    object('amounts', { schema: amountsSchema, note: 'Amounts to send, by address.' }),
    optional(integerParam('minconf', { placeholder: true, note: 'Has no effect; kept for older clients.' }), 0),
    commentParam,
    optional(
      array('subtractfeefrom', (value) => value, {
        schema: arr(str('address')),
        note: 'Recipients that pay the fee in equal parts; the sender pays it by default.',
      }),
      null,
    ),
    replaceableParam,
    ...feeParams,
    verboseParam,
    requestParam,
  ],
  result: sentMoney,
  examples: [
    example(['', { [EXAMPLE.address]: 0.1, [EXAMPLE.otherAddress]: 0.2 }]),
    example({ amounts: { [EXAMPLE.address]: 0.1 }, subtractfeefrom: [EXAMPLE.address] }),
  ],
  scope: 'wallet.spend',
  run(env, dummy, amounts, _minDepth, comment, payers, replaceable, target, mode, feerate, verbose, requestId) {
    walletOf(env);
    if (dummy !== '') rpcFail('invalidParameter', 'Dummy value must be set to ""');
    const fee = readFeeOptions(target, mode, feerate);
    const outputs = readOutputs(amounts, env.ctx.params);
    const recipients = recipientsOf(outputs, feePayers(payers, outputNames(amounts)));
    const request = { ...ORDINARY_SPEND, recipients, fee, replaceable };
    return sendMoney(env, request, { comment, commentTo: '', requestId }, verbose);
  },
});

const MAX_REQUEST_ID = 256;

/** Throws RpcError for an invalid id. The wallet stores ids permanently. Clients often send '' when they mean no id. */
function checkRequestId(id: string | null): string | null {
  if (id !== null && (id === '' || Buffer.byteLength(id) > MAX_REQUEST_ID))
    rpcFail('invalidParameter', `Invalid parameter, request_id must have 1 to ${MAX_REQUEST_ID} bytes`);
  return id;
}

async function sendMoney(
  env: MainThreadEnv,
  request: SpendRequest,
  notes: { comment: string; commentTo: string; requestId: string | null },
  verbose: boolean,
) {
  const requestId = checkRequestId(notes.requestId);
  const texts = { comment: notes.comment || null, commentTo: notes.commentTo || null, requestId };
  const { txid, feeReason } = orFail(await env.ctx.node().call('walletSendMoney', walletName(env), request, texts));
  if (!verbose) return txid;
  return { txid, ...(feeReason !== null && { fee_reason: feeReason }) };
}

const send = nodeMethod({
  name: 'send',
  category: 'wallet',
  help: 'Sends coins to one or more outputs, or returns the transaction as a PSBT. With a request_id the call can be repeated safely.',
  params: [
    outputsParam,
    ...feeParams,
    optional(
      options('options', sendOptions, { oneline: 'options', note: 'Inputs, change and fee of the transaction.' }),
      {} as RpcObject,
    ),
    optional(integerParam('version', { unsigned: true, note: VERSION_NOTE }), DEFAULT_VERSION),
  ],
  result: sentTx,
  examples: [
    example([[{ [EXAMPLE.address]: 0.1 }]]),
    example([[{ [EXAMPLE.address]: 0.1 }], null, 'unset', 5, { psbt: true }]),
    example({ outputs: [{ [EXAMPLE.address]: 0.1 }], conf_target: 2, estimate_mode: 'conservative' }),
  ],
  scope: 'wallet.spend',
  async run(env, outputs, target, mode, feerate, given, version) {
    const merged = mergedFeeOptions(given, target, mode, feerate);
    rejectRenamedOptions(merged);
    rejectInputWeights(merged);
    const request = spendOf(env, outputs, merged, version);
    const requestId = checkRequestId(member(given, 'request_id') as string | null);
    const finish = finishOf(merged);
    const name = walletName(env);
    return sentView(orFail(await env.ctx.node().call('walletSend', name, request, finish, requestId)));
  },
});

/** Returns the spend request of outputs and options, whose inputs are among the options. */
function spendOf(env: MainThreadEnv, outputs: RpcValue, merged: RpcObject, version: number): SpendRequest {
  const { params } = env.ctx;
  const names = outputNames(outputs);
  const payers = feePayers(member(merged, 'subtract_fee_from_outputs'), names);
  const given = inputsOf(merged);
  const tx = madeTransaction(env, given, outputs, merged, version);
  const fund = fundRequest(merged, recipientsOf(tx.outputs, payers), { params, overrideLimits: false });
  const addInputs = (member(merged, 'add_inputs') as boolean | null) ?? tx.inputs.length === 0;
  const locktime = member(merged, 'locktime') === null ? null : tx.locktime;
  const inputs = selectedInputs(tx.inputs, given, null);
  return { ...fund, inputs, addInputs, locktime, version };
}

function inputsOf(merged: RpcObject): readonly RpcValue[] {
  return (member(merged, 'inputs') as readonly RpcValue[] | null) ?? [];
}

function madeTransaction(
  { ctx, settings }: MainThreadEnv,
  inputs: readonly RpcValue[],
  outputs: RpcValue,
  merged: RpcObject,
  version: number,
) {
  const locktime = member(merged, 'locktime');
  const replaceable = (member(merged, 'replaceable') as boolean | null) ?? settings.wallet.replaceable;
  return makeTransaction(
    { inputs, outputs, locktime: locktime === null ? 0 : Number((locktime as NumberText).text), replaceable, version },
    ctx.params,
  );
}

function finishOf(merged: RpcObject) {
  return {
    psbt: member(merged, 'psbt') === true,
    addToWallet: (member(merged, 'add_to_wallet') as boolean | null) ?? true,
  };
}

function sentView({ psbt, txid, raw, complete }: FinishedView) {
  return {
    ...(psbt !== null && { psbt: new LongText(psbt) }),
    ...(txid !== null && { txid }),
    ...(raw !== null && { hex: raw.toHex() }),
    complete,
  };
}

const sendall = nodeMethod({
  name: 'sendall',
  category: 'wallet',
  help: 'Sends all coins of the wallet, or all of the given inputs, without change.',
  params: [
    array('recipients', (value) => value, {
      schema: recipientsSchema,
      note: 'Recipients, at least one of them without an amount: such addresses share what is left.',
    }),
    ...feeParams,
    optional(
      options('options', sendAllOptions, { oneline: 'options', note: 'Inputs and fee of the transaction.' }),
      {} as RpcObject,
    ),
  ],
  result: sentTx,
  examples: [
    example([[EXAMPLE.address]]),
    example([[{ [EXAMPLE.address]: 0.1 }, EXAMPLE.otherAddress], null, 'unset', 2]),
  ],
  scope: 'wallet.spend',
  async run(env, recipients, target, mode, feerate, given) {
    const merged = mergedFeeOptions(given, target, mode, feerate);
    rejectRenamedOptions(merged);
    const sharers = recipients.flatMap((value, i) => (typeof value === 'string' ? i : []));
    if (member(merged, 'request_id') !== null)
      rpcFail('invalidParameter', 'request_id cannot be given where everything is sent');
    if (sharers.length === 0)
      rpcFail('invalidParameter', 'Must provide at least one address without a specified amount');
    const pairs = recipients.map((value) => (typeof value === 'string' ? { [value]: new NumberText('0') } : value));
    // Options of sendall only, which `spendOf` would reject.
    const { send_max: sendMax = null, version: versionGiven = null, ...common } = merged;
    checkMembers({ send_max: sendMax }, { send_max: 'bool' });
    const version = versionGiven === null ? DEFAULT_VERSION : readInteger(versionGiven);
    const depth = member(merged, 'minconf');
    if (depth instanceof NumberText && readInteger(depth) < 0)
      rpcFail('invalidParameter', `Invalid minconf (minconf cannot be negative): ${readInteger(depth)}`);
    const request = spendOf(env, pairs, common, version);
    const onlyWorthwhile = sendMax === true;
    if (request.inputs.length > 0 && sendMax !== null)
      rpcFail('invalidParameter', 'Cannot combine send_max with specific inputs.');
    if (request.inputs.length > 0 && (member(merged, 'minconf') !== null || member(merged, 'maxconf') !== null))
      rpcFail('invalidParameter', 'Cannot combine minconf or maxconf with specific inputs.');
    const everything = { ...request, sharers, onlyWorthwhile, addresses: outputNames(pairs) };
    const node = env.ctx.node();
    return sentView(orFail(await node.call('walletSendAll', walletName(env), everything, finishOf(merged))));
  },
});

const BUMP_OPTIONS = {
  confTarget: 'number',
  conf_target: 'number',
  replaceable: 'bool',
  estimate_mode: 'string',
  original_change_index: 'number',
  psbt_version: 'number',
} as const;

const bumpParams = (members: Readonly<Record<string, Schema>>) =>
  [
    hashParam<Txid>('txid', 'txid', { note: 'Unconfirmed transaction of the wallet.' }),
    optional(
      options('options', members, { oneline: 'options', note: 'Fee and outputs of the replacement.' }),
      {} as RpcObject,
    ),
  ] as const;

const BUMP_EXAMPLES = [example([EXAMPLE.txid]), example([EXAMPLE.txid, { fee_rate: 20 }])];

const bumpfee = nodeMethod({
  name: 'bumpfee',
  category: 'wallet',
  help: 'Replaces an unconfirmed transaction of the wallet by one with a higher fee, and sends it.',
  params: bumpParams(bumpOptions),
  examples: BUMP_EXAMPLES,
  result: obj({ txid: hashStr('id of the transaction'), ...bumpMembers }),
  scope: 'wallet.spend',
  run: (env, txid, given) => bump(env, txid, given, false),
});

const psbtbumpfee = nodeMethod({
  name: 'psbtbumpfee',
  category: 'wallet',
  help: 'Returns a PSBT that replaces an unconfirmed transaction of the wallet by one with a higher fee.',
  params: bumpParams(psbtBumpOptions),
  examples: BUMP_EXAMPLES,
  result: obj({ psbt: str('in Base64'), ...bumpMembers }),
  scope: 'wallet.spend',
  run: (env, txid, given) => bump(env, txid, given, true),
});

async function bump(env: MainThreadEnv, txid: Txid, given: RpcObject, asPsbt: boolean) {
  const name = walletName(env);
  const { fee_rate: feerate = null, outputs = null, ...typed } = given;
  checkMembers(typed, BUMP_OPTIONS);
  if (member(typed, 'confTarget') !== null && member(typed, 'conf_target') !== null)
    rpcFail(
      'invalidParameter',
      'confTarget and conf_target options should not both be set. Use conf_target (confTarget is deprecated).',
    );
  const target = member(typed, 'confTarget') ?? member(typed, 'conf_target');
  const fee = readFeeOptions(target, member(typed, 'estimate_mode'), feerate);
  if (Array.isArray(outputs) && outputs.length === 0)
    rpcFail('invalidParameter', 'Invalid parameter, output argument cannot be an empty array');
  const index = member(typed, 'original_change_index');
  const version = member(typed, 'psbt_version');
  const psbtVersion = version === null ? 2 : readInteger(version);
  if (psbtVersion !== 0 && psbtVersion !== 2) return rpcFail('invalidParameter', 'The PSBT version can only be 2 or 0');
  const wanted = {
    fee,
    replaceable: (member(typed, 'replaceable') as boolean | null) ?? true,
    outputs: outputs === null ? [] : readOutputs(outputs, env.ctx.params),
    changeIndex: index === null ? null : readInteger(index, true),
    psbtVersion: asPsbt ? (psbtVersion as 0 | 2) : null,
  };
  const made = orFail(await env.ctx.node().call('walletBump', name, txid, wanted));
  return {
    ...(made.txid !== null && { txid: made.txid }),
    ...(made.psbt !== null && { psbt: new LongText(made.psbt) }),
    origfee: coins(made.oldFee),
    fee: coins(made.newFee),
    errors: [],
  };
}

export const walletSendMethods: readonly RpcMethod[] = [sendtoaddress, sendmany, send, sendall, bumpfee, psbtbumpfee];
