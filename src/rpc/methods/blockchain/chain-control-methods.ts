import type { BlockHash } from '../../../primitives/hash.ts';
import { EXAMPLE, example } from '../../engine/example.ts';
import { nodeMethod, type RpcMethod } from '../../engine/method.ts';
import { hashParam } from '../../engine/params.ts';
import { orFail } from '../../engine/rpc-error.ts';
import { arr, hashStr, int, nil, obj, str } from '../../engine/schema.ts';

const getchaintips = nodeMethod({
  name: 'getchaintips',
  category: 'blockchain',
  help: 'Returns the tip of the active chain and the last block of every other known branch.',
  params: [],
  result: arr(
    obj({
      height: int('height of the block'),
      hash: hashStr('hash of the block'),
      branchlen: int('blocks between the tip of the branch and the active chain; 0 for the active chain'),
      status: str('active, valid-fork, valid-headers, headers-only or invalid'),
    }),
  ),
  scope: 'read',
  async run({ ctx }) {
    const tips = await ctx.node().call('chainTips');
    return tips.map(({ height, hash: tip, branchLength, status }) => ({
      height,
      hash: tip,
      branchlen: branchLength,
      status,
    }));
  },
});

const invalidateblock = blockAction(
  'invalidateblock',
  'invalidateBlock',
  'Marks a block and its descendants as invalid, so that the node leaves their branch. It lasts until reconsiderblock.',
);
const reconsiderblock = blockAction(
  'reconsiderblock',
  'reconsiderBlock',
  'Undoes invalidateblock: the block, its ancestors and its descendants are validated again.',
);
const preciousblock = blockAction(
  'preciousblock',
  'preciousBlock',
  'Prefers a block over others with the same work, as if it had arrived first. It lasts until the node stops.',
);

function blockAction(name: string, action: 'invalidateBlock' | 'reconsiderBlock' | 'preciousBlock', help: string) {
  return nodeMethod({
    name,
    category: 'blockchain',
    help,
    params: [hashParam<BlockHash>('blockhash', 'blockhash', { note: 'Hash of the block.' })],
    result: nil(),
    examples: [example([EXAMPLE.blockHash])],
    hidden: name !== 'preciousblock',
    scope: 'admin',
    long: true,
    run: async (env, blockHash) => orFail(await env.ctx.node().call(action, blockHash)),
  });
}

export const chainControlMethods: readonly RpcMethod[] = [
  getchaintips,
  invalidateblock,
  reconsiderblock,
  preciousblock,
];
