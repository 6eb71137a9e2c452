import { COIN } from '../../../primitives/amount.ts';
import { parseAddress } from '../../../script/address.ts';
import { EXAMPLE, example } from '../../engine/example.ts';
import { type MainThreadEnv, nodeMethod, type RpcMethod } from '../../engine/method.ts';
import { amount, flagParam, integerParam, optional, textParam } from '../../engine/params.ts';
import { orFail, rpcFail } from '../../engine/rpc-error.ts';
import { anyOf, arr, hashStr, int, nil, noted, obj } from '../../engine/schema.ts';

const REORG = obj({
  forkHeight: int('height of the last common block'),
  disconnected: arr(hashStr(), 'blocks that left the active chain'),
  connected: arr(hashStr(), 'blocks that replaced them'),
});

const devpay = nodeMethod({
  name: 'devpay',
  category: 'control',
  help: 'Sends coins of the sandbox to an address. In developer mode only.',
  params: [
    textParam('address', { note: 'Address to pay.' }),
    optional(amount('amount', { note: 'Amount, coins.' }), COIN),
  ],
  result: hashStr('txid'),
  examples: [example([EXAMPLE.address]), example([EXAMPLE.address, 0.5])],
  scope: 'admin',
  run: async (env, address, value) => orFail(await env.ctx.node().call('scenarioPay', scriptOf(env, address), value)),
});

const devreorg = nodeMethod({
  name: 'devreorg',
  category: 'control',
  help: 'Causes a reorg that replaces the last blocks by a branch of one block more. In developer mode only.',
  params: [
    optional(integerParam('depth', { note: 'Number of blocks to replace, 1 to 100.' }), 1),
    optional(
      flagParam('reconfirm', {
        note: 'Whether the new blocks contain the transactions of the old ones; otherwise these return to the mempool.',
      }),
      false,
    ),
  ],
  result: REORG,
  examples: [example([]), example([3, true])],
  scope: 'admin',
  run: async ({ ctx }, depth, reconfirm) => orFail(await ctx.node().call('scenarioReorg', depth, reconfirm)),
});

const devdoublespend = nodeMethod({
  name: 'devdoublespend',
  category: 'control',
  help: 'Pays an address and double-spends the payment: by a replacement with a higher fee, or after confirmations by a reorg. In developer mode only.',
  params: [
    optional(textParam('address', { note: 'Address to pay; the first account of the sandbox by default.' }), null),
    optional(amount('amount', { note: 'Amount, coins.' }), COIN),
    optional(
      integerParam('confirmations', { note: 'Confirmations of the payment before the double-spend, 0 to 100.' }),
      0,
    ),
  ],
  result: obj({
    txid: hashStr('txid of the payment'),
    conflict: hashStr('txid of the double-spend'),
    blockHash: anyOf(hashStr('block that confirmed the payment until the reorg'), nil('confirmations is 0')),
    reorg: anyOf(noted(REORG, 'the reorg that removed the payment'), nil('confirmations is 0')),
  }),
  examples: [example([]), example([EXAMPLE.address, 0.5, 2])],
  scope: 'admin',
  async run(env, address, value, confirmations) {
    if (confirmations < 0) rpcFail('invalidParameter', 'Negative confirmations');
    const script = address === null ? null : scriptOf(env, address);
    return orFail(await env.ctx.node().call('scenarioDoubleSpend', script, value, confirmations));
  },
});

const devflood = nodeMethod({
  name: 'devflood',
  category: 'control',
  help: 'Submits many transactions that pay an address. In developer mode only.',
  params: [
    optional(integerParam('count', { note: 'Number of transactions, 1 to 5000.' }), 100),
    optional(textParam('address', { note: 'Address to pay; the first account of the sandbox by default.' }), null),
  ],
  result: arr(hashStr(), 'txids'),
  examples: [example([500]), example([100, EXAMPLE.address])],
  scope: 'admin',
  long: true,
  async run(env, count, address) {
    const script = address === null ? null : scriptOf(env, address);
    return orFail(await env.ctx.node().call('scenarioFlood', count, script));
  },
});

function scriptOf({ ctx }: MainThreadEnv, address: string): Uint8Array {
  const parsed = parseAddress(address, ctx.params.address);
  return parsed.ok ? parsed.script : rpcFail('invalidAddressOrKey', 'Invalid address');
}

export const devMethods: readonly RpcMethod[] = [devpay, devreorg, devdoublespend, devflood];
