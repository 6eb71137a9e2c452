import { member } from './json.ts';
import { nodeMethod } from './method.ts';
import { checkMembers, optional, options, text } from './params.ts';
import { orFail, rpcFail } from './rpc-error.ts';
import { bool, obj } from './schema.ts';

const FLAGS = {
  use_current_time: bool('true unless it is given: they came now, whatever the file says'),
  apply_fee_delta_priority: bool('adds what was prioritised to what is here'),
  apply_unbroadcast_set: bool('announces what no peer had asked for'),
};

export const importmempool = nodeMethod({
  name: 'importmempool',
  category: 'blockchain',
  help: "Takes in a mempool.dat of Bitcoin Core, by its name in the directory of backups or in that of the network's data.",
  params: [text('filepath', { note: 'a name without a path' }), optional(options('options', FLAGS), {})],
  result: obj({}),
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
    orFail(await node.act('importMempool', file, wanted));
    return {};
  },
});
