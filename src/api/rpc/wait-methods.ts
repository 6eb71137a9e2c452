import { type BlockHash, hashToHex } from '../../primitives/hash.ts';
import { nodeMethod } from './method.ts';
import { hash, integer, optional } from './params.ts';
import { rpcFail } from './rpc-error.ts';
import { newestBlock } from './shapes.ts';
import { newestTip, type Tip, waitForTip } from './tip-waits.ts';

const timeout = () => optional(integer('timeout', { note: 'milliseconds; 0 for no end' }), 0);

function checkTimeout(ms: number): void {
  if (ms < 0) rpcFail('misc', 'Negative timeout');
}

function tipView({ hash: tip, height }: Tip) {
  return { hash: tip, height };
}

export const waitfornewblock = nodeMethod({
  name: 'waitfornewblock',
  category: 'blockchain',
  help: 'Waits for another tip, and returns it; the one that is there when the time is over.',
  params: [
    timeout(),
    optional(hash<BlockHash>('current_tip', 'current_tip', { note: 'the tip it has to differ from' }), null),
  ],
  result: newestBlock,
  scope: 'read',
  long: true,
  async run(env, timeoutMs, current) {
    checkTimeout(timeoutMs);
    const before = current ? hashToHex(current) : newestTip(env.ctx).hash;
    return tipView(await waitForTip(env, (tip) => tip.hash !== before, timeoutMs));
  },
});

export const waitforblock = nodeMethod({
  name: 'waitforblock',
  category: 'blockchain',
  help: 'Waits until a block is the tip, and returns the tip.',
  params: [hash<BlockHash>('blockhash'), timeout()],
  result: newestBlock,
  scope: 'read',
  long: true,
  async run(env, blockHash, timeoutMs) {
    checkTimeout(timeoutMs);
    const wanted = hashToHex(blockHash);
    return tipView(await waitForTip(env, (tip) => tip.hash === wanted, timeoutMs));
  },
});

export const waitforblockheight = nodeMethod({
  name: 'waitforblockheight',
  category: 'blockchain',
  help: 'Waits until the tip is at a height or above it, and returns the tip.',
  params: [integer('height'), timeout()],
  result: newestBlock,
  scope: 'read',
  long: true,
  async run(env, height, timeoutMs) {
    checkTimeout(timeoutMs);
    return tipView(await waitForTip(env, (tip) => tip.height >= height, timeoutMs));
  },
});
