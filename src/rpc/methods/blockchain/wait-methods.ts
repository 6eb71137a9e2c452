import { type BlockHash, hashToHex } from '../../../primitives/hash.ts';
import { EXAMPLE, example } from '../../engine/example.ts';
import { nodeMethod, type RpcMethod } from '../../engine/method.ts';
import { hashParam, integerParam, optional } from '../../engine/params.ts';
import { rpcFail } from '../../engine/rpc-error.ts';
import { newestBlock } from '../schemas.ts';
import { newestTip, type Tip, waitForTip } from './tip-waits.ts';

const timeout = () => optional(integerParam('timeout', { note: 'Milliseconds to wait; 0 for no limit.' }), 0);

function checkTimeout(ms: number): void {
  if (ms < 0) rpcFail('misc', 'Negative timeout');
}

function tipView({ hash: tip, height }: Tip) {
  return { hash: tip, height };
}

const waitfornewblock = nodeMethod({
  name: 'waitfornewblock',
  category: 'blockchain',
  help: 'Waits until the tip changes, and returns the new tip. It returns the current tip when the time is over or the node stops.',
  params: [
    timeout(),
    optional(
      hashParam<BlockHash>('current_tip', 'current_tip', {
        note: 'The call returns at once if the tip is another block; the tip of the moment by default.',
      }),
      null,
    ),
  ],
  result: newestBlock,
  examples: [example([1000]), example({ timeout: 1000, current_tip: EXAMPLE.blockHash })],
  scope: 'read',
  long: true,
  async run(env, timeoutMs, current) {
    checkTimeout(timeoutMs);
    const before = current ? hashToHex(current) : newestTip(env.ctx).hash;
    return tipView(await waitForTip(env, (tip) => tip.hash !== before, timeoutMs));
  },
});

const waitforblock = nodeMethod({
  name: 'waitforblock',
  category: 'blockchain',
  help: 'Waits until a block is the tip, and returns the tip. It returns the current tip when the time is over or the node stops.',
  params: [hashParam<BlockHash>('blockhash', 'blockhash', { note: 'Hash of the block to wait for.' }), timeout()],
  result: newestBlock,
  examples: [example([EXAMPLE.blockHash, 1000])],
  scope: 'read',
  long: true,
  async run(env, blockHash, timeoutMs) {
    checkTimeout(timeoutMs);
    const wanted = hashToHex(blockHash);
    return tipView(await waitForTip(env, (tip) => tip.hash === wanted, timeoutMs));
  },
});

const waitforblockheight = nodeMethod({
  name: 'waitforblockheight',
  category: 'blockchain',
  help: 'Waits until the tip is at a height or above, and returns the tip. It returns the current tip when the time is over or the node stops.',
  params: [integerParam('height', { note: 'Height to wait for.' }), timeout()],
  result: newestBlock,
  examples: [example([100, 1000])],
  scope: 'read',
  long: true,
  async run(env, height, timeoutMs) {
    checkTimeout(timeoutMs);
    return tipView(await waitForTip(env, (tip) => tip.height >= height, timeoutMs));
  },
});

export const waitMethods: readonly RpcMethod[] = [waitfornewblock, waitforblock, waitforblockheight];
