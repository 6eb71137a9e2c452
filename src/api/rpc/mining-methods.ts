import { nodeMethod } from './method.ts';
import { hex, optional, text } from './params.ts';
import { rpcFail } from './rpc-error.ts';

export const submitblock = nodeMethod({
  name: 'submitblock',
  category: 'mining',
  help: 'Hands in a block (BIP-22).',
  params: [hex('hexdata'), optional(text('dummy'), null)],
  result: 'null when it is in the chain now, else why not: duplicate, inconclusive, or the reason of its rejection',
  scope: 'mining',
  long: true,
  async run({ ctx }, raw) {
    const reason = await ctx.node().submitBlock(raw);
    return reason === 'bad-blk-decode' ? rpcFail('deserialization', 'Block decode failed') : reason;
  },
});
