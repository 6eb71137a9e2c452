import { systemClock, unixSeconds } from '../../../util/clock.ts';
import { example } from '../../engine/example.ts';
import { nodeMethod, type RpcMethod } from '../../engine/method.ts';
import { flagParam, integerParam, optional, textParam } from '../../engine/params.ts';
import { orFail, rpcFail } from '../../engine/rpc-error.ts';
import { arr, int, nil, obj, str, unixTime } from '../../engine/schema.ts';

const setban = nodeMethod({
  name: 'setban',
  category: 'network',
  help: 'Bans an address or a subnet, or lifts the ban. Peers of a banned subnet are disconnected.',
  params: [
    textParam('subnet', { note: 'Address, or subnet such as 192.0.2.0/24.' }),
    textParam('command', { note: 'add to ban, remove to lift the ban.' }),
    optional(
      integerParam('bantime', {
        note: 'Seconds, or with absolute the Unix time of the end; 0 for the duration of p2p.banTime.',
      }),
      0,
    ),
    optional(flagParam('absolute', { note: 'Whether bantime is a Unix time.' }), false),
  ],
  result: nil(),
  examples: [example(['192.0.2.7', 'add', 86400]), example(['192.0.2.0/24', 'remove'])],
  scope: 'admin',
  async run({ ctx }, subnet, command, time, absolute) {
    if (command === 'add') return orFail(await ctx.node().call('ban', subnet, time, absolute));
    if (command === 'remove') return orFail(await ctx.node().call('unban', subnet));
    return rpcFail('misc', 'setban "subnet" "command" ( bantime absolute )');
  },
});

const listbanned = nodeMethod({
  name: 'listbanned',
  category: 'network',
  help: 'Returns the banned addresses and subnets.',
  params: [],
  result: arr(
    obj({
      address: str('address or subnet'),
      ban_created: unixTime('time of the ban'),
      banned_until: unixTime('end of the ban'),
      ban_duration: int('seconds'),
      time_remaining: int('seconds'),
    }),
  ),
  scope: 'admin',
  async run({ ctx }) {
    const now = unixSeconds(systemClock);
    return orFail(await ctx.node().call('bans')).map(({ subnet, createdAt, until }) => ({
      address: subnet,
      ban_created: createdAt,
      banned_until: until,
      ban_duration: until - createdAt,
      time_remaining: until - now,
    }));
  },
});

const clearbanned = nodeMethod({
  name: 'clearbanned',
  category: 'network',
  help: 'Lifts all bans.',
  params: [],
  result: nil(),
  scope: 'admin',
  run: async ({ ctx }) => orFail(await ctx.node().call('clearBans')),
});

export const banMethods: readonly RpcMethod[] = [setban, listbanned, clearbanned];
