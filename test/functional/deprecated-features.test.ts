import { beforeAll, describe, expect, test } from 'bun:test';
import { jsonSchema } from '../../src/rpc/engine/schema.ts';
import { RPC_METHODS } from '../../src/rpc/methods/methods.ts';
import { schemaProblems } from '../lib/json-schema.ts';
import { cleanUpAfterTests, type NodeProcess, startNode } from '../lib/node-process.ts';
import { MINING_ADDRESS } from '../lib/peer-node.ts';

cleanUpAfterTests();

const SIGNAL = 'bip125-replaceable';
const UNKNOWN_TXID = '11'.repeat(32);

interface Listed {
  readonly txid: string;
  readonly [SIGNAL]?: string;
}

describe('outdated features of JSON-RPC', () => {
  let node: NodeProcess;

  /** The result of a call, which must have the declared form. */
  const call = async <T>(method: string, ...params: unknown[]): Promise<T> => {
    const result = await node.api.rpc<T>(method, params);
    const { result: declared } = RPC_METHODS.get(method)!;
    expect(schemaProblems(JSON.parse(JSON.stringify(jsonSchema(declared))), result)).toEqual([]);
    return result;
  };
  const failure = async (method: string, ...params: unknown[]) => {
    const { body } = await node.api.rpcBody<{ error: { code: number; message: string } }>({
      jsonrpc: '2.0',
      id: 1,
      method,
      params,
    });
    return [body.error.code, body.error.message];
  };
  /** Pays an address of the wallet from one coin, and returns the txid. */
  const send = async (input: { txid: string; vout: number }, replaceable: boolean, amount = 1) => {
    const outputs = [{ [await call<string>('getnewaddress')]: amount }];
    const { txid } = await call<{ txid: string }>('send', outputs, null, 'unset', 10, {
      inputs: [input],
      add_inputs: false,
      replaceable,
    });
    return txid;
  };
  const signalOf = async (txid: string) => {
    const { [SIGNAL]: ofEntry } = await call<{ [SIGNAL]?: boolean }>('getmempoolentry', txid);
    const { [SIGNAL]: ofWallet } = await call<Listed>('gettransaction', txid);
    const since = await call<{ transactions: Listed[] }>('listsinceblock');
    const [listed] = [...(await call<Listed[]>('listtransactions', '*', 1000)), ...since.transactions]
      .filter((each) => each.txid === txid)
      .map((each) => each[SIGNAL]);
    return [ofEntry, ofWallet, listed];
  };

  describe('by default', () => {
    beforeAll(async () => {
      node = await startNode({ args: ['--wallet.autocreate=false', '--wallet.keypool=5'] });
      await call('createwallet', 'wallet');
    });

    test('are absent', async () => {
      expect(await call<object>('getmempoolinfo')).not.toHaveProperty('fullrbf');
      const own = await call<string>('getnewaddress');
      await call('generatetoaddress', 1, own);
      await call('generatetoaddress', 100, MINING_ADDRESS);
      const [coin] = await call<{ txid: string; vout: number }[]>('listunspent');
      expect(await signalOf(await send(coin!, true))).toEqual([undefined, undefined, undefined]);
    });

    test.each([UNKNOWN_TXID, 'nonsense'])(
      'removeprunedfunds %s is refused with the name of the setting',
      async (txid) => {
        const [code, message] = await failure('removeprunedfunds', txid);
        expect([code, message]).toEqual([-32, expect.stringContaining('rpc.deprecated = "removeprunedfunds"')]);
        expect(message).toStartWith('DEPRECATION WARNING: This feature will be removed in the next major release.');
      },
    );
  });

  describe('with rpc.deprecated', () => {
    beforeAll(async () => {
      const deprecated = '--rpc.deprecated=bip125,fullrbf,removeprunedfunds';
      node = await startNode({ args: [deprecated, '--wallet.autocreate=false', '--wallet.keypool=5'] });
      await call('createwallet', 'wallet');
    });

    test('getmempoolinfo has fullrbf', async () => {
      expect(await call<object>('getmempoolinfo')).toHaveProperty('fullrbf', true);
    });

    test('transactions say whether they or an unconfirmed ancestor signal replaceability', async () => {
      const own = await call<string>('getnewaddress');
      await call('generatetoaddress', 2, own);
      await call('generatetoaddress', 101, MINING_ADDRESS);
      const [first, second] = await call<{ txid: string; vout: number }[]>('listunspent');
      const final = await send(first!, false);
      expect(await signalOf(final)).toEqual([false, 'no', 'no']);
      const signalling = await send(second!, true);
      expect(await signalOf(signalling)).toEqual([true, 'yes', 'yes']);
      const child = await send({ txid: signalling, vout: 0 }, false, 0.5);
      expect(await signalOf(child)).toEqual([true, 'yes', 'yes']);
      await call('generatetoaddress', 1, MINING_ADDRESS);
      expect((await call<Listed>('gettransaction', signalling))[SIGNAL]).toBe('no');
    });

    test('removeprunedfunds checks its argument', async () => {
      expect(await failure('removeprunedfunds', 'nonsense')).toEqual([
        -8,
        "txid must be of length 64 (not 8, for 'nonsense')",
      ]);
      expect(await failure('removeprunedfunds', UNKNOWN_TXID)).toEqual([
        -4,
        `Transaction ${UNKNOWN_TXID} does not belong to this wallet`,
      ]);
    });
  });
});
