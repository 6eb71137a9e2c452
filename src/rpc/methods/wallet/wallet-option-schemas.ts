import {
  anyOf,
  arr,
  bool,
  hashStr,
  hexStr,
  int,
  mapOf,
  maybe,
  noted,
  num,
  obj,
  type Schema,
  str,
} from '../../engine/schema.ts';
import { outputsSchema } from '../rawtransactions/make-transaction.ts';

/** Schemas of the arguments of wallet methods that spend. */

export const amountSchema = anyOf(num('coins'), str('coins as text'));
export const feerateSchema = anyOf(num('satoshis per virtual byte'), str('satoshis per virtual byte, as text'));

/** Descriptions of arguments that several methods share. */
export const TARGET_NOTE = 'Target of the fee estimate in blocks, 1 to 1008; 6 by default.';
export const MODE_NOTE =
  'Mode of the fee estimate: economical, conservative or unset. unset, the default, means economical for a replaceable transaction and conservative otherwise.';
export const FEERATE_NOTE = 'Feerate of the transaction instead of an estimate, with up to three decimals.';
export const REPLACEABLE_NOTE = 'Whether the transaction signals that it can be replaced (BIP-125); true by default.';
export const REQUEST_ID_NOTE =
  'Id of the payment, 1 to 256 bytes, which the wallet stores. A repeated call with the same id and payment sends nothing and returns the first txid.';

export const targetSchema = int('blocks, 1 to 1008; 6 by default');
export const recipientsSchema = arr(
  anyOf(str('address that receives an equal share of the rest'), mapOf('address', amountSchema)),
);
export const amountsSchema = mapOf('address', amountSchema);

const outpoint = { txid: hashStr(), vout: int() };
const sequence = maybe(int('by default it follows replaceable and locktime'));

const weight = int('weight of the signed input, for one that the wallet cannot sign');

/** Inputs that the caller selected. */
export const inputsSchema = arr(obj({ ...outpoint, sequence, weight: maybe(weight) }));
export const outpointsSchema = arr(obj(outpoint));

const common = {
  minconf: int('lowest confirmations of added inputs; 0 by default'),
  maxconf: int('highest confirmations of added inputs; no limit by default'),
  fee_rate: feerateSchema,
  conf_target: targetSchema,
  estimate_mode: str('unset, economical or conservative; unset by default'),
  replaceable: bool('whether it signals replaceability (BIP-125); true by default'),
  solving_data: obj(
    { pubkeys: maybe(arr(hexStr())), scripts: maybe(arr(hexStr())), descriptors: maybe(arr(str())) },
    'keys and scripts of inputs of others, for the estimate of their size',
  ),
};

const funding = {
  add_inputs: bool('whether the wallet may add inputs; by default only if no inputs are given'),
  include_unsafe: bool('whether unconfirmed coins from others may be added; false by default'),
  change_type: str('type of the change address: legacy, p2sh-segwit, bech32 or bech32m'),
  max_tx_weight: int('highest weight of the transaction'),
  ...common,
};

const finishing = {
  add_to_wallet: bool('false to return the signed transaction without sending it; true by default'),
  psbt: bool('true to return a PSBT without sending it; false by default'),
  include_watching: bool('has no effect'),
  locktime: int('height below 500,000,000, else Unix seconds'),
  lock_unspents: bool('whether the inputs are locked against other spends; false by default'),
  ...common,
};

/** Options of walletcreatefundedpsbt. */
export const psbtOptions: Readonly<Record<string, Schema>> = {
  ...funding,
  changeAddress: str('address for the change; a new one by default'),
  changePosition: int('index of the change output; random by default'),
  includeWatching: bool('has no effect'),
  lockUnspents: bool('whether the inputs are locked against other spends; false by default'),
  feeRate: anyOf(num('coins per 1,000 virtual bytes'), str('coins per 1,000 virtual bytes, as text')),
  subtractFeeFromOutputs: arr(int(), 'indexes of the outputs that pay the fee in equal parts'),
};

/** Options of fundrawtransaction. */
export const fundOptions: Readonly<Record<string, Schema>> = {
  ...psbtOptions,
  input_weights: arr(obj({ ...outpoint, weight })),
};

export const sendOptions: Readonly<Record<string, Schema>> = {
  ...funding,
  ...finishing,
  change_address: str('address for the change; a new one by default'),
  change_position: int('index of the change output; random by default'),
  inputs: noted(inputsSchema, 'coins to spend'),
  subtract_fee_from_outputs: arr(int(), 'indexes of the outputs that pay the fee in equal parts'),
  request_id: str('id of the payment, 1 to 256 bytes; a repeated call with it sends nothing again'),
};

export const sendAllOptions: Readonly<Record<string, Schema>> = {
  ...finishing,
  inputs: arr(obj({ ...outpoint, sequence }), 'coins to spend; all by default'),
  send_max: bool('whether coins that cost more than their value are left out; false by default'),
  version: int('version of the transaction, 1 to 3; 2 by default'),
};

export const bumpOptions: Readonly<Record<string, Schema>> = {
  conf_target: targetSchema,
  fee_rate: feerateSchema,
  replaceable: bool('whether the replacement signals replaceability as well; true by default'),
  estimate_mode: str('unset, economical or conservative; unset by default'),
  outputs: outputsSchema,
  original_change_index: int('index of the output of the original that is reduced for the fee; its change by default'),
};

export const psbtBumpOptions: Readonly<Record<string, Schema>> = {
  ...bumpOptions,
  psbt_version: int('0 or 2; 2 by default'),
};
