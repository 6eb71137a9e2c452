import { type TSchema, t } from 'elysia';
import {
  BLOCK_REFERENCE,
  count,
  feeRate,
  hash,
  height,
  named,
  namedWords,
  nullable,
  type ObjectSchema,
  type Properties,
  sats,
  signedSats,
  TX_STATUS,
  time,
  wholeNumberSchema,
  words,
} from '../http/reply-schema.ts';

/** The members that the data of every event of the log begins with. */
const POSITION = {
  cursor: t.String({ pattern: '^[0-9a-z]{1,64}$', description: 'identifies the event; a client resumes behind it' }),
  seq: count('number in the log'),
  time: time('Unix seconds of the event'),
};
const DERIVED = { ...POSITION, sub: count('order among the messages that are derived from one event') };
const WATCH_ID = nullable(t.String({ description: 'the stored watch; null where only the connection watches it' }));
/** Returns the member for the details full: the reply of GET /api/block/{hash} or /api/tx/{txid}, by its name there. */
const fullBody = (schema: 'Block' | 'Tx') => t.Optional(t.Unsafe<object>({ $ref: `#/components/schemas/${schema}` }));

const BLOCK_DATA = named('NewBlockData', {
  ...POSITION,
  hash: hash(),
  height: height(),
  previousHash: nullable(hash('null for the genesis block')),
  version: wholeNumberSchema(),
  merkleRoot: hash(),
  blockTime: time(),
  medianTime: time('median of the last eleven blocks, BIP-113'),
  bits: t.String({ pattern: '^[0-9a-f]{8}$' }),
  nonce: count(),
  difficulty: t.Number(),
  chainwork: hash('as a number of 256 bits'),
  txCount: count(),
  size: count('bytes'),
  strippedSize: count('bytes without witnesses'),
  weight: count('weight units, BIP-141'),
  fees: sats(),
  subsidy: sats(),
  reward: sats('satoshis that the coinbase pays'),
  confirmations: count('1'),
  reorg: t.Boolean({ description: 'whether the block joined the chain in a reorganization' }),
  initialSync: t.Boolean(),
  headers: height('height of the best header'),
  block: fullBody('Block'),
});

const TRANSACTION_DATA = named('NewTransactionData', {
  ...POSITION,
  txid: hash(),
  wtxid: hash(),
  size: count('bytes'),
  vsize: count('virtual bytes'),
  weight: count('weight units, BIP-141'),
  fee: sats(),
  feeRate: feeRate(),
  valueOut: sats(),
  inputs: count(),
  outputs: count(),
  signalsRbf: t.Boolean({ description: 'BIP-125, by itself' }),
  replaces: t.Array(hash(), { description: 'transactions that it replaced' }),
  reaccepted: t.Boolean({ description: 'returned to the mempool by a reorganization' }),
  local: t.Boolean({ description: 'submitted to this node' }),
  tx: fullBody('Tx'),
});

const MEMPOOL_DATA = named('MempoolUpdateData', {
  ...POSITION,
  count: count(),
  vsize: count('virtual bytes of all transactions'),
  size: count('bytes of all transactions'),
  usage: count('bytes of memory'),
  totalFee: sats(),
  minFeeRate: feeRate('satoshis per virtual byte to enter now'),
  added: count('since the last update'),
  removed: count('since the last update'),
  tip: nullable(BLOCK_REFERENCE),
});

const DISCONNECTED_DATA = named('BlockDisconnectedData', {
  ...POSITION,
  hash: hash(),
  height: height(),
  previousHash: nullable(hash()),
  txids: t.Array(hash()),
  depth: count('1 for the old tip'),
  block: fullBody('Block'),
});

const REORG_DATA = named('ReorgData', {
  ...POSITION,
  forkHeight: height(),
  forkHash: hash('the last block of both branches'),
  oldTip: BLOCK_REFERENCE,
  newTip: BLOCK_REFERENCE,
  disconnected: t.Array(hash(), { description: 'the highest block first' }),
  connected: t.Array(hash(), { description: 'the lowest block first' }),
  depth: count('number of disconnected blocks'),
  txs: t.Array(
    named('TxFate', {
      txid: hash(),
      fate: namedWords(
        'Fate',
        ['reconfirmed', 'mempool', 'conflicted', 'dropped'],
        'where a transaction of a disconnected block is now',
      ),
      conflict: nullable(hash('the transaction of the new branch that spends the same output')),
      outputs: t.Optional(
        t.Array(named('ReorgOutput', { n: count(), value: sats(), address: nullable(t.String()) }), {
          description: 'missing in events that earlier versions stored',
        }),
      ),
    }),
  ),
  txsComplete: t.Boolean({ description: 'whether txs names all transactions of the disconnected blocks' }),
});

const REMOVED_DATA = named('TransactionRemovedData', {
  ...POSITION,
  txid: hash(),
  reason: namedWords(
    'RemovalReason',
    ['block', 'replaced', 'conflict', 'sizelimit', 'expiry', 'reorg'],
    'why a transaction left the mempool',
  ),
  replacedBy: nullable(hash()),
  blockHash: nullable(hash()),
});

