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
import { newestBlock, txOfWallet } from '../shapes.ts';

/** What methods of wallets show. */

const followedTo = noted(newestBlock, 'up to which the wallet has followed the chain');
const parents = arr(str(), 'the descriptors that make its script');

export const namedWallet = obj({ name: str() });

export const createdWallet = obj({
  name: str(),
  warnings: maybe(arr(str(), 'where the passphrase is empty')),
});

export const walletInfo = obj({
  walletname: str(),
  walletversion: int('always 169900'),
  format: str('sqlite'),
  txcount: int('transactions'),
  keypoolsize: int('addresses reserved ahead'),
  keypoolsize_hd_internal: int('the same for change'),
  unlocked_until: maybe(unixTime('0 while it is locked; where it has a passphrase')),
  private_keys_enabled: bool(),
  avoid_reuse: bool('coins on used addresses are kept apart'),
  scanning: anyOf(
    obj({ duration: int('seconds so far'), progress: num('0 to 1') }, 'while it is rescanned'),
    bool('false while it is not'),
  ),
  descriptors: bool('always true'),
  external_signer: bool('always false'),
  blank: bool('made without keys'),
  birthtime: maybe(unixTime('before which nothing concerns it, where that is known')),
  flags: arr(str()),
  lastprocessedblock: followedTo,
  warnings: maybe(arr(str(), 'what the operator must know of the wallet; absent where there is nothing')),
});

export const walletBalances = obj({
  mine: obj({
    trusted: coinAmount('confirmed, or made by the wallet'),
    untrusted_pending: coinAmount('made by others and in the mempool'),
    immature: coinAmount('of coinbases'),
    nonmempool: coinAmount('spent by transactions that are not in the mempool'),
    used: maybe(coinAmount('on used addresses, where the wallet keeps those apart')),
  }),
  lastprocessedblock: followedTo,
});

/** What is said of a transaction as a whole. */
const aboutTx = {
  confirmations: int('below 0: as deep is the one that took its inputs'),
  generated: maybe(bool('true of a coinbase')),
  blockhash: maybe(hashStr('where it is in a block, like the next three')),
  blockheight: maybe(int()),
  blockindex: maybe(int('in the block')),
  blocktime: maybe(unixTime()),
  trusted: maybe(bool('safe to spend from; where it is in no block')),
  txid: hashStr(),
  wtxid: hashStr(),
  alternate_wtxids: arr(hashStr(), 'of the same with other witnesses'),
  walletconflicts: arr(hashStr(), 'of the wallet, with the same inputs'),
  mempoolconflicts: arr(hashStr(), 'in the mempool, with inputs of it or of its ancestors'),
  time: unixTime(),
  timereceived: unixTime(),
  comment: maybe(str()),
  to: maybe(str('to whom, as the sender noted it')),
  replaces_txid: maybe(hashStr()),
  replaced_by_txid: maybe(hashStr()),
};

/** What is said of one output that was sent or received. */
const aboutOutput = {
  address: maybe(str('where the output has one')),
  parent_descs: maybe(noted(parents, 'of what was received: the descriptors that make its script')),
  category: str('send, receive, generate, immature, or orphan'),
  amount: coinAmount('negative where it was sent'),
  label: maybe(str('where the address is in the book')),
  vout: int(),
  fee: maybe(coinAmount('negative; where it was sent')),
  abandoned: bool(),
};

const listedTx = obj({ ...aboutOutput, ...aboutTx });

export const listedTxs = arr(listedTx);

export const txsSinceBlock = obj({
  transactions: listedTxs,
  removed: maybe(arr(listedTx, 'of blocks that have left the chain; where they are asked for')),
  lastblock: hashStr('to be given the next time'),
});

export const transactionOfWallet = obj({
  amount: coinAmount('what it brought, without the fee'),
  fee: maybe(coinAmount('negative; where the wallet sent it')),
  ...aboutTx,
  details: arr(obj(aboutOutput)),
  hex: hexStr(),
  decoded: maybe(noted(txOfWallet, 'where verbose is true')),
  lastprocessedblock: followedTo,
});

