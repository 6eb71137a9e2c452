import { verifyChain } from '../readers/verify-chain.ts';
import { rpcMethod } from './method.ts';
import { integer, optional } from './params.ts';
import { bool } from './schema.ts';

const LEVEL = 3;
const BLOCKS = 6;

export const verifychain = rpcMethod({
  name: 'verifychain',
  category: 'blockchain',
  help: 'Looks whether the newest blocks are stored whole, and whether the unspent outputs are those they made.',
  params: [
    optional(
      integer('checklevel', {
        note: '0 reads the blocks, 1 checks them, 2 reads what they spent, 3 compares the coins, 4 checks the scripts',
      }),
      LEVEL,
    ),
    optional(integer('nblocks', { note: '0 for all' }), BLOCKS),
  ],
  result: bool('false where anything of it is damaged'),
  scope: 'admin',
  long: true,
  run(env, level, nblocks) {
    const { height } = env.tip;
    const count = nblocks <= 0 || nblocks > height ? height : nblocks;
    return verifyChain(env, Math.min(4, Math.max(0, level)), count);
  },
});
