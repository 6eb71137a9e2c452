import { example } from '../../engine/example.ts';
import { member } from '../../engine/json.ts';
import { nodeMethod, type RpcMethod } from '../../engine/method.ts';
import { checkMembers, optional, options, textParam } from '../../engine/params.ts';
import { orFail, rpcFail } from '../../engine/rpc-error.ts';
import { bool, obj } from '../../engine/schema.ts';

const FLAGS = {
  use_current_time: bool(
    'whether the transactions count as received now rather than at the times of the file; true by default',
  ),
  apply_fee_delta_priority: bool('whether the fee deltas of the file are added to those of the node; false by default'),
  apply_unbroadcast_set: bool(
    'whether the unbroadcast transactions of the file become unbroadcast here; false by default',
  ),
};

const importmempool = nodeMethod({
  name: 'importmempool',
  category: 'blockchain',
  help: 'Imports a mempool.dat of Bitcoin Core. It fails during the initial block download.',
  params: [
    textParam('filepath', {
      note: 'Name of the file without a path, in the directory of backups or in the data directory of the network.',
    }),
    optional(options('options', FLAGS, { note: 'Parts of the file that are used.' }), {}),
  ],
  result: obj({}),
  examples: [example(['mempool.dat']), example(['mempool.dat', { use_current_time: false }])],
  scope: 'admin',
  async run({ ctx }, file, given) {
    const node = ctx.node();
    if (node.status().initialBlockDownload)
      rpcFail(
        'clientInInitialDownload',
        'Can only import the mempool after the block download and sync is done.',
        'syncing',
      );
    checkMembers(given, Object.fromEntries(Object.keys(FLAGS).map((name) => [name, 'bool'])));
    const wanted = {
      useCurrentTime: member(given, 'use_current_time') !== false,
      applyFeeDeltas: member(given, 'apply_fee_delta_priority') === true,
      applyUnbroadcast: member(given, 'apply_unbroadcast_set') === true,
    };
    orFail(await node.call('importMempool', file, wanted));
    return {};
  },
});

export const mempoolImportMethods: readonly RpcMethod[] = [importmempool];
