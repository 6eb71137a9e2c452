import { coins } from '../../../http/core-number.ts';
import { outpointKey } from '../../../primitives/outpoint.ts';
import {
  type TxInput,
  type TxOutput,
  transactionBytes,
  transactionFromBytes,
} from '../../../primitives/transaction.ts';
import { parseAddress } from '../../../script/address.ts';
import { SIGHASH_DEFAULT, sighashFromName } from '../../../script/sighash-type.ts';
import { scriptType } from '../../../script/templates.ts';
import { SigningData } from '../../../wallet/keys/signing-data.ts';
import { walletName, walletOf } from '../../engine/call-wallet.ts';
import { EXAMPLE, example } from '../../engine/example.ts';
import { member, type RpcObject, type RpcValue } from '../../engine/json.ts';
import { LongText, nodeMethod, type RpcMethod } from '../../engine/method.ts';
import { array, flagParam, integerParam, largeInteger, optional, options, textParam } from '../../engine/params.ts';
import { orFail, rpcFail } from '../../engine/rpc-error.ts';
import { hexStr, type Schema, str } from '../../engine/schema.ts';
import { LOCKTIME_NOTE, makeTransaction, outputsParam, VERSION_NOTE } from '../rawtransactions/make-transaction.ts';
import { previousOutputsParam, readPreviousOutput } from '../rawtransactions/previous-outputs.ts';
import { PROCESSED_PSBT, SIGNED } from '../rawtransactions/psbt-schemas.ts';
import { SIGHASH_NOTE } from '../rawtransactions/sign-methods.ts';
import { signedView } from '../rawtransactions/signed-view.ts';
import { readTransactionHex } from '../rawtransactions/transaction-hex.ts';
import { fundOptions, inputsSchema, psbtOptions } from './wallet-option-schemas.ts';
import { fundedPsbt, fundedTx } from './wallet-schemas.ts';
import {
  feePayers,
  fundRequest,
  outputNames,
  recipientsOf,
  rejectInputWeights,
  selectedInputs,
} from './wallet-spend-options.ts';

const NEEDS_INPUTS = 'TX decode failed. Make sure the tx has at least one input.';
const optionsParam = (members: Readonly<Record<string, Schema>>) =>
  optional(
    options('options', members, { oneline: 'options', note: 'Inputs, change and fee of the transaction.' }),
    {} as RpcObject,
  );

const derivationsParam = optional(
  flagParam('bip32derivs', { note: 'Whether the derivation paths of known keys (BIP-32) are added.' }),
  true,
);

function hashTypeOf(name: string | null): number | null {
  if (name === null) return null;
  return sighashFromName(name) ?? rpcFail('invalidParameter', `'${name}' is not a valid sighash parameter.`);
}

const fundrawtransaction = nodeMethod({
  name: 'fundrawtransaction',
  category: 'rawtransactions',
  help: 'Adds inputs of the wallet and a change output to a transaction, so that it covers its outputs and the fee. The new inputs are not signed.',
  params: [
    textParam('hexstring', { schema: hexStr(), note: 'Serialized transaction; it may have no inputs.' }),
    optionsParam(fundOptions),
    optional(
      flagParam('iswitness', {
        note: 'True if it is serialized with witnesses (BIP-144), false if without; both are tried by default.',
      }),
      null,
    ),
  ],
  result: fundedTx,
  examples: [example([EXAMPLE.transaction]), example([EXAMPLE.transaction, { fee_rate: 5, changePosition: 0 }])],
  scope: 'wallet.spend',
  async run(env, hex, given, isWitness) {
    const name = walletName(env);
    const forms = { witness: isWitness ?? true, plain: !(isWitness ?? false) };
    const tx = readTransactionHex(hex, 'TX decode failed', forms);
    const payers = feePayers(
      member(given, 'subtractFeeFromOutputs'),
      tx.outputs.map(() => ''),
    );
    const recipients = recipientsOf(tx.outputs, payers);
    const fund = fundRequest(given, recipients, { params: env.ctx.params, overrideLimits: true });
    const inputs = selectedInputs(tx.inputs, [], member(given, 'input_weights'));
    const request = {
      ...fund,
      inputs: inputs.map((input, i) => ({ ...input, ...givenParts(tx.inputs[i]) })),
      locktime: tx.locktime,
      version: tx.version,
    };
    const { raw, fee, changePosition } = orFail(
      await env.ctx.node().callUntil(env.signal, 'walletFund', name, request),
    );
    return { hex: raw.toHex(), fee: coins(fee), changepos: changePosition };
  },
});

