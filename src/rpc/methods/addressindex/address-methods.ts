import { COINBASE_MATURITY } from '../../../consensus/limits.ts';
import { positionHeight, positionIndex, txPosition } from '../../../primitives/coin.ts';
import { hashToHex } from '../../../primitives/hash.ts';
import { addressIndexOf } from '../../../queries/index-reads.ts';
import type { ReadEnv } from '../../../queries/read-env.ts';
import { type TxFacts, txFacts, unconfirmedFacts } from '../../../queries/tx-facts.ts';
import { parseAddress } from '../../../script/address.ts';
import { equalBytes } from '../../../util/bytes.ts';
import { EXAMPLE, example } from '../../engine/example.ts';
import { isObject, member, NumberText, type RpcValue } from '../../engine/json.ts';
import { type RpcMethod, rpcMethod } from '../../engine/method.ts';
import { any, readInteger } from '../../engine/params.ts';
import { rpcFail } from '../../engine/rpc-error.ts';
import { anyOf, arr, bool, hashStr, hexStr, int, maybe, noted, obj, str, unixTime } from '../../engine/schema.ts';
import { coinsOfScript } from '../blockchain/script-coins.ts';

/** Microseconds to parse an address and to look it up. */
const ADDRESS_US = 30;
/** Microseconds to read a transaction with the outputs that it spends. */
const TX_US = 80;
/** Microseconds to look up a txid. */
const TXID_US = 8;
/** Above every position. */
const END = txPosition(2 ** 31, 0);

/** A requested address with its script. */
interface Asked {
  readonly address: string;
  readonly script: Uint8Array;
}

/** Requested addresses and heights. */
interface Question {
  readonly asked: readonly Asked[];
  readonly start: number | null;
  readonly end: number | null;
  readonly chainInfo: boolean;
}

const question = (more: Parameters<typeof obj>[0] = {}) =>
  any('addresses', {
    oneline: '{"addresses":["address",...]}',
    schema: anyOf(str('one address'), obj({ addresses: arr(str()), ...more })),
    note: 'One address, or an object with a list of addresses.',
  });

const range = {
  start: maybe(int('first height, above 0; has an effect only together with end')),
  end: maybe(int('last height, not below start')),
};
const blockName = obj({ hash: hashStr('hash of the block'), height: int('height of the block') });

const ADDRESS_EXAMPLES = [
  example([EXAMPLE.address]),
  example([{ addresses: [EXAMPLE.address, EXAMPLE.otherAddress] }]),
];

/** Parses the argument. Throws RpcError with the codes and texts of the address index patch for Bitcoin Core. */
function readQuestion({ params, expectWork }: Pick<ReadEnv, 'params' | 'expectWork'>, value: RpcValue): Question {
  if (typeof value !== 'string' && !isObject(value)) return rpcFail('invalidAddressOrKey', 'Invalid address');
  const object = typeof value === 'string' ? { addresses: [value] } : value;
  const list = member(object, 'addresses');
  if (!Array.isArray(list)) return rpcFail('invalidAddressOrKey', 'Addresses is expected to be an array');
  expectWork(list.length * ADDRESS_US);
  const asked = (list as RpcValue[]).map((one) => {
    expectWork(0);
    const parsed = typeof one === 'string' ? parseAddress(one, params.address) : null;
    return parsed?.ok
      ? { address: parsed.address, script: parsed.script }
      : rpcFail('invalidAddressOrKey', 'Invalid address', 'invalid_address', parsed && { reason: parsed.reason });
  });
  const height = (name: string) => {
    const given = member(object, name);
    return given instanceof NumberText ? readInteger(given) : null;
  };
  const [start, end] = [height('start'), height('end')];
  if (start !== null && end !== null) {
    if (start <= 0 || end <= 0)
      return rpcFail('invalidAddressOrKey', 'Start and end is expected to be greater than zero');
    if (end < start) return rpcFail('invalidAddressOrKey', 'End value is expected to be greater than start');
  }
  const bounded = start !== null && end !== null;
  return {
    asked: [...new Map(asked.map((one) => [one.address, one])).values()],
    start: bounded ? start : null,
    end: bounded ? end : null,
    chainInfo: member(object, 'chainInfo') === true,
  };
}

