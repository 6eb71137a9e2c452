import {
  arr,
  bool,
  coinAmount,
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
  unixTime,
} from '../engine/schema.ts';

/** Schemas that several methods share. */

export const SCRIPT_TYPE_NOTE = 'pubkeyhash, scripthash, witness_v0_keyhash, ...';

export const outputScript = obj({
  asm: str('script in words'),
  desc: str('inferred descriptor'),
  hex: hexStr('bytes of the script'),
  address: maybe(str('if the script has an address')),
  type: str(SCRIPT_TYPE_NOTE),
});

const inputMembers = {
  coinbase: maybe(hexStr('script of a coinbase input, which has no txid, vout and scriptSig')),
  txid: maybe(hashStr('transaction of the spent output')),
  vout: maybe(int('index of the spent output')),
  scriptSig: maybe(obj({ asm: str('script in words'), hex: hexStr('bytes of the script') }, 'script of the input')),
  txinwitness: maybe(arr(hexStr(), 'witness items; absent without a witness')),
};

const spentCoin = obj(
  {
    generated: bool('whether a coinbase made the output'),
    height: int('height of its block; 2147483647 if it is unconfirmed'),
    value: coinAmount('value of the output'),
    scriptPubKey: noted(outputScript, 'output script'),
  },
  'the output that the input spends, if it is known',
);

const outputMembers = {
  value: coinAmount('value of the output'),
  n: int('index of the output'),
  scriptPubKey: noted(outputScript, 'output script'),
};

function txMembers(withPrevouts: boolean): Readonly<Record<string, Schema>> {
  return {
    txid: hashStr('id of the transaction'),
    hash: hashStr('hash with witnesses (wtxid)'),
    version: int('version of the transaction'),
    size: int('bytes'),
    vsize: int('virtual bytes'),
    weight: int('weight (BIP-141)'),
    locktime: int('height or Unix seconds before which no block may contain it'),
    vin: arr(
      obj({ ...inputMembers, ...(withPrevouts && { prevout: maybe(spentCoin) }), sequence: int('sequence number') }),
      'inputs',
    ),
    vout: arr(obj(outputMembers), 'outputs'),
  };
}

/** A transaction without the context of a block or the mempool. */
export const bareTx = obj(txMembers(false));

/** A transaction as a wallet shows it. */
export const txOfWallet = obj({
  ...txMembers(false),
  vout: arr(obj({ ...outputMembers, ischange: maybe(bool('true if the output is change of the wallet')) }), 'outputs'),
});

/** A transaction as getrawtransaction shows it. */
export function shownTx({ withPrevouts }: { withPrevouts: boolean }, note: string): Schema {
  return obj(
    {
      in_active_chain: maybe(bool('only if blockhash was given')),
      ...txMembers(withPrevouts),
      ...(withPrevouts && {
        fee: maybe(coinAmount('if all spent outputs are known; absent for a coinbase and in the mempool')),
      }),
      hex: hexStr('bytes of the transaction'),
      vsize_adjusted: maybe(
        int('virtual bytes with the cost of signature operations; only for a transaction in the mempool'),
      ),
      blockhash: maybe(hashStr('its block')),
      confirmations: maybe(int('1 for a transaction of the tip')),
      time: maybe(unixTime('time of its block')),
      blocktime: maybe(unixTime('time of its block')),
    },
    note,
  );
}

const headerMembers = {
  hash: hashStr('hash of the block'),
  confirmations: int('1 for the tip; -1 if the block is not in the active chain'),
  height: int('height of the block'),
  version: int('version of the block'),
  versionHex: hexStr('the same in hex'),
  merkleroot: hashStr('Merkle root of the txids'),
  time: unixTime('time of the block'),
  mediantime: unixTime('median of the block and up to ten blocks before it'),
  nonce: int('nonce'),
  bits: hexStr('target in compact form'),
  target: hashStr('the highest valid hash'),
  difficulty: num('difficulty, 1 for the easiest target of the main network'),
  chainwork: hashStr('expected number of hashes for the chain up to this block'),
  nTx: int('number of transactions'),
  previousblockhash: maybe(hashStr('absent for the genesis block')),
  nextblockhash: maybe(hashStr('only if a block of the active chain follows')),
};

export const header = obj(headerMembers, 'verbose is true');

/** A block with transactions of the given schema. */
export function shownBlock(tx: Schema, note: string): Schema {
  return obj(
    {
      ...headerMembers,
      strippedsize: int('bytes without witnesses'),
      size: int('bytes'),
      weight: int('weight (BIP-141)'),
      coinbase_tx: obj(
        {
          version: int('version of the transaction'),
          locktime: int('locktime'),
          sequence: int('sequence number of its input'),
          coinbase: hexStr('script of its input'),
          witness: maybe(hexStr('first item of the witness')),
        },
        'the coinbase',
      ),
      tx: arr(tx, 'transactions in the order of the block'),
    },
    note,
  );
}

export function txOfBlock({ withPrevouts }: { withPrevouts: boolean }): Schema {
  return obj({
    ...txMembers(withPrevouts),
    fee: maybe(coinAmount('absent for a coinbase')),
    hex: hexStr('bytes of the transaction'),
  });
}

export const mempoolEntry = obj({
  vsize_adjusted: int('virtual bytes with the cost of signature operations'),
  vsize: int('equal to vsize_adjusted'),
  vsize_bip141: int('virtual bytes by weight alone (BIP-141)'),
  weight: int('weight (BIP-141)'),
  time: unixTime('time of acceptance'),
  height: int('height of the chain at acceptance'),
  descendantcount: int('including the transaction itself'),
  descendantsize: int('virtual bytes, including the transaction itself'),
  ancestorcount: int('including the transaction itself'),
  ancestorsize: int('virtual bytes, including the transaction itself'),
  wtxid: hashStr('hash with witnesses'),
  chunkweight: int('weight of its chunk: the transactions it is mined together with'),
  fees: obj(
    {
      base: coinAmount('fee of the transaction'),
      modified: coinAmount('base fee with the delta of prioritisetransaction'),
      ancestor: coinAmount('modified fees of the transaction and its ancestors'),
      descendant: coinAmount('modified fees of the transaction and its descendants'),
      chunk: coinAmount('modified fees of its chunk'),
    },
    'fees',
  ),
  depends: arr(hashStr(), 'txids of its unconfirmed parents'),
  spentby: arr(hashStr(), 'txids of its unconfirmed children'),
  unbroadcast: bool('true until a peer has requested the transaction'),
  'bip125-replaceable': maybe(
    bool('whether it or an unconfirmed ancestor signals replaceability (BIP-125); only with rpc.deprecated = "bip125"'),
  ),
});

export const entriesById = mapOf('txid', mempoolEntry);

export const newestBlock = obj({ hash: hashStr('hash of the tip'), height: int('height of the tip') });

export const warnings = arr(str(), 'conditions that the operator should know about');
