import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { NODE, ownerOf } from '../../../http/owner.ts';
import type { NetworkParams } from '../../../params/network-params.ts';
import { NETWORK_NAMES, paramsFor } from '../../../params/networks.ts';
import { isRefusal, type Refusal } from '../../../port/refusal.ts';
import { type BlockHash, hashToHex } from '../../../primitives/hash.ts';
import type { UtxoDump } from '../../../queries/reader-jobs.ts';
import {
  decodeSnapshotMetadata,
  SNAPSHOT_HEADER_SIZE,
  SnapshotError,
  type SnapshotMetadata,
} from '../../../storage/utxo-snapshot.ts';
import { withDescriptors } from '../../../util/descriptors.ts';
import { isFileName } from '../../../util/file-name.ts';
import { example } from '../../engine/example.ts';
import { jobText } from '../../engine/job-result.ts';
import { member, NumberText, type RpcObject } from '../../engine/json.ts';
import { type MainThreadEnv, nodeMethod, type RpcMethod } from '../../engine/method.ts';
import { optional, options, readBool, readHashValue, readInteger, textParam } from '../../engine/params.ts';
import { rpcFail } from '../../engine/rpc-error.ts';
import { anyOf, bool, hashStr, int, obj, str } from '../../engine/schema.ts';
import type { DumpedUtxoSet } from './utxo-dump.ts';
import { readLoaded } from './utxo-load-job.ts';

const DUMP_OPTIONS = {
  rollback: anyOf(int('height of the block'), str('hash of the block')),
  in_memory: bool('has no effect: changes that do not fit a bounded memory are always written to the disk'),
};

const PATH_NOTE =
  'A relative path begins in the data directory of the network. API keys name a file in that directory, without a path; the cookie, which only this machine can read, may name any path.';

const dumptxoutset = nodeMethod({
  name: 'dumptxoutset',
  category: 'blockchain',
  help: 'Writes the UTXO set of the tip or of an earlier block to a file, in the format of Bitcoin Core. The chain stays as it is, and other calls are answered meanwhile. The file is named PATH.incomplete until it is complete. It takes minutes on the main network, and ends when the client disconnects.',
  params: [
    textParam('path', {
      note: `File to be written, which must not exist, or a named pipe, whose reader gets the set. ${PATH_NOTE}`,
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
    const { counts } = env.state;
    const name = `dump of ${path}`;
    if (!counts.add(name, 1)) return rpcFail('invalidParameter', `${path} is already being written`);
    try {
      // Releases the slot of the key, so that the same key can make other calls.
      return await env.queueSlot.releaseDuring(() => dump(env, { path, target }));
    } finally {
      counts.subtract(name);
    }
  },
});

/** Counts the UTXO sets that are being loaded: at most one. */
const LOADING = 'loadtxoutset';

const loadtxoutset = nodeMethod({
  name: 'loadtxoutset',
  category: 'blockchain',
  help: 'Loads a UTXO set from a file in the format of Bitcoin Core. The node continues from the block of the set at once, and validates the chain before it in the background. The set must be one that this version knows by its hash. No wallet may be loaded.',
  params: [textParam('path', { note: `File to be read. ${PATH_NOTE}` })],
  result: obj({
    coins_loaded: int('number of coins in the set'),
    tip_hash: hashStr('hash of the block of the set'),
    base_height: int('height of that block'),
    path: str('absolute path of the file'),
  }),
  examples: [example(['utxo.dat'])],
  scope: 'admin',
  long: true,
  async run(env, given) {
    const path = snapshotPath(env, given);
    const { state } = env;
    if (!state.counts.add(LOADING, 1))
      return rpcFail('internal', `Unable to load UTXO snapshot: another one is being loaded. (${path})`);
    try {
      return await env.queueSlot.releaseDuring(() => load(env, path));
    } finally {
      state.counts.subtract(LOADING);
    }
  },
});

async function load({ ctx, signal, call }: MainThreadEnv, path: string) {
  const metadata = readMetadata(path, ctx.queries.sources.params);
  const node = ctx.node();
  const orExplain = <T>(result: T | Refusal): T =>
    isRefusal(result) ? rpcFail('internal', `Unable to load UTXO snapshot: ${result.message}. (${path})`) : result;
  const { baseHeight, runId } = orExplain(await node.call('beginUtxoSet', metadata.baseHash));
  const owner = call ? ownerOf(call) : NODE;
  const { coins, baseHash } = metadata;
  const job = { kind: 'load', load: { path, coins, baseHeight, runId, chainDir: ctx.options.chainDir } } as const;
  const result = await ctx.queries.runJob({ job, signal, long: true, owner });
  if (!result.ok && 'rpc' in result) orExplain({ refused: 'internal', message: result.rpc.message });
  const loaded = readLoaded(jobText(result));
  orExplain(await node.call('activateUtxoSet', { baseHash, runId, coins, ...loaded }));
  return { coins_loaded: coins, tip_hash: hashToHex(baseHash), base_height: baseHeight, path };
}

const MESSAGE_STARTS: ReadonlyMap<number, string> = new Map(NETWORK_NAMES.map((name) => [paramsFor(name).magic, name]));

/** Reads the header of the file. Throws RpcError. */
function readMetadata(path: string, { magic }: NetworkParams): SnapshotMetadata {
  let bytes: Uint8Array;
  try {
    if (!statSync(path).isFile()) throw new Error('no plain file');
    const fd = withDescriptors(() => openSync(path, 'r'));
    try {
      bytes = new Uint8Array(SNAPSHOT_HEADER_SIZE);
      bytes = bytes.subarray(0, readSync(fd, bytes));
    } finally {
      closeSync(fd);
    }
  } catch {
    return rpcFail('invalidParameter', `Couldn't open file ${path} for reading.`);
  }
  try {
    return decodeSnapshotMetadata(bytes, magic, MESSAGE_STARTS);
  } catch (error) {
    if (!(error instanceof SnapshotError)) throw error;
    return rpcFail('deserialization', `Unable to parse metadata: ${error.message}`);
  }
}

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

export const utxoSnapshotMethods: readonly RpcMethod[] = [dumptxoutset, loadtxoutset];
