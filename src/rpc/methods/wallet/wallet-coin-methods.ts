import { coins } from '../../../http/core-number.ts';
import { ancestorsOf } from '../../../mempool/relatives.ts';
import { hashToHex, type Txid } from '../../../primitives/hash.ts';
import type { Outpoint } from '../../../primitives/outpoint.ts';
import type { WalletEnv } from '../../../queries/wallet-env.ts';
import { addressOf, parseAddress } from '../../../script/address.ts';
import { WalletTxViews } from '../../../views/core/wallet-tx.ts';
import { availableCoins } from '../../../wallet/read/available-coins.ts';
import { scriptsBehind, solvedScript } from '../../../wallet/read/solved-script.ts';
import type { WalletView } from '../../../wallet/read/wallet-view.ts';
import type { ReceivedCoin } from '../../../wallet/store/wallet-reads.ts';
import { checkLabel, readWallet, WATCH_ONLY_NOTE, walletName } from '../../engine/call-wallet.ts';
import { EXAMPLE, example } from '../../engine/example.ts';
import { isObject, member, type RpcObject, type RpcValue } from '../../engine/json.ts';
import { nodeMethod, type RpcMethod, walletMethod } from '../../engine/method.ts';
import {
  array,
  checkMembers,
  flagParam,
  integerParam,
  optional,
  options,
  readAmount,
  readHashValue,
  readInteger,
  readString,
  textParam,
} from '../../engine/params.ts';
import { orFail, rpcFail } from '../../engine/rpc-error.ts';
import { bool, coinAmount, int, noted } from '../../engine/schema.ts';
import { addressList, scriptsOf } from './wallet-methods.ts';
import { amountSchema, outpointsSchema } from './wallet-option-schemas.ts';
import { lockedCoins, receivedByAddress, receivedByLabel, unspentCoins } from './wallet-schemas.ts';

const MAX_DEPTH = 9_999_999;
/** Microseconds to show a coin. */
const COIN_US = 60;
/** Microseconds to parse an address. */
const ADDRESS_US = 20;
/** Microseconds to look up a script. */
const SCRIPT_US = 15;
/** Microseconds to add up one receipt. */
const RECEIVED_US = 6;

const listunspent = walletMethod({
  name: 'listunspent',
  help: 'Returns the unspent outputs of the wallet. Locked ones are left out.',
  params: [
    optional(integerParam('minconf', { note: 'Lowest number of confirmations.' }), 1),
    optional(integerParam('maxconf', { note: 'Highest number of confirmations.' }), MAX_DEPTH),
    optional(addressList, [] as string[]),
    optional(flagParam('include_unsafe', { note: 'Whether unconfirmed outputs from others are included.' }), true),
    optional(
      options(
        'query_options',
        {
          minimumAmount: noted(amountSchema, 'lowest amount of an output'),
          maximumAmount: noted(amountSchema, 'highest amount of an output'),
          maximumCount: int('highest number of outputs; 0 for all'),
          minimumSumAmount: noted(amountSchema, 'the list ends when its sum reaches this amount'),
          include_immature_coinbase: bool('whether immature coinbase outputs are included; false by default'),
        },
        { note: 'Further filters.' },
      ),
      {},
    ),
  ],
  result: unspentCoins,
  examples: [
    example([]),
    example([6, 9999999, [EXAMPLE.address]]),
    example({ query_options: { minimumAmount: 0.01 } }),
  ],
  run(env, minDepth, maxDepth, addresses, includeUnsafe, query) {
    const filter = coinFilter(query);
    const { view, params } = env;
    env.expectWork(addresses.length * ADDRESS_US + view.reads.unspentCount() * COIN_US);
    const scripts = scriptsOf(addresses, params);
    const views = new WalletTxViews(view, params);
    const avoidReuse = view.reads.meta('flags')?.includes('avoid_reuse') ?? false;
    const wanted = { minDepth, maxDepth, includeUnsafe, ...filter };
    const found = availableCoins(view, wanted);
    return found
      .filter(({ coin }) => scripts.size === 0 || scripts.has(coin.script.toHex()))
      .map(({ coin, depth, safe }) => {
        const { script } = coin;
        const address = addressOf(script, params.address);
        const entry = address === null ? null : view.reads.bookEntry(script);
        const solved = solvedScript(view.reads, script, params);
        const waiting = depth === 0 ? ancestry(env, coin.txid) : null;
        return {
          txid: hashToHex(coin.txid),
          vout: coin.vout,
          ...(address !== null && { address }),
          ...(entry && { label: entry.label }),
          ...(address !== null && solved && scriptsBehind(script, solved.data)),
          scriptPubKey: script.toHex(),
          amount: coins(coin.value),
          confirmations: depth,
          ...waiting,
          spendable: true,
          solvable: solved?.solvable ?? false,
          ...(solved?.solvable && { desc: solved.text }),
          parent_descs: views.parents(script),
          ...(avoidReuse && { reused: view.reads.isUsed(script) }),
          safe,
        };
      });
  },
  mempoolPart: ({ view, mempool: { entries } }) =>
    view.reads.unconfirmedUnspent().flatMap(({ txid }) => {
      const slot = entries.find(txid);
      return slot < 0 ? [] : ancestorsOf(entries, slot);
    }),
});

