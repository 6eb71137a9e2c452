import { describe, expect, test } from 'bun:test';
import { regtest } from '../../src/params/regtest.ts';
import type { Txid } from '../../src/primitives/hash.ts';
import { transactionBytes } from '../../src/primitives/transaction.ts';
import { frontBudget, NeedsWorker, type ReadEnv } from '../../src/queries/read-env.ts';
import { parseJson } from '../../src/rpc/engine/json.ts';
import { readArguments } from '../../src/rpc/engine/method.ts';
import { RPC_METHODS } from '../../src/rpc/methods/methods.ts';
import { addressOf } from '../../src/script/address.ts';
import { encodePsbtBase64 } from '../../src/wallet/psbt/encode.ts';
import { createPsbt } from '../../src/wallet/psbt/psbt.ts';

const RANGED =
  'tpubD6NzVbkrYhZ4WaWSyoBvQwbpLkojyoTZPRsgXELWz3Popb3qkjcJyJUGLnL4qHHoQvao8ESaAstxYSnhyswJ76uZPStJRJCTKvosUCJZL5B/*';
/** Addresses without transactions, all different. */
const ADDRESSES = Array.from(
  { length: 100 },
  (_, i) => addressOf(Uint8Array.of(0, 20, ...new Uint8Array(19), i), regtest.address)!,
);
const EMPTY = {
  txs: { byTxid: () => null },
  coins: { get: () => null },
  scripts: { totals: () => null },
  indexes: { covered: () => ({ height: 0 }) },
};

/** Environment with an empty mempool, and with an empty chain unless `reads` is given. */
function run(
  expectWork: ReadEnv['expectWork'],
  name: string,
  params: readonly unknown[],
  reads: unknown = EMPTY,
): unknown {
  const method = RPC_METHODS.get(name)!;
  const env = {
    params: regtest,
    settings: { indexes: { tx: true, address: true, spender: false } },
    reads,
    state: { live: new Set(['positions', 'tx', 'address']) },
    mempool: { findEntry: () => null, touching: () => [] },
    expectWork,
    texts: null,
  } as unknown as ReadEnv;
  return method.invoke(env, readArguments(method, parseJson(JSON.stringify(params))));
}

const manyInputs = (count: number) => ({
  version: 2,
  inputs: Array.from({ length: count }, (_, vout) => ({
    prevout: { txid: new Uint8Array(32).fill(1) as Txid, vout },
    scriptSig: new Uint8Array(0),
    sequence: 0,
    witness: [],
  })),
  outputs: [{ value: 0n, scriptPubKey: new Uint8Array(0) }],
  locktime: 0,
});

describe('the main thread does no long work', () => {
  const hex = transactionBytes(manyInputs(1000)).toHex();
  const KEY = '0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798';
  const inputs = Array.from({ length: 1000 }, (_, vout) => ({ txid: '11'.repeat(32), vout }));
  const cases: Record<string, readonly unknown[]> = {
    decoderawtransaction: [hex],
    decodescript: ['51'.repeat(2000)],
    converttopsbt: [hex],
    combinerawtransaction: [[hex, hex]],
    signrawtransactionwithkey: [hex, []],
    createrawtransaction: [inputs, []],
    createpsbt: [inputs, []],
    createmultisig: [1, Array.from({ length: 1000 }, () => KEY)],
    scantxoutset: ['start', [`raw(${'51'.repeat(2000)})`]],
    decodepsbt: [encodePsbtBase64(createPsbt(manyInputs(1000), 2))],
    getaddressbalance: [{ addresses: ADDRESSES }],
    getaddresstxids: [{ addresses: ADDRESSES }],
    getaddressutxos: [{ addresses: ADDRESSES }],
    getaddressdeltas: [{ addresses: ADDRESSES }],
    getaddressmempool: [{ addresses: ADDRESSES }],
  };
  for (const [name, params] of Object.entries(cases))
    test(name, () => expect(() => run(frontBudget(), name, params)).toThrow(NeedsWorker));

  test('the most frequent calls are short', () => {
    const small = transactionBytes(manyInputs(2)).toHex();
    expect(run(frontBudget(), 'decoderawtransaction', [small])).toMatchObject({ version: 2 });
    expect(run(frontBudget(), 'getaddresstxids', [{ addresses: ADDRESSES.slice(0, 20) }])).toEqual([]);
    expect(run(frontBudget(), 'decodescript', [`5121${KEY}21${KEY}52ae`])).toMatchObject({ type: 'multisig' });
  });
});

describe('a long call ends when its caller has left', () => {
  const tx = manyInputs(100);
  const psbt = encodePsbtBase64(createPsbt(tx, 2));
  const cases: Record<string, readonly unknown[]> = {
    deriveaddresses: [`wpkh(${RANGED})#us40ev37`, 99],
    scantxoutset: ['start', [{ desc: `wpkh(${RANGED})`, range: 99 }]],
    signrawtransactionwithkey: [transactionBytes(tx).toHex(), []],
    finalizepsbt: [psbt],
    analyzepsbt: [psbt],
    utxoupdatepsbt: [psbt],
    descriptorprocesspsbt: [psbt, []],
    getaddressbalance: [{ addresses: ADDRESSES }],
    getaddresstxids: [{ addresses: ADDRESSES }],
  };
  for (const [name, params] of Object.entries(cases))
    test(name, () => {
      let asked = 0;
      const giveUp = () => {
        if (++asked === 50) throw new Error('gone');
      };
      expect(() => run(giveUp, name, params)).toThrow('gone');
    });
});

describe('bounds of a call', () => {
  test('a call derives a bounded number of keys', () => {
    const keys = Array.from({ length: 6 }, () => RANGED).join();
    const object = { desc: `wsh(multi(1,${keys}))`, range: 999_999 };
    const refusal = { rpcCode: -8, message: 'Range is too large' };
    expect(() => run(() => {}, 'scantxoutset', ['start', [object]])).toThrow(expect.objectContaining(refusal));
    expect(() => run(() => {}, 'utxoupdatepsbt', ['', [object]])).toThrow(expect.objectContaining(refusal));
  });

  test('the transactions added to a PSBT are bounded', () => {
    // Every input adds the whole transaction that it spends, here always the same one.
    const parsed = { tx: manyInputs(1), raw: { length: 60_000_000 } };
    const reads = { ...EMPTY, txs: { byTxid: () => ({}) }, transaction: () => ({ parsed }) };
    const psbt = (inputs: number) => encodePsbtBase64(createPsbt(manyInputs(inputs), 2));
    const refusal = { rpcCode: -37, message: 'The transactions that the inputs spend are too large' };
    expect(() => run(() => {}, 'utxoupdatepsbt', [psbt(2)], reads)).toThrow(expect.objectContaining(refusal));
    expect(run(() => {}, 'utxoupdatepsbt', [psbt(1)], reads)).toBeString();
  });
});