/** Returns the sequence number and the signature data of an input that the transaction has already. */
function givenParts(input: TxInput | undefined) {
  if (!input) return { sequence: null };
  const { sequence, scriptSig, witness } = input;
  return { sequence, solution: { scriptSig, witness } };
}

const walletcreatefundedpsbt = nodeMethod({
  name: 'walletcreatefundedpsbt',
  category: 'wallet',
  help: 'Returns a PSBT for the given outputs, to which the wallet adds inputs and change. It is not signed.',
  params: [
    optional(
      array('inputs', (value) => value, {
        schema: inputsSchema,
        note: 'Coins to spend; the wallet selects them if empty.',
      }),
      [] as RpcValue[],
    ),
    outputsParam,
    optional(largeInteger('locktime', { note: LOCKTIME_NOTE }), 0),
    optionsParam(psbtOptions),
    derivationsParam,
    optional(integerParam('version', { unsigned: true, note: VERSION_NOTE }), 2),
    optional(
      integerParam('psbt_version', { unsigned: true, note: 'Version of the PSBT: 2 (BIP-370) or 0 (BIP-174).' }),
      2,
    ),
  ],
  result: fundedPsbt,
  examples: [
    example([[], [{ [EXAMPLE.address]: 0.1 }]]),
    example([[{ txid: EXAMPLE.txid, vout: 0 }], [{ [EXAMPLE.address]: 0.1 }], 0, { add_inputs: true, fee_rate: 5 }]),
  ],
  scope: 'wallet.spend',
  async run(env, given, outputs, locktime, settings, derivations, version, psbtVersion) {
    const name = walletName(env);
    const replaceable = (member(settings, 'replaceable') as boolean | null) ?? env.settings.wallet.replaceable;
    const tx = makeTransaction({ inputs: given, outputs, locktime, replaceable, version }, env.ctx.params);
    const payers = feePayers(member(settings, 'subtractFeeFromOutputs'), outputNames(outputs));
    rejectInputWeights(settings);
    const recipients = recipientsOf(tx.outputs, payers);
    const fund = fundRequest(settings, recipients, { params: env.ctx.params, overrideLimits: true });
    const addInputs = (member(settings, 'add_inputs') as boolean | null) ?? tx.inputs.length === 0;
    if (psbtVersion !== 0 && psbtVersion !== 2)
      return rpcFail('invalidParameter', 'The PSBT version can only be 2 or 0');
    const inputs = selectedInputs(tx.inputs, given, null);
    const request = { ...fund, inputs, addInputs, locktime: tx.locktime, version };
    const made = orFail(
      await env.ctx.node().callUntil(env.signal, 'walletCreatePsbt', name, request, psbtVersion as 0 | 2, derivations),
    );
    return { psbt: new LongText(made.psbt), fee: coins(made.fee), changepos: made.changePosition };
  },
});

