import { resolve } from 'node:path';
import { NODE, ownerOf } from '../../../http/owner.ts';
import type { NetworkParams } from '../../../params/network-params.ts';
import type { BlockHash } from '../../../primitives/hash.ts';
import type { UtxoDump } from '../../../queries/reader-jobs.ts';
import { isFileName } from '../../../util/file-name.ts';
import { example } from '../../engine/example.ts';
import { jobText } from '../../engine/job-result.ts';
import { member, NumberText, type RpcObject } from '../../engine/json.ts';
import { type MainThreadEnv, nodeMethod } from '../../engine/method.ts';
import { optional, options, readBool, readHashValue, readInteger, textParam } from '../../engine/params.ts';
import { rpcFail } from '../../engine/rpc-error.ts';
import { anyOf, bool, hashStr, int, obj, str } from '../../engine/schema.ts';
import type { DumpedUtxoSet } from './utxo-dump.ts';

const DUMP_OPTIONS = {
  rollback: anyOf(int('height of the block'), str('hash of the block')),
  in_memory: bool('has no effect: changes that do not fit a bounded memory are always written to the disk'),
};

const PATH_NOTE =
  'A relative path begins in the data directory of the network. API keys name a file in that directory, without a path; the cookie, which only this machine can read, may name any path.';

export const dumptxoutset = nodeMethod({
  name: 'dumptxoutset',
  category: 'blockchain',
  help: 'Writes the UTXO set of the tip or of an earlier block to a file, in the format of Bitcoin Core. The chain stays as it is, and other calls are answered meanwhile. The file is named PATH.incomplete until it is complete. It takes minutes on the main network, and ends when the client disconnects.',
  params: [
    textParam('path', {
      note: `File to be written, which must not exist. ${PATH_NOTE}`,
    }),
    optional(
      textParam('type', {
        note: 'latest for the tip; rollback for an earlier block: that of the option rollback, or else the last one whose UTXO set loadtxoutset knows. It may be omitted where the option rollback is given.',
      }),
      '',
    ),
    optional(options('options', DUMP_OPTIONS, { note: 'Block of the UTXO set.' }), {}),
  ],
  result: obj({
    coins_written: int('number of coins in the file'),
    base_hash: hashStr('hash of the block'),
    base_height: int('height of the block'),
    path: str('absolute path of the file'),
    txoutset_hash: hashStr('hash_serialized_3 of the set'),
    nchaintx: int('number of transactions of the chain up to that block'),
  }),
  examples: [example(['utxo.dat', 'latest']), example({ path: 'utxo.dat', rollback: 100 })],
  scope: 'admin',
  long: true,
  async run(env, given, type, wanted) {
    const target = dumpTarget(env.ctx.queries.sources.params, type, wanted);
    const path = snapshotPath(env, given);
    const { dumps } = env.state;
    if (dumps.has(path)) return rpcFail('invalidParameter', `${path} is already being written`);
    dumps.add(path);
    try {
      // Releases the slot of the key, so that the same key can make other calls.
      return await env.queueSlot.releaseDuring(() => dump(env, { path, target }));
    } finally {
      dumps.delete(path);
    }
  },
});

/** Keys may belong to other machines, so they do not reach files elsewhere. */
function snapshotPath({ ctx, call }: MainThreadEnv, given: string): string {
  const { networkDir } = ctx.options;
  const anywhere = call === null || call.principal.kind === 'cookie';
  if (!anywhere && !isFileName(given))
    rpcFail(
      'invalidParameter',
      'an API key names a file in the data directory of the network, without a path; the cookie may name any path',
    );
  return resolve(networkDir, given);
}

async function dump({ ctx, signal, call }: MainThreadEnv, wanted: UtxoDump): Promise<DumpedUtxoSet> {
  const owner = call ? ownerOf(call) : NODE;
  const job = { kind: 'dump', dump: wanted } as const;
  return JSON.parse(jobText(await ctx.queries.runJob({ job, signal, long: true, owner }))) as DumpedUtxoSet;
}

function dumpTarget({ assumedUtxoSets }: NetworkParams, type: string, wanted: RpcObject): UtxoDump['target'] {
  const inMemory = member(wanted, 'in_memory');
  if (inMemory !== null) readBool(inMemory);
  const rollback = member(wanted, 'rollback');
  if (rollback !== null) {
    if (type !== '' && type !== 'rollback')
      rpcFail('invalidParameter', `Invalid snapshot type "${type}" specified with rollback option`);
    return rollback instanceof NumberText
      ? readInteger(rollback)
      : readHashValue<BlockHash>(rollback, 'hash_or_height');
  }
  if (type === 'latest') return null;
  if (type === 'rollback') return assumedUtxoSets.at(-1)!.height;
  return rpcFail(
    'invalidParameter',
    `Invalid snapshot type "${type}" specified. Please specify "rollback" or "latest"`,
  );
}
