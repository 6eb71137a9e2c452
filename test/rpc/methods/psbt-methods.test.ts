import { afterAll, expect, test } from 'bun:test';
import { hash160, sha256 } from '../../../src/crypto/hash-functions.ts';
import { regtest } from '../../../src/params/regtest.ts';
import { type Transaction, transactionBytes, transactionFromBytes } from '../../../src/primitives/transaction.ts';
import { addressOf } from '../../../src/script/address.ts';
import { p2tr, p2wpkh } from '../../../src/script/templates.ts';
import { encodeWif } from '../../../src/script/wif.ts';
import { hexToBytes } from '../../../src/util/bytes.ts';
import { PrivateKey } from '../../../src/wallet/keys/private-key.ts';
import {
  type ApiFixture,
  describeWithVectors,
  expectedOfMixedChain,
  mixedChainDir,
  startTestApi,
} from '../../lib/chain-api.ts';
import { readVectorJson } from '../../lib/vectors.ts';

const key = new PrivateKey(sha256(Uint8Array.of(1)));
const wif = encodeWif({ secret: key.reveal(), compressed: true }, regtest.wif);
const scriptPubKey = p2wpkh(hash160(key.publicKey));
const address = addressOf(scriptPubKey, regtest.address)!;
const TXID = '11'.repeat(32);