export const unspentCoins = arr(
  obj({
    txid: hashStr(),
    vout: int(),
    address: maybe(str('where the output has one')),
    label: maybe(str('where the address is in the book')),
    redeemScript: maybe(hexStr('where it is known')),
    witnessScript: maybe(hexStr('where it is known')),
    scriptPubKey: hexStr(),
    amount: coinAmount(),
    confirmations: int(),
    ancestorcount: maybe(int('in the mempool, itself among them, where it is there; like the next two')),
    ancestorsize: maybe(int('virtual bytes')),
    ancestorfees: maybe(int('satoshis, as prioritised')),
    spendable: bool('always true'),
    solvable: bool('the wallet knows what it takes to spend it'),
    desc: maybe(str('where it is solvable')),
    parent_descs: parents,
    reused: maybe(bool('on a used address, where the wallet keeps those apart')),
    safe: bool('confirmed, or made by the wallet'),
  }),
);

export const lockedCoins = arr(obj({ txid: hashStr(), vout: int() }));

const receivedMembers = {
  amount: coinAmount(),
  confirmations: int('of the latest; 0 where there is none'),
  label: str(),
};

export const receivedByAddress = arr(obj({ address: str(), ...receivedMembers, txids: arr(hashStr()) }));
export const receivedByLabel = arr(obj(receivedMembers));

export const addressesByLabel = mapOf('address', obj({ purpose: str('receive, send, refund, or unknown') }));

/** What is known of the scripts behind an address. */
const scriptMembers = {
  isscript: maybe(bool('not of unknown witness versions')),
  iswitness: bool(),
  witness_version: maybe(int()),
  witness_program: maybe(hexStr()),
  script: maybe(str('type of the script behind it, where that is known')),
  hex: maybe(hexStr('the script behind it')),
  pubkeys: maybe(arr(hexStr(), 'of a multisig')),
  sigsrequired: maybe(int('by a multisig')),
  pubkey: maybe(hexStr('the one key behind it')),
  iscompressed: maybe(bool('the key of a legacy address')),
};

function embeddedAddress(inner: Readonly<Record<string, Schema>> = {}): Schema {
  const members = { ...scriptMembers, ...inner, address: str(), scriptPubKey: hexStr() };
  return maybe(obj(members, 'the script behind it as an address, where it has one'));
}

export const addressInfo = obj({
  address: str(),
  scriptPubKey: hexStr(),
  ismine: bool(),
  solvable: bool('the wallet knows what it takes to spend from it'),
  desc: maybe(str('where it is solvable')),
  parent_desc: maybe(str('the descriptor that makes it')),
  iswatchonly: bool('always false'),
  ...scriptMembers,
  embedded: embeddedAddress({ embedded: embeddedAddress() }),
  ischange: bool(),
  timestamp: maybe(unixTime('since when it may be in use; where the origin of its key is known, like the next three')),
  hdkeypath: maybe(str()),
  hdseedid: maybe(hexStr('always zeros')),
  hdmasterfingerprint: maybe(hexStr()),
  labels: arr(str(), 'at most one'),
});

export const listedDescriptors = obj({
  wallet_name: str(),
  descriptors: arr(
    obj({
      desc: str(),
      timestamp: unixTime('since when it may be in use'),
      active: bool('new addresses are made of it'),
      internal: maybe(bool('for change; of active ones')),
      range: maybe(tuple([int(), int()], 'first and last index; of ranged ones, like the next two')),
      next: maybe(int('index of the next address')),
      next_index: maybe(int('the same')),
    }),
  ),
});

export const importOutcomes = arr(
  obj({
    success: bool(),
    error: maybe(obj({ code: int(), message: str() })),
    warnings: maybe(arr(str())),
  }),
  'one a request',
);

/** What sendtoaddress and sendmany answer. */
export const sentMoney = anyOf(
  hashStr('the transaction id'),
  obj(
    { txid: hashStr(), fee_reason: maybe(str('what decided the fee; not where a request is repeated')) },
    'where verbose is true',
  ),
);

/** What send and sendall answer. */
export const sentTx = obj({
  psbt: maybe(str('in Base64; where it is asked for, or not complete, or not sent')),
  txid: maybe(hashStr('where it is complete')),
  hex: maybe(hexStr('where it is complete and not sent')),
  complete: bool(),
});

const fundedMembers = { fee: coinAmount(), changepos: int('position of the change; -1 where there is none') };

export const fundedTx = obj({ hex: hexStr(), ...fundedMembers });
export const fundedPsbt = obj({ psbt: str('in Base64'), ...fundedMembers });

/** What bumpfee and psbtbumpfee answer, behind the replacement. */
export const bumpMembers = {
  origfee: coinAmount('of the replaced one'),
  fee: coinAmount(),
  errors: arr(str(), 'always empty'),
};