const AMOUNTS = ['minimumAmount', 'maximumAmount', 'minimumSumAmount'];

function coinFilter(query: RpcObject) {
  checkMembers(Object.fromEntries(Object.entries(query).filter(([key]) => !key.endsWith('Amount'))), {
    maximumCount: 'number',
    include_immature_coinbase: 'bool',
  });
  const amountOf = (key: string) => {
    const value = member(query, key);
    return value === null ? null : Number(readAmount(value));
  };
  const count = member(query, 'maximumCount');
  for (const key of Object.keys(query))
    if (key.endsWith('Amount') && !AMOUNTS.includes(key)) rpcFail('type', `Unexpected key ${key}`);
  return {
    minValue: amountOf('minimumAmount') ?? 0,
    maxValue: amountOf('maximumAmount'),
    minSum: amountOf('minimumSumAmount'),
    maxCount: count === null ? 0 : readInteger(count),
    includeImmature: member(query, 'include_immature_coinbase') === true,
  };
}

/** Returns the sums over an unconfirmed transaction and its ancestors in the mempool. */
function ancestry({ mempool }: WalletEnv, txid: Uint8Array) {
  const { entries } = mempool;
  const slot = entries.find(txid);
  if (slot < 0) return {};
  const sums = { count: 1, size: entries.vsize(slot), fees: entries.modifiedFee(slot) };
  for (const ancestor of ancestorsOf(entries, slot)) {
    if (ancestor === slot) continue;
    sums.count++;
    sums.size += entries.vsize(ancestor);
    sums.fees += entries.modifiedFee(ancestor);
  }
  return { ancestorcount: sums.count, ancestorsize: sums.size, ancestorfees: sums.fees };
}

const lockunspent = nodeMethod({
  name: 'lockunspent',
  category: 'wallet',
  help: 'Locks outputs, so that the wallet does not select them for new transactions, or unlocks them.',
  params: [
    flagParam('unlock', { note: 'True to unlock, false to lock.' }),
    optional(
      array('transactions', (value) => value, {
        schema: outpointsSchema,
        note: 'Outputs to lock or unlock; to unlock all outputs, leave it out.',
      }),
      null,
    ),
    optional(
      flagParam('persistent', {
        note: 'Whether the lock is stored in the wallet; otherwise it ends when the wallet is unloaded.',
      }),
      false,
    ),
  ],
  result: bool('true'),
  examples: [example([false, [{ txid: EXAMPLE.txid, vout: 0 }]]), example([true])],
  scope: 'wallet.spend',
  async run(env, unlock, given, persistent) {
    const name = walletName(env);
    const outpoints = given?.map(readOutpoint) ?? null;
    orFail(await env.ctx.node().call('walletLockCoins', name, unlock, outpoints, persistent));
    return true;
  },
});