const getaddressbalance = rpcMethod({
  name: 'getaddressbalance',
  category: 'addressindex',
  help: 'Returns the confirmed balance of addresses and the sum of their receipts.',
  params: [question()],
  result: obj({
    balance: int('satoshis'),
    balance_immature: int('satoshis of the balance in coinbase outputs that cannot be spent yet'),
    balance_spendable: int('satoshis of the balance that can be spent'),
    received: int('satoshis, including change'),
  }),
  examples: ADDRESS_EXAMPLES,
  scope: 'read',
  run(env, given) {
    const { tip } = env;
    const scripts = addressIndexOf(env);
    let [balance, received, immature] = [0, 0, 0];
    for (const { script } of readQuestion(env, given).asked) {
      env.expectWork(0);
      const totals = scripts.totals(script);
      if (totals === null) continue;
      balance += Number(totals.received - totals.sent);
      received += Number(totals.received);
      immature += scripts.coinbaseValueFrom(totals.key, tip.height - COINBASE_MATURITY + 2);
    }
    return { balance, balance_immature: immature, balance_spendable: balance - immature, received };
  },
});

const getaddresstxids = rpcMethod({
  name: 'getaddresstxids',
  category: 'addressindex',
  help: 'Returns the txids of the confirmed transactions that pay to addresses or spend from them.',
  params: [question(range)],
  result: arr(hashStr(), 'in the order of the chain'),
  examples: [...ADDRESS_EXAMPLES, example([{ addresses: [EXAMPLE.address], start: 1, end: 100 }])],
  scope: 'read',
  run(env, given) {
    const { asked, start, end } = readQuestion(env, given);
    const positions = new Set(asked.flatMap(({ script }) => historyOf(env, script, start, end)));
    env.expectWork(positions.size * TXID_US);
    return [...positions]
      .sort((a, b) => a - b)
      .map((position) => {
        env.expectWork(0);
        return hashToHex(env.reads.txs.byPosition(position)!.txid);
      });
  },
});

const getaddressutxos = rpcMethod({
  name: 'getaddressutxos',
  category: 'addressindex',
  help: 'Returns the confirmed unspent outputs of addresses.',
  params: [question({ chainInfo: maybe(bool('adds the tip; false by default')) })],
  result: anyOf(
    arr(utxoSchema(), 'in the order of the chain'),
    obj(
      {
        utxos: arr(utxoSchema(), 'in the order of the chain'),
        hash: hashStr('hash of the tip'),
        height: int('height of the block'),
      },
      'chainInfo is true',
    ),
  ),
  examples: [...ADDRESS_EXAMPLES, example([{ addresses: [EXAMPLE.address], chainInfo: true }])],
  scope: 'read',
  run(env, given) {
    const { asked, chainInfo } = readQuestion(env, given);
    const found = asked.flatMap(({ address, script }) =>
      [...coinsOfScript(env, script)].map((coin) => ({ address, ...coin })),
    );
    found.sort((a, b) => a.position - b.position || a.vout - b.vout);
    const utxos = found.map(({ address, txid, vout, script, value, position }) => ({
      address,
      txid: hashToHex(txid),
      outputIndex: vout,
      script: script.toHex(),
      satoshis: value,
      height: positionHeight(position),
    }));
    return chainInfo ? { utxos, ...blockView(env, env.tip.height) } : utxos;
  },
});

function utxoSchema() {
  return obj({
    address: str('the address'),
    txid: hashStr('id of the transaction'),
    outputIndex: int('index of the output'),
    script: hexStr('output script'),
    satoshis: int('value of the output, satoshis'),
    height: int('height of the block'),
  });
}

const DELTA = obj({
  satoshis: int('negative for a spend'),
  txid: hashStr('id of the transaction'),
  index: int('index of the output, or of the spending input'),
  blockindex: int('index of the transaction within its block'),
  height: int('height of the block'),
  address: str('the address'),
});

