import { COINBASE_MATURITY } from '../../consensus/limits.ts';
import { positionHeight, positionIndex, txPosition } from '../../primitives/coin.ts';
import { hashToHex } from '../../primitives/hash.ts';
import { parseAddress } from '../../script/address.ts';
import { equalBytes } from '../../util/bytes.ts';
import type { ReadEnv } from '../readers/read-env.ts';
import { type TxFacts, txFacts, unconfirmedFacts } from '../readers/tx-facts.ts';
import { isObject, member, NumberText, type RpcValue } from './json.ts';
import { rpcMethod } from './method.ts';
import { any, readInteger } from './params.ts';
import { rpcFail } from './rpc-error.ts';
import { anyOf, arr, bool, hashStr, hexStr, int, maybe, obj, str, unixTime } from './schema.ts';
import { coinsOfScript } from './script-coins.ts';

/** Microseconds to read an address of the question and to look it up. */
const ADDRESS_US = 30;
/** Microseconds to read one transaction with what it spent, and to look up the id alone. */
const TX_US = 80;
const TXID_US = 8;
/** Above every position. */
const END = txPosition(2 ** 31, 0);

/** An address of the question with its script. */
interface Asked {
  readonly address: string;
  readonly script: Uint8Array;
}

/** Which addresses, and of which heights; the methods take one text or one object. */
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
  });

const range = {
  start: maybe(int('height, together with end')),
  end: maybe(int('height')),
};
const blockName = obj({ hash: hashStr(), height: int() });

/** Reads a question. Throws RpcError with the codes and texts of the address index that Bitcoin Core was once given. */
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

export const getaddressbalance = rpcMethod({
  name: 'getaddressbalance',
  category: 'addressindex',
  help: 'What addresses hold and have received in the chain.',
  params: [question()],
  result: obj({
    balance: int('satoshis'),
    balance_immature: int('satoshis of it that may not be spent yet'),
    balance_spendable: int('satoshis of it that may'),
    received: int('satoshis, change among them'),
  }),
  scope: 'read',
  run(env, given) {
    const { reads, tip } = env;
    let [balance, received, immature] = [0, 0, 0];
    for (const { script } of readQuestion(env, given).asked) {
      env.expectWork(0);
      const totals = reads.scripts.totals(script);
      if (totals === null) continue;
      balance += Number(totals.received - totals.sent);
      received += Number(totals.received);
      immature += reads.scripts.coinbaseValueFrom(totals.id, tip.height - COINBASE_MATURITY + 2);
    }
    return { balance, balance_immature: immature, balance_spendable: balance - immature, received };
  },
});

export const getaddresstxids = rpcMethod({
  name: 'getaddresstxids',
  category: 'addressindex',
  help: 'The transactions of the chain that touch addresses, in its order.',
  params: [question(range)],
  result: arr(hashStr()),
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

export const getaddressutxos = rpcMethod({
  name: 'getaddressutxos',
  category: 'addressindex',
  help: 'The unspent outputs of addresses in the chain.',
  params: [question({ chainInfo: maybe(bool('with the tip')) })],
  result: anyOf(
    arr(utxoSchema(), 'in the order of the chain'),
    obj({ utxos: arr(utxoSchema()), hash: hashStr('the tip'), height: int() }, 'chainInfo is true'),
  ),
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
    address: str(),
    txid: hashStr(),
    outputIndex: int(),
    script: hexStr(),
    satoshis: int(),
    height: int(),
  });
}

const DELTA = obj({
  satoshis: int('below 0 where it is spent'),
  txid: hashStr(),
  index: int('of the output, or of the input that spends'),
  blockindex: int('of the transaction in its block'),
  height: int(),
  address: str(),
});

export const getaddressdeltas = rpcMethod({
  name: 'getaddressdeltas',
  category: 'addressindex',
  help: 'All that was paid to addresses and spent from them in the chain.',
  params: [question({ ...range, chainInfo: maybe(bool('with the blocks of start and end')) })],
  result: anyOf(
    arr(DELTA, 'in the order of the chain'),
    obj({ deltas: arr(DELTA), start: blockName, end: blockName }, 'chainInfo is true, with start and end'),
  ),
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
        const place = { blockindex: positionIndex(position), height: positionHeight(position) };
        return movements(facts, one).map(({ satoshis, index }) => ({
          position,
          view: { satoshis, txid: hashToHex(facts.parsed.txid), index, ...place, address: one.address },
        }));
      });
    });
    const views = deltas.sort((a, b) => a.position - b.position).map(({ view }) => view);
    if (!chainInfo || start === null || end === null) return views;
    return { deltas: views, start: blockView(env, start), end: blockView(env, end) };
  },
});

export const getaddressmempool = rpcMethod({
  name: 'getaddressmempool',
  category: 'addressindex',
  help: 'All that unconfirmed transactions pay to addresses and spend from them.',
  params: [question()],
  result: arr(
    obj({
      address: str(),
      txid: hashStr(),
      index: int('of the output, or of the input that spends'),
      satoshis: int('below 0 where it is spent'),
      timestamp: unixTime('when the transaction came'),
      prevtxid: maybe(hashStr('of what is spent')),
      prevout: maybe(int('of what is spent')),
    }),
    'in the order of arrival',
  ),
  scope: 'read',
  run(env, given) {
    const { mempool } = env;
    const found = readQuestion(env, given).asked.flatMap((one) => {
      const slots = mempool.touching(one.script);
      env.expectWork(slots.length * TX_US);
      return slots.flatMap((slot) => {
        const facts = unconfirmedFacts(env, mempool.get(slot));
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

/** Positions of the transactions that touch a script between two heights, both of them included. */
function historyOf({ reads, expectWork }: ReadEnv, script: Uint8Array, start: number | null, end: number | null) {
  expectWork(0);
  const totals = reads.scripts.totals(script);
  if (totals === null) return [];
  expectWork(totals.txs * 2);
  const above = txPosition(start ?? 0, 0) - 1;
  const below = end === null ? END : txPosition(end + 1, 0);
  return reads.scripts
    .history(totals.id, { above, below, order: 'asc', limit: totals.txs })
    .map(({ position }) => position);
}

/** What a transaction does to a script: first what it spends, then what it pays. */
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