function readOutpoint(value: RpcValue): Outpoint {
  if (!isObject(value)) return rpcFail('type', 'JSON value is not of expected type object');
  // As Core: entries of listunspent are outpoints with more members.
  checkMembers(value, { txid: 'string', vout: 'number' }, { strict: false });
  for (const key of ['txid', 'vout']) if (member(value, key) === null) rpcFail('type', `Missing ${key}`);
  const txid = readHashValue<Txid>(readString(member(value, 'txid')), 'txid');
  const vout = readInteger(member(value, 'vout'));
  return vout < 0 ? rpcFail('invalidParameter', 'Invalid parameter, vout cannot be negative') : { txid, vout };
}

const listlockunspent = nodeMethod({
  name: 'listlockunspent',
  category: 'wallet',
  help: 'Returns the locked outputs.',
  params: [],
  result: lockedCoins,
  scope: 'wallet.read',
  run: (env) =>
    readWallet(env, ({ reads }) => reads.locked().map(({ txid, vout }) => ({ txid: hashToHex(txid), vout }))),
});

const minconfParam = optional(integerParam('minconf', { note: 'Confirmations that a transaction needs to count.' }), 1);
const immatureParam = optional(
  flagParam('include_immature_coinbase', { note: 'Whether immature coinbase outputs count.' }),
  false,
);
const receivedParams = [minconfParam, immatureParam] as const;

const getreceivedbyaddress = walletMethod({
  name: 'getreceivedbyaddress',
  help: 'Returns the sum that an address of the wallet has received.',
  params: [textParam('address', { note: 'Address of the wallet.' }), ...receivedParams],
  result: coinAmount(),
  examples: [example([EXAMPLE.address]), example([EXAMPLE.address, 6])],
  run({ view, params, expectWork }, address, minDepth, includeImmature) {
    const parsed = parseAddress(address, params.address);
    if (!parsed.ok) return rpcFail('invalidAddressOrKey', 'Invalid Bitcoin address');
    return coins(receivedOn(view, expectWork, [parsed.script], minDepth, includeImmature));
  },
});

const getreceivedbylabel = walletMethod({
  name: 'getreceivedbylabel',
  help: 'Returns the sum that the addresses with a label have received.',
  params: [
    textParam('label', { note: 'Label of the addresses; the empty label is a label as well.' }),
    ...receivedParams,
  ],
  result: coinAmount(),
  examples: [example(['donations']), example(['donations', 6])],
  run({ view, expectWork }, label, minDepth, includeImmature) {
    const entries = view.reads.entriesWithLabel(checkLabel(label));
    if (entries.length === 0) rpcFail('wallet', 'Label not found in wallet');
    const scripts = entries.map(({ script }) => script);
    return coins(receivedOn(view, expectWork, scripts, minDepth, includeImmature));
  },
});

function receivedOn(
  view: WalletView,
  expectWork: WalletEnv['expectWork'],
  scripts: readonly Uint8Array[],
  minDepth: number,
  includeImmature: boolean,
) {
  expectWork(scripts.length * SCRIPT_US);
  const mine = scripts.filter((script) => view.reads.keys.scripts(script).length > 0);
  if (mine.length === 0) rpcFail('wallet', 'Address not found in wallet');
  let sum = 0;
  for (const script of mine) {
    const received = view.reads.receivedBy(script);
    expectWork(received.length * RECEIVED_US);
    for (const coin of received) if (counts(view, coin, minDepth, includeImmature)) sum += coin.value;
  }
  return sum;
}

function counts(view: WalletView, coin: ReceivedCoin, minDepth: number, includeImmature: boolean): boolean {
  const depth = view.depth(coin);
  if (depth < minDepth || (coin.coinbase && depth < 1)) return false;
  return includeImmature || !view.isImmature(coin);
}

const emptyParam = optional(
  flagParam('include_empty', { note: 'Whether addresses that received nothing are included.' }),
  false,
);

interface Tally {
  amount: number;
  depth: number;
  readonly txids: string[];
}

const NEVER = Number.MAX_SAFE_INTEGER;