const walletprocesspsbt = nodeMethod({
  name: 'walletprocesspsbt',
  category: 'wallet',
  help: 'Adds to a PSBT the outputs, scripts and keys that the wallet knows, and signs its inputs.',
  params: [
    textParam('psbt', { note: 'PSBT in Base64.' }),
    optional(
      flagParam('sign', { note: 'Whether inputs are signed; an encrypted wallet must be unlocked for that.' }),
      true,
    ),
    optional(textParam('sighashtype', { note: SIGHASH_NOTE }), null),
    derivationsParam,
    optional(flagParam('finalize', { note: 'Whether inputs with all signatures are finalized.' }), true),
  ],
  result: PROCESSED_PSBT,
  examples: [example([EXAMPLE.psbt]), example([EXAMPLE.psbt, false])],
  scope: 'wallet.spend',
  async run(env, psbt, sign, sighash, derivations, finalize) {
    const fill = { sign, derivations, sighashType: hashTypeOf(sighash), finalize };
    const made = orFail(await env.ctx.node().callUntil(env.signal, 'walletProcessPsbt', walletName(env), psbt, fill));
    return { psbt: new LongText(made.psbt), complete: made.complete, ...(made.raw && { hex: made.raw.toHex() }) };
  },
});

const signrawtransactionwithwallet = nodeMethod({
  name: 'signrawtransactionwithwallet',
  category: 'wallet',
  help: 'Signs the inputs of a transaction with the keys of the wallet. An encrypted wallet must be unlocked.',
  params: [
    textParam('hexstring', { schema: hexStr(), note: 'Serialized transaction.' }),
    optional(previousOutputsParam, [] as RpcValue[]),
    optional(textParam('sighashtype', { note: SIGHASH_NOTE }), null),
  ],
  result: SIGNED,
  examples: [example([EXAMPLE.transaction])],
  scope: 'wallet.spend',
  async run(env, hex, previous, sighash) {
    const name = walletName(env);
    const tx = readTransactionHex(hex, NEEDS_INPUTS);
    const known = new Map<string, TxOutput | null>();
    const data = new SigningData();
    for (const value of previous) {
      const { outpoint, output } = readPreviousOutput(value, known, data, { requireScripts: false });
      known.set(outpointKey(outpoint), output);
    }
    const outputs = tx.inputs.map(({ prevout }) => known.get(outpointKey(prevout)) ?? null);
    const scripts = [...data.scripts.values()];
    const hashType = hashTypeOf(sighash) ?? SIGHASH_DEFAULT;
    const raw = transactionBytes(tx);
    const node = env.ctx.node();
    const signed = orFail(
      await node.callUntil(env.signal, 'walletSignTransaction', name, raw, outputs, scripts, hashType),
    );
    const errors = signed.errors.map(({ index, error }) => [index, error] as const);
    return signedView(transactionFromBytes(signed.raw), errors, outputs);
  },
});

const signmessage = nodeMethod({
  name: 'signmessage',
  category: 'wallet',
  help: 'Signs a message with the key of an address. An encrypted wallet must be unlocked.',
  params: [
    textParam('address', { note: 'P2PKH address of the wallet.' }),
    textParam('message', { note: 'Message to sign.' }),
  ],
  result: str('signature in Base64'),
  examples: [example([EXAMPLE.legacyAddress, 'my message'])],
  scope: 'wallet.spend',
  async run(env, address, message) {
    const { name, unlockedUntil } = walletOf(env).state;
    const parsed = parseAddress(address, env.ctx.params.address);
    if (!parsed.ok && unlockedUntil === 0)
      return rpcFail('unlockNeeded', 'Error: Please enter the wallet passphrase with walletpassphrase first.');
    if (!parsed.ok) return rpcFail('invalidAddressOrKey', 'Invalid address');
    const { type, solutions } = scriptType(parsed.script);
    if (type !== 'pubkeyhash') return rpcFail('type', 'Address does not refer to key');
    return orFail(await env.ctx.node().call('walletSignMessage', name, parsed.script, solutions[0]!, message));
  },
});

export const walletPsbtMethods: readonly RpcMethod[] = [
  fundrawtransaction,
  walletcreatefundedpsbt,
  walletprocesspsbt,
  signrawtransactionwithwallet,
  signmessage,
];