export const PAID_OUTPUT = named('PaidOutput', { n: count(), value: sats() }, 'an output that pays an address');
export const SPENDING_INPUT = named(
  'SpendingInput',
  { n: count(), txid: hash(), vout: count(), value: sats() },
  'an input that spends from an address; txid and vout name the spent output',
);
const FLOW = { outputs: t.Array(PAID_OUTPUT), inputs: t.Array(SPENDING_INPUT) };

const ADDRESS_MEMBERS = {
  address: t.String({ description: 'an address, or script:<hex>' }),
  txid: hash(),
  status: TX_STATUS,
  received: sats('satoshis that the outputs pay to the address'),
  sent: sats('satoshis that the inputs spend from the address'),
  ...FLOW,
  phase: namedWords(
    'AddressTransactionPhase',
    ['mempool', 'confirmed', 'reverted', 'removed'],
    'the state that the transaction has reached',
  ),
  watchId: WATCH_ID,
};

const CONFIRMATION_MEMBERS = {
  txid: hash(),
  address: nullable(t.String({ description: 'the watched address or script; null for other watches' })),
  outpoint: nullable(t.String({ description: 'the watched outpoint, txid:n; null for other watches' })),
  received: nullable(sats('satoshis that the outputs pay to the watched address; null for a watched transaction')),
  sent: nullable(
    sats('satoshis that the inputs spend from the watched address or outpoint; null for a watched transaction'),
  ),
  confirmations: count(),
  blockHash: nullable(hash()),
  height: nullable(height()),
  reverted: t.Boolean({ description: 'whether the threshold is no longer reached' }),
  watchId: WATCH_ID,
};

const ADDRESS_DATA = named('AddressTransactionData', { ...DERIVED, ...ADDRESS_MEMBERS });
const CONFIRMATION_DATA = named('ConfirmationData', {
  ...DERIVED,
  ...CONFIRMATION_MEMBERS,
  threshold: count('the watched number of confirmations'),
});

/** The present state of watched items, which a client receives first if it asks for a snapshot. It has no position. */
const SNAPSHOT = { snapshot: t.Literal(true) };
const ADDRESS_SNAPSHOT = named('AddressTransactionSnapshotData', { ...SNAPSHOT, ...ADDRESS_MEMBERS });
const CONFIRMATION_SNAPSHOT = named('ConfirmationSnapshotData', {
  ...SNAPSHOT,
  ...CONFIRMATION_MEMBERS,
  threshold: nullable(count('the highest watched number of confirmations that is reached')),
});

const WALLET_DATA = named(
  'WalletTransactionData',
  {
    ...DERIVED,
    wallet: t.String(),
    txid: hash(),
    phase: namedWords(
      'WalletTransactionPhase',
      ['mempool', 'confirmed', 'reverted', 'conflicted', 'removed', 'abandoned'],
      'the state that the transaction has reached',
    ),
    reason: nullable(t.String()),
    replacedBy: nullable(hash()),
    amount: signedSats('change of the balance without the fee, satoshis'),
    fee: nullable(signedSats('zero or negative; null where the wallet spends nothing')),
    confirmations: wholeNumberSchema({ description: '-1 if a block contradicts it' }),
    generated: t.Optional(t.Boolean({ description: 'only for a coinbase' })),
    trusted: t.Optional(t.Boolean({ description: 'only while it is unconfirmed' })),
    blockhash: t.Optional(hash()),
    blockheight: t.Optional(height()),
    blockindex: t.Optional(count()),
    blocktime: t.Optional(time()),
    wtxid: hash(),
    alternate_wtxids: t.Array(hash()),
    walletconflicts: t.Array(hash()),
    mempoolconflicts: t.Array(hash()),
    timereceived: time(),
    comment: t.Optional(t.String()),
    to: t.Optional(t.String()),
    replaces_txid: t.Optional(hash()),
    replaced_by_txid: t.Optional(hash()),
    details: t.Array(
      named('WalletTransactionDetail', {
        address: t.Optional(t.String()),
        parent_descs: t.Optional(t.Array(t.String())),
        category: namedWords(
          'WalletCategory',
          ['send', 'receive', 'generate', 'immature', 'orphan'],
          "Bitcoin Core's word",
        ),
        amount: signedSats(),
        label: t.Optional(t.String()),
        vout: count(),
        fee: t.Optional(signedSats()),
        abandoned: t.Boolean(),
      }),
    ),
  },
  'the members of gettransaction, with amounts in satoshis',
);

/** Numbers of the log that are not kept, and where to continue. */
export const GAP = named('EventGap', {
  scope: words(['mempool', 'all', 'confirmations']),
  fromSeq: count(),
  toSeq: count(),
  lastChainSeq: count('number of the newest event of the chain'),
  cursor: t.String({ description: 'where to continue behind the gap' }),
  height: t.Optional(height('height of the pruned block; only with the scope confirmations, as the next two')),
  threshold: t.Optional(count('the confirmations that transactions of this block have reached or lost')),
  reverted: t.Optional(t.Boolean({ description: 'whether they have lost them' })),
});

