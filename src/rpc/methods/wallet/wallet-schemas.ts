import {
  anyOf,
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
  tuple,
  unixTime,
} from '../../engine/schema.ts';
import { newestBlock, txOfWallet } from '../schemas.ts';

/** Schemas of the results of wallet methods. */

const followedTo = noted(newestBlock, 'last block that the wallet has processed');
const parents = arr(str(), 'descriptors of the wallet with its script');

export const namedWallet = obj({ name: str('name of the wallet') });

export const createdWallet = obj({
  name: str('name of the wallet'),
  warnings: maybe(arr(str(), 'if the passphrase is empty')),
});

export const walletInfo = obj({
  walletname: str('name of the wallet'),
  walletversion: int('169900'),
  format: str('sqlite'),
  txcount: int('number of transactions'),
  keypoolsize: int('addresses derived in advance'),
  keypoolsize_hd_internal: int('addresses for change derived in advance'),
  unlocked_until: maybe(unixTime('0 while it is locked; absent without a passphrase')),
  private_keys_enabled: bool('whether the wallet may have private keys'),
  avoid_reuse: bool('whether coins on used addresses are treated separately'),
  scanning: anyOf(
    obj(
      { duration: int('seconds since its start'), progress: num('0 to 1') },
      'during a rescan, and while addresses beyond the derived ones are searched for payments: the balance may be too low',
    ),
    bool('false without a rescan'),
  ),
  descriptors: bool('true'),
  external_signer: bool('whether an external signer has the keys'),
  blank: bool('whether it was created without keys'),
  birthtime: maybe(unixTime('time before which it has no transactions, if that is known')),
  flags: arr(str(), 'flags of the wallet, as Bitcoin Core names them'),
  lastprocessedblock: followedTo,
  warnings: maybe(arr(str(), 'problems that the operator must know about; absent without any')),
});

export const walletBalances = obj({
  mine: obj(
    {
      trusted: coinAmount('confirmed coins and own unconfirmed change'),
      untrusted_pending: coinAmount('unconfirmed coins from others'),
      immature: coinAmount('coinbase outputs that cannot be spent yet'),
      nonmempool: coinAmount('coins spent by own transactions that are not in the mempool'),
      used: maybe(coinAmount('coins on used addresses; only with the flag avoid_reuse')),
    },
    'balances of the wallet',
  ),
  lastprocessedblock: followedTo,
});

/** Members about a transaction as a whole. */
const aboutTx = {
  confirmations: int('negative: depth of the block with a conflicting transaction'),
  generated: maybe(bool('true for a coinbase')),
  blockhash: maybe(hashStr('only if it is confirmed, as the next three')),
  blockheight: maybe(int('height of its block')),
  blockindex: maybe(int('index within the block')),
  blocktime: maybe(unixTime('time of its block')),
  trusted: maybe(bool('whether it is safe to spend from; only if it is unconfirmed')),
  txid: hashStr('id of the transaction'),
  wtxid: hashStr('hash with witnesses'),
  alternate_wtxids: arr(hashStr(), 'other wtxids with which the wallet has seen it'),
  walletconflicts: arr(hashStr(), 'transactions of the wallet that spend the same coins'),
  mempoolconflicts: arr(hashStr(), 'transactions in the mempool that spend coins of it or of its ancestors'),
  time: unixTime('time of the transaction, as the wallet lists it'),
  timereceived: unixTime('time at which the wallet first saw it'),
  'bip125-replaceable': maybe(
    str(
      'yes, no, or unknown: whether it or an unconfirmed ancestor signals replaceability (BIP-125); only with rpc.deprecated = "bip125"',
    ),
  ),
  comment: maybe(str('comment of the sender')),
  to: maybe(str('comment_to of the sender')),
  replaces_txid: maybe(hashStr('transaction that it replaced')),
  replaced_by_txid: maybe(hashStr('transaction that replaced it')),
};

/** Members about one output that was sent or received. */
const aboutOutput = {
  address: maybe(str('if the output has an address')),
  parent_descs: maybe(noted(parents, 'descriptors of the wallet with its script; only if it was received')),
  category: str('send, receive, generate, immature or orphan'),
  amount: coinAmount('negative if it was sent'),
  label: maybe(str('if the address has a label')),
  vout: int('index of the output'),
  fee: maybe(coinAmount('negative; only if it was sent')),
  abandoned: bool('whether abandontransaction gave it up'),
};

const listedTx = obj({ ...aboutOutput, ...aboutTx });

export const listedTxs = arr(listedTx);

export const txsSinceBlock = obj({
  transactions: arr(
    listedTx,
    'unconfirmed transactions, and those after the block or its fork point with the active chain',
  ),
  removed: maybe(arr(listedTx, 'transactions of blocks that left the active chain; only with include_removed')),
  lastblock: hashStr('blockhash for the next call'),
});

export const transactionOfWallet = obj({
  amount: coinAmount('change of the balance, without the fee'),
  fee: maybe(coinAmount('negative; only if the wallet sent it')),
  ...aboutTx,
  details: arr(obj(aboutOutput), 'sent and received outputs, without change'),
  hex: hexStr('bytes of the transaction'),
  decoded: maybe(noted(txOfWallet, 'only if verbose is true')),
  lastprocessedblock: followedTo,
});

