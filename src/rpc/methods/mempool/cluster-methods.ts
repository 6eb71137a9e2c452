import { coins } from '../../../http/core-number.ts';
import { slicePauses } from '../../../http/slice-pauses.ts';
import { compareFeerate } from '../../../mempool/cluster/feefrac.ts';
import type { MempoolChunk } from '../../../mempool/relatives.ts';
import { hashToHex, type Txid } from '../../../primitives/hash.ts';
import { EXAMPLE, example } from '../../engine/example.ts';
import { JsonText, type MainThreadEnv, nodeMethod, type RpcMethod } from '../../engine/method.ts';
import { hashParam } from '../../engine/params.ts';
import { PieceWriter } from '../../engine/reply-body.ts';
import { arr, coinAmount, hashStr, int, obj } from '../../engine/schema.ts';
import { chunkFinder, chunksAround, SLICE_MS, slotOf, visitInSlices } from './mempool-slices.ts';

const getmempoolcluster = nodeMethod({
  name: 'getmempoolcluster',
  category: 'blockchain',
  help: 'Returns the cluster of a transaction in the mempool: all transactions that are connected with it, as chunks in the order in which a miner would include them.',
  params: [hashParam<Txid>('txid', 'txid', { note: 'Transaction in the mempool.' })],
  result: obj({
    clusterweight: int('weight of the cluster'),
    txcount: int('number of its transactions'),
    chunks: arr(
      obj({
        chunkfee: coinAmount('modified fees of the chunk'),
        chunkweight: int('weight of the chunk'),
        txs: arr(hashStr(), 'txids in the order in which a miner would include them'),
      }),
      'highest feerate first',
    ),
  }),
  examples: [example([EXAMPLE.txid])],
  scope: 'read',
  run(env, txid) {
    const chunks = chunksAround(env, slotOf(env, txid));
    return {
      clusterweight: chunks.reduce((sum, { weight }) => sum + weight, 0),
      txcount: chunks.reduce((sum, { slots }) => sum + slots.length, 0),
      chunks: chunks.map(({ fee, weight, slots }) => ({
        chunkfee: coins(fee),
        chunkweight: weight,
        txs: slots.map((slot) => hashToHex(env.mempool.entries.txid(slot))),
      })),
    };
  },
});

const getmempoolfeeratediagram = nodeMethod({
  name: 'getmempoolfeeratediagram',
  category: 'blockchain',
  hidden: true,
  help: 'Returns the feerate diagram of the mempool: weight and fees up to each chunk, in the order in which a miner would include the chunks.',
  params: [],
  result: arr(
    obj({
      weight: int('weight of this chunk and those before it, adjusted for signature operations'),
      fee: coinAmount('modified fees of these chunks'),
    }),
    'the first point is the origin',
  ),
  scope: 'read',
  run: feerateDiagram,
});

/** Returns the points. It yields between slices; clusters that leave the mempool meanwhile are omitted. */
async function feerateDiagram(env: MainThreadEnv): Promise<JsonText> {
  const chunkOf = chunkFinder(env);
  const chunks: MempoolChunk[] = [];
  await visitInSlices(env, env.mempool.arrivalOrder(), (slot) => {
    const chunk = chunkOf(slot);
    if (chunk.slots[0] === slot) chunks.push(chunk);
  });
  chunks.sort((a, b) => compareFeerate(b.fee, b.weight, a.fee, a.weight));
  const pause = slicePauses(SLICE_MS);
  const made = new PieceWriter();
  const total = { fee: 0, weight: 0 };
  made.add(pointText(total));
  for (const { fee, weight } of chunks) {
    await pause();
    total.fee += fee;
    total.weight += weight;
    made.add(`,${pointText(total)}`);
  }
  return new JsonText('[', ...made.end(), ']');
}

function pointText({ weight, fee }: Pick<MempoolChunk, 'weight' | 'fee'>): string {
  return JSON.stringify({ weight, fee: coins(fee) });
}

export const clusterMethods: readonly RpcMethod[] = [getmempoolcluster, getmempoolfeeratediagram];