const HEARTBEAT_DATA = named('HeartbeatData', {
  time: time(),
  seq: count('number of the newest event'),
  height: nullable(height()),
  hash: nullable(hash()),
});

const SYNC_DATA = named('SyncStatusData', {
  state: words(['syncing', 'synced']),
  height: height(),
  headers: height('height of the best header'),
  progress: t.Number({ minimum: 0, maximum: 1 }),
  phase: words(['waiting', 'presync', 'headers', 'blocks', 'following']),
  presynced: nullable(height('height up to which headers are checked')),
});

const PEER_IDENTITY = {
  time: time(),
  id: count(),
  address: t.String(),
  network: t.String(),
  inbound: t.Boolean(),
  connectionType: t.String({ description: "Bitcoin Core's name" }),
  transport: t.String(),
  userAgent: t.String(),
};

const CONNECTED_DATA = named('PeerConnectedData', {
  ...PEER_IDENTITY,
  version: count(),
  services: t.String({ pattern: '^[0-9a-f]{16}$' }),
  servicesNames: t.Array(t.String()),
  startingHeight: wholeNumberSchema(),
  timeOffset: wholeNumberSchema({ description: 'seconds' }),
  relayTxs: t.Boolean(),
  permissions: t.Array(t.String()),
});

const PEER_DISCONNECTED_DATA = named('PeerDisconnectedData', {
  ...PEER_IDENTITY,
  reason: t.String(),
  connectedAt: time(),
  bytesSent: count(),
  bytesRecv: count(),
});

/** The last failed attempt of a webhook; null without one. */
export const WEBHOOK_FAILURE = nullable(
  named('WebhookFailure', {
    code: t.String(),
    message: t.String(),
    status: nullable(wholeNumberSchema({ description: 'status of the reply' })),
    at: time(),
  }),
);

const WEBHOOK_DISABLED_DATA = named('WebhookDisabledData', {
  time: time(),
  webhook: t.String({ description: 'id of the webhook' }),
  label: nullable(t.String()),
  failingSince: nullable(time('time of the first failed attempt')),
  lastError: WEBHOOK_FAILURE,
});

/** Returns the schema of a message with this type. */
function messageSchema(type: string, data: TSchema, suffix = ''): ObjectSchema<Properties> {
  return named(`${type[0]!.toUpperCase()}${type.slice(1)}${suffix}`, { type: t.Literal(type), data });
}

/** A type of message that the node sends without being asked by a single message. */
export interface EventDescription {
  readonly type: string;
  readonly summary: string;
  /** Whether the event has a number and a cursor, and can be read again. */
  readonly kept: boolean;
  readonly schema: ObjectSchema<Properties>;
}

const event = (type: string, kept: boolean, summary: string, data: TSchema): EventDescription => ({
  type,
  summary,
  kept,
  schema: messageSchema(type, data),
});

/** All events but `feeUpdate` and `mempoolBlocks`, whose data is the reply of a route. */
export const EVENT_DESCRIPTIONS: readonly EventDescription[] = [
  event('newBlock', true, 'A block joined the active chain.', BLOCK_DATA),
  event('newTransaction', true, 'A transaction entered the mempool.', TRANSACTION_DATA),
  event('mempoolUpdate', true, 'The mempool changed; at most one a second, and one after each block.', MEMPOOL_DATA),
  event('blockDisconnected', true, 'A block left the active chain.', DISCONNECTED_DATA),
  event('reorg', true, 'The active chain moved to another branch.', REORG_DATA),
  event('transactionRemoved', true, 'A transaction left the mempool.', REMOVED_DATA),
  event('addressTransaction', true, 'A transaction of a watched address changed its state.', ADDRESS_DATA),
  event(
    'confirmation',
    true,
    'A watched transaction reached a number of confirmations, or lost it.',
    CONFIRMATION_DATA,
  ),
  event('walletTransaction', true, 'A transaction of a wallet changed its state.', WALLET_DATA),
  event('syncStatus', false, 'The progress of the synchronization changed.', SYNC_DATA),
  event('peerConnected', false, 'The handshake with a peer is complete.', CONNECTED_DATA),
  event('peerDisconnected', false, 'A peer is disconnected.', PEER_DISCONNECTED_DATA),
  event('webhookDisabled', false, 'A webhook of the key is disabled, since it only failed.', WEBHOOK_DISABLED_DATA),
  event('gap', false, 'Events are missing at this place.', GAP),
  event('heartbeat', false, 'The connection lives; every 15 seconds.', HEARTBEAT_DATA),
];

/** The present state of watched items, which has no place in the log. */
export const SNAPSHOT_MESSAGES = [
  {
    type: 'addressTransactionSnapshot',
    summary: 'A transaction of an address that was watched with a snapshot.',
    schema: messageSchema('addressTransaction', ADDRESS_SNAPSHOT, 'Snapshot'),
  },
  {
    type: 'confirmationSnapshot',
    summary: 'A transaction that was watched with a snapshot.',
    schema: messageSchema('confirmation', CONFIRMATION_SNAPSHOT, 'Snapshot'),
  },
];
