import {
  arr,
  bool,
  coinAmount,
  hashStr,
  hexStr,
  int,
  mapOf,
  maybe,
  num,
  obj,
  type Schema,
  str,
  unixTime,
} from './schema.ts';

/** What several methods show alike. */

export const SCRIPT_TYPE_NOTE = 'pubkeyhash, scripthash, witness_v0_keyhash, ...';

export const outputScript = obj({
  asm: str(),
  desc: str('inferred descriptor'),
  hex: hexStr(),
  address: maybe(str('where the script has one')),
  type: str(SCRIPT_TYPE_NOTE),
});

const inputMembers = {
  coinbase: maybe(hexStr('in a coinbase, instead of the next three')),
  txid: maybe(hashStr()),
  vout: maybe(int()),
  scriptSig: maybe(obj({ asm: str(), hex: hexStr() })),
  txinwitness: maybe(arr(hexStr(), 'the witness, where there is one')),
};

const spentCoin = obj(
  {
    generated: bool('by a coinbase'),
    height: int('2147483647 while it is unconfirmed'),
    value: coinAmount(),
    scriptPubKey: outputScript,
  },
  'what it spends, where that is known',
);

const outputMembers = { value: coinAmount(), n: int(), scriptPubKey: outputScript };

function txMembers(withPrevouts: boolean): Readonly<Record<string, Schema>> {
  return {
    txid: hashStr(),
    hash: hashStr('with witnesses (wtxid)'),
    version: int(),
    size: int('bytes'),
    vsize: int('virtual bytes'),
    weight: int(),
    locktime: int(),
    vin: arr(obj({ ...inputMembers, ...(withPrevouts && { prevout: maybe(spentCoin) }), sequence: int() })),
    vout: arr(obj(outputMembers)),
  };
}

/** A transaction that stands for itself. */
export const bareTx = obj(txMembers(false));

/** The same as a wallet shows it. */
export const txOfWallet = obj({
  ...txMembers(false),
  vout: arr(obj({ ...outputMembers, ischange: maybe(bool('true of change')) })),
});

/** A transaction as getrawtransaction shows it. */
export function shownTx({ withPrevouts }: { withPrevouts: boolean }, note: string): Schema {
  return obj(
    {
      in_active_chain: maybe(bool('where a block was named')),
      ...txMembers(withPrevouts),
      ...(withPrevouts && { fee: maybe(coinAmount('where it is known; not of a coinbase')) }),
      hex: hexStr(),
      vsize_adjusted: maybe(int('in the mempool: with what its signature operations cost')),
      blockhash: maybe(hashStr()),
      confirmations: maybe(int()),
      time: maybe(unixTime()),
      blocktime: maybe(unixTime()),
    },
    note,
  );
}

const headerMembers = {
  hash: hashStr(),
  confirmations: int('-1 on another branch'),
  height: int(),
  version: int(),
  versionHex: hexStr(),
  merkleroot: hashStr(),
  time: unixTime(),
  mediantime: unixTime('median of the last eleven'),
  nonce: int(),
  bits: hexStr(),
  target: hashStr(),
  difficulty: num(),
  chainwork: hashStr('hashes it took to get here'),
  nTx: int('transactions'),
  previousblockhash: maybe(hashStr('not of the genesis block')),
  nextblockhash: maybe(hashStr('on the active chain')),
};

export const header = obj(headerMembers, 'where verbose is true');

/** A block whose transactions look so. */
export function shownBlock(tx: Schema, note: string): Schema {
  return obj(
    {
      ...headerMembers,
      strippedsize: int('bytes without witnesses'),
      size: int('bytes'),
      weight: int(),
      coinbase_tx: obj({
        version: int(),
        locktime: int(),
        sequence: int(),
        coinbase: hexStr(),
        witness: maybe(hexStr('the first item')),
      }),
      tx: arr(tx),
    },
    note,
  );
}

export function txOfBlock({ withPrevouts }: { withPrevouts: boolean }): Schema {
  return obj({
    ...txMembers(withPrevouts),
    fee: maybe(coinAmount('not of a coinbase')),
    hex: hexStr(),
  });
}

export const mempoolEntry = obj({
  vsize_adjusted: int('virtual bytes, with what its signature operations cost'),
  vsize: int('the same'),
  vsize_bip141: int('virtual bytes by weight alone'),
  weight: int(),
  time: unixTime('when it came'),
  height: int('of the chain when it came'),
  descendantcount: int('itself among them'),
  descendantsize: int('virtual bytes'),
  ancestorcount: int('itself among them'),
  ancestorsize: int('virtual bytes'),
  wtxid: hashStr(),
  chunkweight: int('of what it is mined together with'),
  fees: obj({
    base: coinAmount(),
    modified: coinAmount('as prioritised'),
    ancestor: coinAmount('of it and its ancestors'),
    descendant: coinAmount('of it and its descendants'),
    chunk: coinAmount('of what it is mined together with'),
  }),
  depends: arr(hashStr(), 'unconfirmed parents'),
  spentby: arr(hashStr(), 'unconfirmed children'),
  unbroadcast: bool('no peer has asked for it yet'),
});

export const entriesById = mapOf('txid', mempoolEntry);

export const newestBlock = obj({ hash: hashStr(), height: int() });

export const warnings = arr(str(), 'what the operator should know of');
