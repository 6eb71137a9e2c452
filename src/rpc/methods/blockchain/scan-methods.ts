import { coins } from '../../../http/core-number.ts';
import { positionHeight, positionIndex } from '../../../primitives/coin.ts';
import { hashToHex } from '../../../primitives/hash.ts';
import type { ReadEnv } from '../../../queries/read-env.ts';
import { compareBytes } from '../../../util/bytes.ts';
import { inferDescriptor } from '../../../wallet/descriptor/infer.ts';
import { SigningData } from '../../../wallet/keys/signing-data.ts';
import { EXAMPLE, example } from '../../engine/example.ts';
import type { RpcValue } from '../../engine/json.ts';
import { type RpcMethod, rpcMethod } from '../../engine/method.ts';
import { array, optional, textParam } from '../../engine/params.ts';
import { rpcFail } from '../../engine/rpc-error.ts';
import { anyOf, arr, bool, coinAmount, hashStr, hexStr, int, nil, num, obj, str } from '../../engine/schema.ts';
import { expandScanObject, SCAN_OBJECTS } from './scan-objects.ts';
import { coinsOfScripts, type FoundCoin } from './script-coins.ts';

const scantxoutset = rpcMethod({
  name: 'scantxoutset',
  category: 'blockchain',
  help: 'Returns the unspent outputs of descriptors. The address index finds them by their scripts, so that no scan has to be watched or aborted; without it, all coins are read.',
  params: [
    textParam('action', { note: 'start to search; abort and status are accepted and never find a scan.' }),
    optional(
      array('scanobjects', (value) => value, {
        oneline: '[scanobjects,...]',
        schema: SCAN_OBJECTS,
        note: 'Descriptors to search for; required for start.',
      }),
      null,
    ),
  ],
  result: anyOf(
    obj(
      {
        success: bool('true'),
        txouts: int('number of unspent outputs of the whole chain'),
        height: int('height of the block'),
        bestblock: hashStr('hash of the tip'),
        unspents: arr(
          obj({
            txid: hashStr('transaction of the output'),
            vout: int('index of the output'),
            scriptPubKey: hexStr('output script'),
            desc: str('descriptor inferred from the script and the given descriptors'),
            amount: coinAmount('value of the output'),
            coinbase: bool('whether a coinbase made the output'),
            height: int('height of the block'),
            blockhash: hashStr('block of the output'),
            confirmations: int('1 for an output of the tip'),
          }),
          'found outputs',
        ),
        total_amount: coinAmount('value of all found outputs'),
      },
      'start',
    ),
    bool('abort: false'),
    obj({ progress: num('percent') }, 'status during a scan; never returned'),
    nil('status'),
  ),
  examples: [
    example(['start', [EXAMPLE.descriptor]]),
    example(['start', [{ desc: `wpkh(${EXAMPLE.extendedPublicKey}/0/*)`, range: [0, 100] }]]),
  ],
  scope: 'read',
  long: true,
  run(env, action, objects) {
    if (action === 'status') return null;
    if (action === 'abort') return false;
    if (action !== 'start') return rpcFail('invalidParameter', `Invalid action '${action}'`);
    if (objects === null) return rpcFail('misc', 'scanobjects argument is required for the start action');
    return scan(env, objects);
  },
});

function scan(env: ReadEnv, objects: readonly RpcValue[]) {
  const { reads, tip, params } = env;
  // Each script is described by the scan object that yields it first.
  const scripts = new Map<string, { readonly script: Uint8Array; readonly desc: string }>();
  const derived = { count: 0 };
  for (const value of objects) {
    const known = new SigningData();
    for (const script of expandScanObject(env, value, known, { withPrivateKeys: false, derived })) {
      env.expectWork(0);
      const hex = script.toHex();
      if (!scripts.has(hex)) scripts.set(hex, { script, desc: inferDescriptor(script, known, params).toString() });
    }
  }
  const wanted = new Map(Array.from(scripts, ([hex, { script }]) => [hex, script]));
  const found = Array.from(coinsOfScripts(env, wanted), (coin) => ({
    ...coin,
    desc: scripts.get(coin.script.toHex())!.desc,
  }));
  found.sort((a, b) => compareBytes(a.txid, b.txid) || a.vout - b.vout);
  return {
    success: true,
    txouts: reads.headers.totals(tip.height)!.utxos,
    height: tip.height,
    bestblock: hashToHex(tip.hash),
    unspents: found.map((coin) => unspentView(env, coin)),
    total_amount: coins(found.reduce((sum, { value }) => sum + BigInt(value), 0n)),
  };
}

function unspentView(
  { reads, tip }: ReadEnv,
  { txid, vout, value, position, script, desc }: FoundCoin & { desc: string },
) {
  const height = positionHeight(position);
  return {
    txid: hashToHex(txid),
    vout,
    scriptPubKey: script.toHex(),
    desc,
    amount: coins(value),
    coinbase: positionIndex(position) === 0,
    height,
    blockhash: hashToHex(reads.headers.byHeight(height)!.hash),
    confirmations: tip.height - height + 1,
  };
}

export const scanMethods: readonly RpcMethod[] = [scantxoutset];
