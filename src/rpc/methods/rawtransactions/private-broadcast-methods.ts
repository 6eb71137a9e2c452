import type { PrivateBroadcastView } from '../../../port/node-calls.ts';
import { parseTransaction } from '../../../primitives/block.ts';
import { hashToHex, type Txid } from '../../../primitives/hash.ts';
import { EXAMPLE, example } from '../../engine/example.ts';
import { nodeMethod, type RpcMethod } from '../../engine/method.ts';
import { hashParam } from '../../engine/params.ts';
import { orFail } from '../../engine/rpc-error.ts';
import { arr, hashStr, hexStr, int, maybe, obj, str, unixTime } from '../../engine/schema.ts';

const IDS = { txid: hashStr('txid'), wtxid: hashStr('wtxid'), hex: hexStr('the transaction') };

const getprivatebroadcastinfo = nodeMethod({
  name: 'getprivatebroadcastinfo',
  category: 'rawtransactions',
  help: 'Returns the transactions that are broadcast privately and have not come back from the network (p2p.privateBroadcast).',
  params: [],
  result: obj({
    transactions: arr(
      obj({
        ...IDS,
        time_added: unixTime('time at which the transaction was submitted'),
        attempts_remaining: int('peers to which it may still be sent'),
        peers: arr(
          obj({
            address: str('address and port of the peer'),
            sent: unixTime('time at which the transaction was announced to the peer'),
            received: maybe(unixTime('time at which the peer confirmed that it received the transaction')),
          }),
          'peers to which it was sent',
        ),
      }),
      'the transactions, oldest first',
    ),
  }),
  scope: 'admin',
  examples: [example([])],
  async run({ ctx }) {
    return { transactions: orFail(await ctx.node().call('privateBroadcasts')).map(broadcastView) };
  },
});

const abortprivatebroadcast = nodeMethod({
  name: 'abortprivatebroadcast',
  category: 'rawtransactions',
  help: 'Ends the private broadcast of the transactions with an id, and returns them. Peers that received them may relay them.',
  params: [hashParam<Txid>('id', 'id', { note: 'Txid or wtxid.' })],
  result: obj({ removed_transactions: arr(obj(IDS), 'the transactions whose broadcast has ended') }),
  scope: 'admin',
  examples: [example([EXAMPLE.txid])],
  async run({ ctx }, id) {
    return { removed_transactions: orFail(await ctx.node().call('abortPrivateBroadcast', id)).map(idsOf) };
  },
});

function idsOf(raw: Uint8Array) {
  const { txid, wtxid } = parseTransaction(raw);
  return { txid: hashToHex(txid), wtxid: hashToHex(wtxid), hex: raw.toHex() };
}

function broadcastView({ raw, addedAt, attemptsLeft, attempts }: PrivateBroadcastView) {
  return {
    ...idsOf(raw),
    time_added: seconds(addedAt),
    attempts_remaining: attemptsLeft,
    peers: attempts.map(({ address, sentAt, receivedAt }) => ({
      address,
      sent: seconds(sentAt),
      ...(receivedAt !== null && { received: seconds(receivedAt) }),
    })),
  };
}

function seconds(ms: number): number {
  return Math.floor(ms / 1000);
}

export const privateBroadcastMethods: readonly RpcMethod[] = [getprivatebroadcastinfo, abortprivatebroadcast];
