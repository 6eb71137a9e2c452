import {
  anyOf,
  arr,
  bool,
  hashStr,
  hexStr,
  int,
  mapOf,
  maybe,
  num,
  obj,
  type Schema,
  str,
} from '../../engine/schema.ts';
import { outputsShape } from '../rawtransactions/make-transaction.ts';

/** What methods of wallets that spend are given. */

export const amountShape = anyOf(num('coins'), str('the same as text'));
export const feerateShape = anyOf(num('satoshis per virtual byte'), str('the same as text'));
export const targetShape = int('blocks until it is to be confirmed');
export const recipientsShape = arr(
  anyOf(str('address that gets a share of the rest'), mapOf('address', anyOf(num(), str()))),
);
export const amountsShape = mapOf('address', anyOf(num(), str()));

const outpoint = { txid: hashStr(), vout: int() };
const sequence = maybe(int());

/** Coins that the caller has chosen, and what it knows of them. */
export const inputsShape = arr(obj({ ...outpoint, sequence, weight: maybe(int('of the input when it is signed')) }));
export const outpointsShape = arr(obj(outpoint));

const common = {
  minconf: int('that added inputs have at least'),
  maxconf: int('that added inputs have at most'),
  fee_rate: feerateShape,
  conf_target: targetShape,
  estimate_mode: str('unset, economical, or conservative'),
  replaceable: bool(),
  solving_data: obj(
    { pubkeys: maybe(arr(hexStr())), scripts: maybe(arr(hexStr())), descriptors: maybe(arr(str())) },
    'tells the sizes of inputs that are not the wallet’s',
  ),
};

const funding = {
  add_inputs: bool('whether the wallet may add inputs to those that are named'),
  include_unsafe: bool('unconfirmed inputs from others as well'),
  change_type: str('legacy, p2sh-segwit, bech32, or bech32m'),
  max_tx_weight: int(),
  ...common,
};

const finishing = {
  add_to_wallet: bool('false: it is signed and not sent'),
  psbt: bool('a PSBT is wanted, and nothing is sent'),
  include_watching: bool('no longer used'),
  locktime: int(),
  lock_unspents: bool('keeps its inputs from being spent'),
  ...common,
};

/** Of walletcreatefundedpsbt. */
export const psbtOptions: Readonly<Record<string, Schema>> = {
  ...funding,
  changeAddress: str(),
  changePosition: int(),
  includeWatching: bool('no longer used'),
  lockUnspents: bool('keeps its inputs from being spent'),
  feeRate: anyOf(num('coins per 1,000 virtual bytes'), str('the same as text')),
  subtractFeeFromOutputs: arr(int(), 'positions of outputs'),
};

/** Of fundrawtransaction. */
export const fundOptions: Readonly<Record<string, Schema>> = {
  ...psbtOptions,
  input_weights: arr(obj({ ...outpoint, weight: int() })),
};

export const sendOptions: Readonly<Record<string, Schema>> = {
  ...funding,
  ...finishing,
  change_address: str(),
  change_position: int(),
  inputs: inputsShape,
  subtract_fee_from_outputs: arr(int(), 'positions of outputs'),
  request_id: str('a name for the request: it is sent once'),
};

export const sendAllOptions: Readonly<Record<string, Schema>> = {
  ...finishing,
  inputs: arr(obj({ ...outpoint, sequence })),
  send_max: bool('leaves what costs more to spend than it is worth'),
  version: int(),
};

export const bumpOptions: Readonly<Record<string, Schema>> = {
  conf_target: targetShape,
  fee_rate: feerateShape,
  replaceable: bool(),
  estimate_mode: str('unset, economical, or conservative'),
  outputs: outputsShape,
  original_change_index: int('position of the change'),
};

export const psbtBumpOptions: Readonly<Record<string, Schema>> = { ...bumpOptions, psbt_version: int('0 or 2') };