const getaddressdeltas = rpcMethod({
  name: 'getaddressdeltas',
  category: 'addressindex',
  help: 'Returns the confirmed payments to addresses and spends from them.',
  params: [question({ ...range, chainInfo: maybe(bool('adds the blocks at start and end; false by default')) })],
  result: anyOf(
    arr(DELTA, 'in the order of the chain'),
    obj(
      {
        deltas: arr(DELTA, 'in the order of the chain'),
        start: noted(blockName, 'block at the height start'),
        end: noted(blockName, 'block at the height end'),
      },
      'chainInfo is true, and start and end are given',
    ),
  ),
  examples: [...ADDRESS_EXAMPLES, example([{ addresses: [EXAMPLE.address], start: 1, end: 100 }])],
  scope: 'read',
  run(env, given) {
    const { asked, start, end, chainInfo } = readQuestion(env, given);
    if (chainInfo && end !== null && end > env.tip.height)
      return rpcFail('invalidAddressOrKey', 'Start or end is outside chain range', 'block_not_found');
    const deltas = asked.flatMap((one) => {
      const positions = historyOf(env, one.script, start, end);
      env.expectWork(positions.length * TX_US);
      return positions.flatMap((position) => {
        env.expectWork(0);
        const facts = txFacts(env, env.reads.txs.byPosition(position)!);
        const located = { blockindex: positionIndex(position), height: positionHeight(position) };
        return movements(facts, one).map(({ satoshis, index }) => ({
          position,
          view: { satoshis, txid: hashToHex(facts.parsed.txid), index, ...located, address: one.address },
        }));
      });
    });
    const views = deltas.sort((a, b) => a.position - b.position).map(({ view }) => view);
    if (!chainInfo || start === null || end === null) return views;
    return { deltas: views, start: blockView(env, start), end: blockView(env, end) };
  },
});

const getaddressmempool = rpcMethod({
  name: 'getaddressmempool',
  category: 'addressindex',
  help: 'Returns the payments to addresses and the spends from them in the mempool.',
  params: [question()],
  result: arr(
    obj({
      address: str('the address'),
      txid: hashStr('id of the transaction'),
      index: int('index of the output, or of the spending input'),
      satoshis: int('negative for a spend'),
      timestamp: unixTime('time of acceptance'),
      prevtxid: maybe(hashStr('txid of the spent output; only for a spend')),
      prevout: maybe(int('index of the spent output; only for a spend')),
    }),
    'in the order of arrival',
  ),
  examples: ADDRESS_EXAMPLES,
  scope: 'read',
  run(env, given) {
    const { mempool } = env;
    const found = readQuestion(env, given).asked.flatMap((one) => {
      const slots = mempool.slotsOfScript(one.script);
      env.expectWork(slots.length * TX_US);
      return slots.flatMap((slot) => {
        const facts = unconfirmedFacts(env, mempool.entryAt(slot));
        return movements(facts, one).map((moved) => ({ slot, address: one.address, facts, ...moved }));
      });
    });
    found.sort((a, b) => mempool.entries.order(a.slot) - mempool.entries.order(b.slot));
    return found.map(({ address, facts, satoshis, index, isSpent }) => {
      const { prevout } = facts.parsed.tx.inputs[index] ?? {};
      return {
        address,
        txid: hashToHex(facts.parsed.txid),
        index,
        satoshis,
        timestamp: facts.unconfirmed!.time,
        ...(isSpent && { prevtxid: hashToHex(prevout!.txid), prevout: prevout!.vout }),
      };
    });
  },
  scripts: (env, given) => readQuestion(env, given).asked.map(({ script }) => script),
});

/** Returns the positions of the transactions that touch a script between two heights, both included. */
function historyOf(env: ReadEnv, script: Uint8Array, start: number | null, end: number | null) {
  const { expectWork } = env;
  const scripts = addressIndexOf(env);
  expectWork(0);
  const totals = scripts.totals(script);
  if (totals === null) return [];
  expectWork(totals.txs * 2);
  const above = txPosition(start ?? 0, 0) - 1;
  const below = end === null ? END : txPosition(end + 1, 0);
  return scripts.history(totals.key, { above, below, order: 'asc', limit: totals.txs }).map(({ position }) => position);
}

/** Returns the spends from a script and the payments to it of one transaction, spends first. */
function movements({ parsed, spent }: TxFacts, { script }: Asked) {
  const ins = (spent ?? []).flatMap(({ output }, index) =>
    equalBytes(output.scriptPubKey, script) ? [{ satoshis: -Number(output.value), index, isSpent: true }] : [],
  );
  const outs = parsed.tx.outputs.flatMap(({ value, scriptPubKey }, index) =>
    equalBytes(scriptPubKey, script) ? [{ satoshis: Number(value), index, isSpent: false }] : [],
  );
  return [...ins, ...outs];
}

function blockView({ reads }: ReadEnv, height: number) {
  return { hash: hashToHex(reads.headers.byHeight(height)!.hash), height };
}

export const addressMethods: readonly RpcMethod[] = [
  getaddressbalance,
  getaddresstxids,
  getaddressutxos,
  getaddressdeltas,
  getaddressmempool,
];