describeWithVectors('PSBTs and signing over JSON-RPC', () => {
  const { transactions } = expectedOfMixedChain();
  const api: ApiFixture = startTestApi(mixedChainDir());
  afterAll(() => api.close());

  const errorOf = async (method: string, ...params: unknown[]) => {
    const response = await api.post('/', JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
    const { error } = (await response.json()) as { error?: { code: number; message: string } };
    return error && [error.code, error.message];
  };
  const inputs = [{ txid: TXID, vout: 1 }];
  const outputs = [{ [address]: 0.5 }, { data: '00ff' }];

  test('createrawtransaction returns the transaction, and rejects invalid arguments', async () => {
    const hex = await api.rpc<string>('createrawtransaction', inputs, outputs, 100);
    const tx = transactionFromBytes(hexToBytes(hex));
    expect(tx).toMatchObject({ version: 2, locktime: 100 });
    expect(tx.inputs[0]).toMatchObject({ sequence: 0xffff_fffd });
    expect(tx.outputs.map(({ value }) => value)).toEqual([50_000_000n, 0n]);
    const sequence = async (replaceable: boolean, locktime: number) => {
      const made = await api.rpc<string>('createrawtransaction', inputs, outputs, locktime, replaceable);
      return transactionFromBytes(hexToBytes(made)).inputs[0]!.sequence;
    };
    expect([await sequence(false, 0), await sequence(false, 5)]).toEqual([0xffff_ffff, 0xffff_fffe]);
    const refused = (...params: unknown[]) => errorOf('createrawtransaction', ...params);
    expect(await refused([{ txid: TXID, vout: 0, sequence: 4294967295 }], {}, 0, true)).toEqual([
      -8,
      'Invalid parameter combination: Sequence number(s) contradict replaceable option',
    ]);
    expect(await refused(inputs, [{ [address]: 1 }, { [address]: 2 }])).toEqual([
      -8,
      `Invalid parameter, duplicated address: ${address}`,
    ]);
    const repeated = async (outputs: string) => {
      const response = await api.post('/', `{"id":1,"method":"createrawtransaction","params":[[],${outputs}]}`);
      return ((await response.json()) as { error: { message: string } }).error.message;
    };
    expect(await repeated(`{"${address}":1,"${address}":2}`)).toBe(`Invalid parameter, duplicated address: ${address}`);
    expect(await repeated('{"data":"00","data":"01"}')).toBe('Invalid parameter, duplicate key: data');
    expect(await refused(inputs, { nowhere: 1 })).toEqual([-5, 'Invalid Bitcoin address: nowhere']);
    expect(await refused(inputs, {}, -1)).toEqual([-8, 'Invalid parameter, locktime out of range']);
    expect(await refused(inputs, {}, 0, true, 4)).toEqual([-8, 'Invalid parameter, version out of range(1~3)']);
    expect(await refused([{ txid: TXID }], {})).toEqual([-8, 'Invalid parameter, missing vout key']);
  });

  test('createpsbt, decodepsbt, analyzepsbt, combinepsbt, finalizepsbt and converttopsbt agree on a PSBT', async () => {
    for (const version of [0, 2]) {
      const created = await api.rpc<string>('createpsbt', inputs, outputs, 0, true, 2, version);
      expect(await api.rpc('decodepsbt', created)).toMatchObject({ psbt_version: version });
      expect(await api.rpc('analyzepsbt', created)).toMatchObject({ next: 'updater' });
      expect(await api.rpc('combinepsbt', [created, created])).toBe(created);
      expect(await api.rpc('finalizepsbt', created)).toEqual({ psbt: created, complete: false });
      const hex = await api.rpc<string>('createrawtransaction', inputs, outputs);
      expect(await api.rpc('converttopsbt', hex, false, null, version)).toBe(created);
    }
    expect(await errorOf('createpsbt', inputs, outputs, 0, true, 2, 1)).toEqual([
      -8,
      'The PSBT version can only be 2 or 0',
    ]);
    expect(await errorOf('decodepsbt', 'AAAA')).toEqual([
      -22,
      'TX decode failed SpanReader::read(): end of data: iostream error',
    ]);
    expect(await errorOf('decodepsbt', ';')).toEqual([-22, 'TX decode failed invalid base64']);
    expect(await errorOf('combinepsbt', [])).toEqual([-8, "Parameter 'txs' cannot be empty"]);
    expect(await errorOf('joinpsbts', ['x'])).toEqual([-8, 'At least two PSBTs are required to join PSBTs.']);
  });

  test('utxoupdatepsbt finds the spent outputs in the chain', async () => {
    const { txid, hex } = transactions[0]!;
    const created = await api.rpc<string>('createpsbt', [{ txid, vout: 0 }], {});
    const updated = await api.rpc<string>('utxoupdatepsbt', created);
    const { inputs: shown } = await api.rpc<{ inputs: Record<string, { txid: string }>[] }>('decodepsbt', updated);
    // The whole transaction is dropped again if all spent coins are taproot.
    const { scriptPubKey: script } = transactionFromBytes(hexToBytes(hex)).outputs[0]!;
    const taproot = script.length === 34 && p2tr(script.subarray(2)).toHex() === script.toHex();
    if (!taproot) expect(shown[0]!.non_witness_utxo!.txid).toBe(txid);
    expect(await errorOf('utxoupdatepsbt', created, ['nothing'])).toEqual([
      -5,
      "'nothing' is not a valid descriptor function",
    ]);
  });

  test('descriptorprocesspsbt signs with the keys of descriptors', async () => {
    const { hex } = transactions[0]!;
    const before: Transaction = {
      ...transactionFromBytes(hexToBytes(hex)),
      outputs: [{ value: 100_000_000n, scriptPubKey }],
    };
    const raw = transactionBytes(before).toHex();
    const { txid } = await api.rpc<{ txid: string }>('decoderawtransaction', raw);
    const spend = await api.rpc<string>('createrawtransaction', [{ txid, vout: 0 }], outputs);
    const prevtx = { txid, vout: 0, scriptPubKey: scriptPubKey.toHex(), amount: 1 };
    const signed = await api.rpc<{ hex: string; complete: boolean }>(
      'signrawtransactionwithkey',
      spend,
      [wif],
      [prevtx],
    );
    expect(signed.complete).toBe(true);
    expect(transactionFromBytes(hexToBytes(signed.hex)).inputs[0]!.witness.length).toBe(2);
    // The node does not know the coin, so it cannot sign.
    const psbt = await api.rpc<string>('converttopsbt', spend);
    const processed = await api.rpc<{ complete: boolean }>('descriptorprocesspsbt', psbt, [`wpkh(${wif})`]);
    expect(processed.complete).toBe(false);
  });

  test('signrawtransactionwithkey reports the missing data without secrets', async () => {
    const hex = await api.rpc<string>('createrawtransaction', inputs, outputs);
    const prevtx = { txid: TXID, vout: 1, scriptPubKey: scriptPubKey.toHex(), amount: 1 };
    expect(await api.rpc('signrawtransactionwithkey', hex, [wif])).toEqual({
      hex,
      complete: false,
      errors: [
        {
          txid: TXID,
          vout: 1,
          witness: [],
          scriptSig: '',
          sequence: 0xffff_fffd,
          error: 'Input not found or already spent',
        },
      ],
    });
    const { amount: _, ...withoutAmount } = prevtx;
    expect(await errorOf('signrawtransactionwithkey', hex, [wif], [withoutAmount])).toEqual([
      -3,
      `Missing amount for CTxOut(nValue=21000000.00000000, scriptPubKey=${scriptPubKey.toHex().slice(0, 30)})`,
    ]);
    expect(await errorOf('signrawtransactionwithkey', hex, [`${wif}x`], [prevtx])).toEqual([-5, 'Invalid private key']);
    expect(await errorOf('signrawtransactionwithkey', hex, [wif], [prevtx], 'all')).toEqual([
      -8,
      "'all' is not a valid sighash parameter.",
    ]);
    expect(await errorOf('combinerawtransaction', [hex])).toEqual([
      -22,
      'Missing transactions. At least two transactions required.',
    ]);
    expect(await errorOf('combinerawtransaction', [hex, hex])).toEqual([-25, 'Input not found or already spent']);
  });

  for (const [i, { hex, ...shown }] of transactions.slice(0, 20).entries())
    test(`decoderawtransaction ${i}`, async () => {
      const decoded = await api.rpc<Record<string, unknown>>('decoderawtransaction', hex);
      expect(decoded).toMatchObject({ txid: shown.txid, weight: shown.weight as number, vsize: shown.vsize as number });
      expect(decoded.vout).toEqual(shown.vout);
      expect(decoded.hex).toBeUndefined();
    });

  for (const [script, expected] of readVectorJson<[string, Record<string, unknown>][]>(
    'functional/rpc_decodescript.json',
  ))
    test(`decodescript ${script.slice(0, 40)}`, async () => {
      expect(await api.rpc<Record<string, unknown>>('decodescript', script)).toEqual(expected);
    });
});