export const unspentCoins = arr(
  obj({
    txid: hashStr('id of the transaction'),
    vout: int('index of the output'),
    address: maybe(str('if the output has an address')),
    label: maybe(str('if the address has a label')),
    redeemScript: maybe(hexStr('if it is known')),
    witnessScript: maybe(hexStr('if it is known')),
    scriptPubKey: hexStr('output script'),
    amount: coinAmount('value of the output'),
    confirmations: int('number of confirmations'),
    ancestorcount: maybe(
      int('transactions in the mempool: the one of the coin and its ancestors; only if it is there'),
    ),
    ancestorsize: maybe(int('virtual bytes of these transactions')),
    ancestorfees: maybe(int('modified fees of these transactions, satoshis')),
    spendable: bool('true'),
    solvable: bool('whether the wallet has the keys and scripts to spend it, except private keys'),
    desc: maybe(str('if it is solvable')),
    parent_descs: parents,
    reused: maybe(bool('whether its address was used before; only with the flag avoid_reuse')),
    safe: bool('whether it is confirmed or own change'),
  }),
);

export const lockedCoins = arr(obj({ txid: hashStr('id of the transaction'), vout: int('index of the output') }));

const receivedMembers = {
  amount: coinAmount('sum of the received amounts'),
  confirmations: int('of the latest receipt; 0 without any'),
  label: str('label of the address'),
};

export const receivedByAddress = arr(
  obj({
    address: str('the address'),
    ...receivedMembers,
    txids: arr(hashStr(), 'transactions of the received outputs'),
  }),
);
export const receivedByLabel = arr(obj(receivedMembers));

export const addressesByLabel = mapOf('address', obj({ purpose: str('receive, send, refund or unknown') }));

/** Members about the scripts of an address. */
const scriptMembers = {
  isscript: maybe(bool('whether it pays to a script rather than to a key; unknown for future witness versions')),
  iswitness: bool('whether it is a witness address'),
  witness_version: maybe(int('its witness version')),
  witness_program: maybe(hexStr('its witness program')),
  script: maybe(str('type of its redeem or witness script, if that is known')),
  hex: maybe(hexStr('its redeem or witness script')),
  pubkeys: maybe(arr(hexStr(), 'keys of a multisig script')),
  sigsrequired: maybe(int('signatures that a multisig script needs')),
  pubkey: maybe(hexStr('its key, if it has one key')),
  iscompressed: maybe(bool('whether the key of a legacy address is compressed')),
};

function embeddedAddress(inner: Readonly<Record<string, Schema>> = {}): Schema {
  const members = { ...scriptMembers, ...inner, address: str('the address'), scriptPubKey: hexStr('output script') };
  return maybe(obj(members, 'the redeem or witness script as an address, if it has one'));
}

export const addressInfo = obj({
  address: str('the address'),
  scriptPubKey: hexStr('output script'),
  ismine: bool('whether the address belongs to the wallet'),
  solvable: bool('whether the wallet has the keys and scripts to spend from it, except private keys'),
  desc: maybe(str('if it is solvable')),
  parent_desc: maybe(str('descriptor of the wallet with this address')),
  iswatchonly: bool('false'),
  ...scriptMembers,
  embedded: embeddedAddress({ embedded: embeddedAddress() }),
  ischange: bool('whether it is a change address'),
  timestamp: maybe(unixTime('earliest time of use; only if the origin of its key is known, as the next three')),
  hdkeypath: maybe(str('derivation path')),
  hdseedid: maybe(hexStr('zeros')),
  hdmasterfingerprint: maybe(hexStr('first four bytes of the hash of the master key')),
  labels: arr(str(), 'at most one'),
});

export const listedDescriptors = obj({
  wallet_name: str('name of the wallet'),
  descriptors: arr(
    obj({
      desc: str('the descriptor'),
      timestamp: unixTime('earliest time of use'),
      active: bool('whether new addresses are derived from it'),
      internal: maybe(bool('whether it is for change; only if it is active')),
      range: maybe(tuple([int(), int()], 'first and last derived index; only with *, as the next two')),
      next: maybe(int('index of the next address')),
      next_index: maybe(int('equal to next')),
    }),
    'descriptors, sorted by their text',
  ),
});

export const importOutcomes = arr(
  obj({
    success: bool('whether the descriptor was imported'),
    error: maybe(
      obj({ code: int('code of the error'), message: str('reason of the failure') }, 'only if success is false'),
    ),
    warnings: maybe(arr(str(), 'absent without any')),
  }),
  'one result per request',
);

/** Result of sendtoaddress and sendmany. */
export const sentMoney = anyOf(
  hashStr('txid; verbose is false'),
  obj(
    {
      txid: hashStr('id of the transaction'),
      fee_reason: maybe(str('source of the feerate; absent for a repeated request_id')),
    },
    'verbose is true',
  ),
);

/** Result of send and sendall. */
export const sentTx = obj({
  psbt: maybe(str('in Base64; if it is requested, or the transaction is not complete or not sent')),
  txid: maybe(hashStr('if the transaction is complete')),
  hex: maybe(hexStr('if the transaction is complete and not sent')),
  complete: bool('whether every input has all its signatures'),
});

const fundedMembers = {
  fee: coinAmount('fee of the transaction'),
  changepos: int('index of the change output; -1 without change'),
};

export const fundedTx = obj({ hex: hexStr('bytes of the transaction'), ...fundedMembers });
export const fundedPsbt = obj({ psbt: str('in Base64'), ...fundedMembers });

/** Members of the results of bumpfee and psbtbumpfee besides the replacement. */
export const bumpMembers = {
  origfee: coinAmount('fee of the original'),
  fee: coinAmount('fee of the replacement'),
  errors: arr(str(), 'empty'),
};