/** Returns the sums that own addresses have received, by their scripts in hex. */
function tally(view: WalletView, minDepth: number, includeImmature: boolean, only: Uint8Array | null) {
  const tallies = new Map<string, Tally>();
  for (const coin of only ? view.reads.receivedBy(only) : view.reads.received()) {
    if (!counts(view, coin, minDepth, includeImmature)) continue;
    const key = coin.script.toHex();
    let sum = tallies.get(key);
    if (!sum) tallies.set(key, (sum = { amount: 0, depth: NEVER, txids: [] }));
    sum.amount += coin.value;
    sum.depth = Math.min(sum.depth, view.depth(coin));
    sum.txids.push(hashToHex(coin.txid));
  }
  return tallies;
}

/** Returns the labelled addresses that a list of receipts shows, each with its sum. */
function receivedEntries(
  view: WalletView,
  { minDepth, includeEmpty, includeImmature, only }: ReceivedQuery,
): { address: string; label: string; sum: Tally }[] {
  const tallies = tally(view, minDepth, includeImmature, only);
  const entry = only && view.reads.bookEntry(only);
  const entries = only ? (entry ? [entry] : []) : view.reads.addressBook();
  return entries.flatMap(({ script, address, label }) => {
    const sum = tallies.get(script.toHex());
    if (sum) return { address, label, sum };
    if (!includeEmpty || view.reads.keys.scripts(script).length === 0) return [];
    return { address, label, sum: { amount: 0, depth: NEVER, txids: [] } };
  });
}

interface ReceivedQuery {
  readonly minDepth: number;
  readonly includeEmpty: boolean;
  readonly includeImmature: boolean;
  readonly only: Uint8Array | null;
}

const listreceivedbyaddress = walletMethod({
  name: 'listreceivedbyaddress',
  help: 'Returns the sums that the addresses of the wallet have received.',
  params: [
    minconfParam,
    emptyParam,
    optional(flagParam('include_watchonly', { note: WATCH_ONLY_NOTE }), false),
    optional(textParam('address_filter', { note: 'Address to list; all addresses if it is empty.' }), ''),
    immatureParam,
  ],
  result: receivedByAddress,
  examples: [example([]), example([6, true])],
  run(env, minDepth, includeEmpty, _watchOnly, filter, includeImmature) {
    const { view, params } = env;
    env.expectWork(view.reads.receivedCount() * RECEIVED_US);
    const parsed = filter === '' ? null : parseAddress(filter, params.address);
    if (parsed && !parsed.ok) return rpcFail('wallet', 'address_filter parameter was invalid');
    const query = { minDepth, includeEmpty, includeImmature, only: parsed?.script ?? null };
    return receivedEntries(view, query).map(({ address, label, sum }) => ({
      address,
      amount: coins(sum.amount),
      confirmations: sum.depth === NEVER ? 0 : sum.depth,
      label,
      txids: sum.txids,
    }));
  },
});

const listreceivedbylabel = walletMethod({
  name: 'listreceivedbylabel',
  help: 'Returns the sums that the addresses with each label have received.',
  params: [
    minconfParam,
    emptyParam,
    optional(flagParam('include_watchonly', { note: WATCH_ONLY_NOTE }), false),
    immatureParam,
  ],
  result: receivedByLabel,
  examples: [example([]), example([6, true])],
  run(env, minDepth, includeEmpty, _watchOnly, includeImmature) {
    const { view } = env;
    env.expectWork(view.reads.receivedCount() * RECEIVED_US);
    const labels = new Map<string, { amount: number; depth: number }>();
    for (const { label, sum } of receivedEntries(view, { minDepth, includeEmpty, includeImmature, only: null })) {
      const { amount, depth } = labels.get(label) ?? { amount: 0, depth: NEVER };
      labels.set(label, { amount: amount + sum.amount, depth: Math.min(depth, sum.depth) });
    }
    return [...labels]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([label, { amount, depth }]) => ({
        amount: coins(amount),
        confirmations: depth === NEVER ? 0 : depth,
        label,
      }));
  },
});

export const walletCoinMethods: readonly RpcMethod[] = [
  listunspent,
  lockunspent,
  listlockunspent,
  getreceivedbyaddress,
  getreceivedbylabel,
  listreceivedbyaddress,
  listreceivedbylabel,
];
