import type { OrphanView } from '../../../port/node-calls.ts';
import { parseTransaction, weightOf } from '../../../primitives/block.ts';
import { hashToHex } from '../../../primitives/hash.ts';
import { example } from '../../engine/example.ts';
import { nodeMethod, type RpcMethod } from '../../engine/method.ts';
import { level, optional } from '../../engine/params.ts';
import { orFail, rpcFail } from '../../engine/rpc-error.ts';
import { anyOf, arr, hashStr, hexStr, int, maybe, noted, obj } from '../../engine/schema.ts';

const ORPHAN = obj({
  txid: hashStr('txid'),
  wtxid: hashStr('wtxid'),
  bytes: int('serialized size'),
  vsize: int('the same as vsize_bip141'),
  vsize_bip141: int('virtual size (BIP-141)'),
  weight: int('weight (BIP-141)'),
  from: arr(int(), 'numbers of the peers that announced it'),
  hex: maybe(hexStr('serialized transaction, with verbosity 2')),
});

const getorphantxs = nodeMethod({
  name: 'getorphantxs',
  hidden: true,
  category: 'blockchain',
  help: 'Returns the transactions that wait for their parents.',
  params: [
    optional(level('verbosity', { note: '0 for txids, 1 for objects, 2 for objects with the transactions.' }), 0),
  ],
  result: anyOf(noted(arr(hashStr()), 'verbosity is 0'), noted(arr(ORPHAN), 'verbosity is 1 or 2')),
  examples: [example([]), example([2])],
  scope: 'read',
  async run({ ctx }, detail) {
    const orphans = orFail(await ctx.node().call('orphans'));
    if (detail === 0) return orphans.map(({ raw }) => hashToHex(parseTransaction(raw).txid));
    if (detail !== 1 && detail !== 2) return rpcFail('invalidParameter', `Invalid verbosity value ${detail}`);
    return orphans.map((orphan) => orphanView(orphan, detail === 2));
  },
});

function orphanView({ raw, peers }: OrphanView, withHex: boolean) {
  const parsed = parseTransaction(raw);
  const weight = weightOf(parsed);
  const vsize = Math.ceil(weight / 4);
  return {
    txid: hashToHex(parsed.txid),
    wtxid: hashToHex(parsed.wtxid),
    bytes: raw.length,
    vsize,
    vsize_bip141: vsize,
    weight,
    from: peers,
    ...(withHex && { hex: raw.toHex() }),
  };
}

export const orphanMethods: readonly RpcMethod[] = [getorphantxs];
