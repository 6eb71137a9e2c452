import { fieldText } from '../log-lines.ts';
import { type CoreForm, type CoreForms, type EventFacts, plainForm as plain } from './core-form.ts';

const validation = (text: CoreForm['text']): CoreForm => ({ category: 'validation', text });

const mempool = (text: CoreForm['text']): CoreForm => ({ category: 'mempool', text });

/** Core's warnings of fees, by the setting. */
const HIGH_FEES: Readonly<Record<string, string>> = {
  'wallet.minFeeRate': '-mintxfee is set very high! This is the minimum transaction fee you pay on every transaction.',
  'wallet.avoidPartialSpendsMaxFee':
    '-maxapsfee is set very high! This is the maximum transaction fee you pay (in addition to the normal fee) to prioritize partial spend avoidance over regular coin selection.',
  'wallet.fallbackFee':
    '-fallbackfee is set very high! This is the transaction fee you may pay when fee estimates are not available.',
  'wallet.discardFeeRate':
    '-discardfee is set very high! This is the transaction fee you may discard if change is smaller than dust at this level',
  'wallet.maxFee': '-maxtxfee is set very high! Fees this large could be paid on a single transaction.',
  'relay.minFeeRate': '-minrelaytxfee is set very high! The wallet will avoid paying less than the minimum relay fee.',
};

/** Core's words for the events of the chain, the mempool, wallets and the node. */
export const CHAIN_LINES: CoreForms = {
  'new tip': plain(
    ({ hash, height, age, cacheMiB }) => `UpdateTip: new best=${hash} height=${height} age=${age} cache=${cacheMiB}MiB`,
  ),
  ready: plain(() => 'init message: Done loading'),
  'invalid block': plain(
    (facts) => `Block validation error: ${rejection(facts)} block=${facts.hash} height=${facts.height}`,
  ),
  'a block cannot be disconnected': plain(
    ({ hash, height }) => `Failed to disconnect block. block=${hash} height=${height}`,
  ),
  signet: plain(({ magic }) => `Signet derived magic (message start): ${magic}`),
  'block mutated': validation((facts) => `Block mutated: ${rejection(facts)}`),
  'block rejected': validation((facts) => `ProcessNewBlock: CheckBlock: ${facts.hash}, ${rejection(facts)}`),
  'header rejected': validation((facts) => `AcceptBlockHeader: ${facts.hash}, ${rejection(facts)}`),
  'block ignored: its parent is unknown': validation(
    ({ hash }) => `ProcessNewBlock: AcceptBlock FAILED (prev-blk-not-found) block=${hash}`,
  ),
  'block ignored: its chain has too little work': validation(
    ({ hash }) => `AcceptBlockHeader: not adding new block header ${hash}, missing anti-dos proof-of-work validation`,
  ),
  'script verification enabled': plain(
    ({ height, hash, reason }) => `Enabling script verification at block #${height} (${hash}): ${reason}.`,
  ),
  'script verification disabled': plain(
    ({ height, hash }) => `Disabling script verification at block #${height} (${hash}).`,
  ),
  'unbroadcast transaction removed': mempool(
    ({ txid }) => `Removed ${txid} from set of unbroadcast txns before confirmation that txn was sent out`,
  ),
  'transaction was requested by a peer': mempool(({ txid }) => `Removed ${txid} from set of unbroadcast txns`),
  'transactions evicted': mempool(
    ({ count, feerate }) =>
      `Removed ${count} txn, rolling minimum fee bumped to ${(Number(feerate) / 1e8).toFixed(8)} BTC/kvB`,
  ),
  'fees with and without groups of coins': plain(
    ({ plain: fee, grouped, usesGroups }) =>
      `Fee non-grouped = ${fee}, grouped = ${grouped}, using ${usesGroups ? 'grouped' : 'non-grouped'}`,
  ),
  'a fee setting is very high': plain(({ setting }) => HIGH_FEES[String(setting)] ?? null),
  'an entry of the directory of wallets cannot be read': plain(
    ({ path, error }) => `Error while scanning wallet dir item: ${fieldText(error)} [${path}].`,
  ),
  'wallet transactions submitted again': plain(
    ({ wallet, count }) => `[${wallet}] ResubmitWalletTransactions: resubmit ${count} unconfirmed transactions`,
  ),
  'pruning is limited by a lock': {
    category: 'prune',
    text: ({ lock, height }) => `${lock} limited pruning to height ${height}`,
  },
};

function rejection({ reason, debug }: EventFacts): string {
  return debug === undefined || debug === '' ? String(reason) : `${reason}, ${debug}`;
}
