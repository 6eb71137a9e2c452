import type { BlockHash } from '../../primitives/hash.ts';
import { nodeMethod } from './method.ts';
import { hash } from './params.ts';
import { orFail } from './rpc-error.ts';
import { arr, hashStr, int, nil, obj, str } from './schema.ts';

export const getchaintips = nodeMethod({
  name: 'getchaintips',
  category: 'blockchain',
  help: 'The tip of the active chain, and the ends of all other branches that are known.',
  params: [],
  result: arr(
    obj({
      height: int(),
      hash: hashStr(),
      branchlen: int('blocks to the active chain'),
      status: str('active, valid-fork, valid-headers, headers-only, or invalid'),
    }),
  ),
  scope: 'read',
  async run({ ctx }) {
    const tips = await ctx.node().act('chainTips');
    return tips.map(({ height, hash: tip, branchLength, status }) => ({
      height,
      hash: tip,
      branchlen: branchLength,
      status,
    }));
  },
});

export const invalidateblock = blockAction(
  'invalidateblock',
  'invalidateBlock',
  'Treats a block as invalid, and all that builds on it.',
);
export const reconsiderblock = blockAction(
  'reconsiderblock',
  'reconsiderBlock',
  'Takes back invalidateblock, for a block and all that it builds on or that builds on it.',
);
export const preciousblock = blockAction(
  'preciousblock',
  'preciousBlock',
  'Treats a block as if it had come before others with the same work.',
);

function blockAction(name: string, action: 'invalidateBlock' | 'reconsiderBlock' | 'preciousBlock', help: string) {
  return nodeMethod({
    name,
    category: 'blockchain',
    help,
    params: [hash<BlockHash>('blockhash')],
    result: nil(),
    hidden: name !== 'preciousblock',
    scope: 'admin',
    long: true,
    run: async (env, blockHash) => orFail(await env.ctx.node().act(action, blockHash)),
  });
}
