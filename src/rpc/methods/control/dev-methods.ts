import { COIN } from '../../../primitives/amount.ts';
import { parseAddress } from '../../../script/address.ts';
import { type FrontEnv, nodeMethod } from '../../engine/method.ts';
import { amount, flag, integer, optional, text } from '../../engine/params.ts';
import { orFail, rpcFail } from '../../engine/rpc-error.ts';
import { anyOf, arr, hashStr, int, nil, obj } from '../../engine/schema.ts';

const REORG = obj({
  forkHeight: int('height of the last common block'),
  disconnected: arr(hashStr()),
  connected: arr(hashStr()),
});

export const devpay = nodeMethod({
  name: 'devpay',
  category: 'control',
  help: 'Sends coins of the sandbox to an address. In developer mode only.',
  params: [text('address'), optional(amount('amount'), COIN)],
  result: hashStr('the txid'),
  scope: 'admin',
  run: async (env, address, value) => orFail(await env.ctx.node().act('scenarioPay', scriptOf(env, address), value)),
});

export const devreorg = nodeMethod({
  name: 'devreorg',
  category: 'control',
  help: `Replaces the last blocks by one more. Their transactions wait in the mempool again, or with reconfirm are in the
new blocks as they were in the old ones. In developer mode only.`,
  params: [optional(integer('depth'), 1), optional(flag('reconfirm'), false)],
  result: REORG,
  scope: 'admin',
  run: async ({ ctx }, depth, reconfirm) => orFail(await ctx.node().act('scenarioReorg', depth, reconfirm)),
});

export const devdoublespend = nodeMethod({
  name: 'devdoublespend',
  category: 'control',
  help: `Pays an address and takes it back: by a transaction that pays more for the same coin, or where confirmations is not 0
by a reorg after the payment had so many. In developer mode only.`,
  params: [optional(text('address'), null), optional(amount('amount'), COIN), optional(integer('confirmations'), 0)],
  result: obj({
    txid: hashStr('of the payment'),
    conflict: hashStr('of what spends its coin'),
    blockHash: anyOf(hashStr(), nil()),
    reorg: anyOf(REORG, nil()),
  }),
  scope: 'admin',
  async run(env, address, value, confirmations) {
    if (confirmations < 0) rpcFail('invalidParameter', 'Negative confirmations');
    const script = address === null ? null : scriptOf(env, address);
    return orFail(await env.ctx.node().act('scenarioDoubleSpend', script, value, confirmations));
  },
});

export const devflood = nodeMethod({
  name: 'devflood',
  category: 'control',
  help: 'Hands in many transactions at once, which pay an address. In developer mode only.',
  params: [optional(integer('count'), 100), optional(text('address'), null)],
  result: arr(hashStr(), 'the txids'),
  scope: 'admin',
  long: true,
  async run(env, count, address) {
    const script = address === null ? null : scriptOf(env, address);
    return orFail(await env.ctx.node().act('scenarioFlood', count, script));
  },
});

function scriptOf({ ctx }: FrontEnv, address: string): Uint8Array {
  const parsed = parseAddress(address, ctx.params.address);
  return parsed.ok ? parsed.script : rpcFail('invalidAddressOrKey', 'Invalid address');
}
