import { verifyChain } from '../../../queries/verify-chain.ts';
import { example } from '../../engine/example.ts';
import { type RpcMethod, rpcMethod } from '../../engine/method.ts';
import { integerParam, optional } from '../../engine/params.ts';
import { bool } from '../../engine/schema.ts';

const LEVEL = 3;
const BLOCKS = 6;

const verifychain = rpcMethod({
  name: 'verifychain',
  category: 'blockchain',
  help: 'Verifies the stored copies of the newest blocks and the unspent outputs that they made.',
  params: [
    optional(
      integerParam('checklevel', {
        note: 'Thoroughness: 0 reads the blocks, 1 checks each block alone, 2 reads the undo data, 3 compares the coins, 4 verifies the scripts. Each level includes those below; other values mean the nearest level.',
      }),
      LEVEL,
    ),
    optional(integerParam('nblocks', { note: 'Number of blocks from the tip down; 0 for all.' }), BLOCKS),
  ],
  result: bool('false if anything is damaged'),
  examples: [example([]), example([4, 100])],
  scope: 'admin',
  long: true,
  run(env, level, nblocks) {
    const { height } = env.tip;
    const count = nblocks <= 0 || nblocks > height ? height : nblocks;
    return verifyChain(env, Math.min(4, Math.max(0, level)), count);
  },
});

export const verifyMethods: readonly RpcMethod[] = [verifychain];
