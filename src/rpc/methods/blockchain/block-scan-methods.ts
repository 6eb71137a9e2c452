import { NODE, ownerOf } from '../../../http/owner.ts';
import type { BlockHash } from '../../../primitives/hash.ts';
import { filterIndexState } from '../../../queries/filter-reads.ts';
import { mempoolSlotsOf, txidsTouching } from '../../../queries/mempool-parts.ts';
import type { ReadEnv } from '../../../queries/read-env.ts';
import type { ScanStep } from '../../../queries/reader-jobs.ts';
import { concatBytes } from '../../../util/bytes.ts';
import { EXAMPLE, example } from '../../engine/example.ts';
import type { FilterScan } from '../../engine/filter-scans.ts';
import { jobBody, jobText } from '../../engine/job-result.ts';
import { member, type RpcValue } from '../../engine/json.ts';
import { JsonText, type MainThreadEnv, nodeMethod, type RpcMethod } from '../../engine/method.ts';
import {
  array,
  flagParam,
  integerParam,
  optional,
  options,
  readBool,
  readHashValue,
  textParam,
} from '../../engine/params.ts';
import { rpcFail } from '../../engine/rpc-error.ts';
import { anyOf, arr, bool, coinAmount, hashStr, int, maybe, nil, noted, obj, str } from '../../engine/schema.ts';
import { outputScript } from '../schemas.ts';
import { SCAN_OBJECTS } from './scan-objects.ts';
import { type FilterMatches, readActivity, type ScanActivity } from './scan-steps.ts';

const BASIC = 'basic';
const HASH_SIZE = 32;
/** Keeps a reply below some hundred megabytes of JSON. */
const MAX_EVENTS = 200_000;

const scanObjects = (note: string) =>
  array('scanobjects', (value) => value, { oneline: '[scanobjects,...]', schema: SCAN_OBJECTS, note });

const scanblocks = nodeMethod({
  name: 'scanblocks',
  category: 'blockchain',
  help: 'Returns the blocks whose filters match descriptors: they may pay to these or spend from them. The filter index (index.filter) is needed, and one scan runs at a time.',
  params: [
    textParam('action', { note: 'start to scan, status for the progress of the running scan, abort to end it.' }),
    optional(scanObjects('Descriptors to search for; required for start.'), null),
    optional(integerParam('start_height', { note: 'Height of the first block.' }), 0),
    optional(integerParam('stop_height', { note: 'Height of the last block; the tip by default.' }), null),
    optional(textParam('filtertype', { note: 'Only basic (BIP-158) is known.' }), BASIC),
    optional(
      options(
        'options',
        {
          filter_false_positives: bool('reads matching blocks and omits those that match by chance; false by default'),
        },
        { note: 'Further settings.' },
      ),
      {},
    ),
  ],
  result: anyOf(
    nil('status, if no scan is running'),
    obj(
      {
        from_height: int('first height that was scanned'),
        to_height: int('last scanned height'),
        relevant_blocks: arr(hashStr(), 'blocks whose filters match, in the order of the chain'),
        completed: bool('false if the scan was aborted'),
      },
      'start, at the end of the scan',
    ),
    obj({ progress: int('percent'), current_height: int('last scanned height') }, 'status, during a scan'),
    bool('abort: whether a scan was running'),
  ),
  examples: [example(['start', [EXAMPLE.descriptor], 0, 100]), example(['status'])],
  scope: 'read',
  long: true,
  async run(env, action, objects, start, stop, filterType, given) {
    const { filterScans } = env.state;
    if (action === 'status') {
      const running = filterScans.status();
      return running && { progress: running.progress, current_height: running.height };
    }
    if (action === 'abort') return filterScans.abort();
    if (action !== 'start') return rpcFail('invalidParameter', `Invalid action '${action}'`);
    const scan = filterScans.start(start);
    if (!scan) return rpcFail('invalidParameter', 'Scan already in progress, use action "abort" or "status"');
    try {
      if (objects === null) return rpcFail('misc', 'scanobjects argument is required for the start action');
      if (filterType !== BASIC) return rpcFail('invalidAddressOrKey', 'Unknown filtertype');
      const wanted = member(given, 'filter_false_positives');
      const exact = wanted !== null && readBool(wanted);
      const end = await env.read((reads) => scanEnd(reads, start, stop));
      // Releases the slot of the key, so that the same key can query and abort the scan.
      return await env.queueSlot.releaseDuring(() => scanFilters(env, scan, objects, start, end, exact));
    } finally {
      filterScans.end();
    }
  },
});

interface ScanEnd {
  readonly height: number;
  readonly hash: BlockHash;
}

function scanEnd(env: ReadEnv, start: number, given: number | null): ScanEnd {
  const { reads, tip } = env;
  const index = filterIndexState(env);
  if (!index) return rpcFail('misc', `Index is not enabled for filtertype ${BASIC}`);
  if (start < 0 || start > tip.height) return rpcFail('misc', 'Invalid start_height');
  if (given !== null && (given < start || given > tip.height)) return rpcFail('misc', 'Invalid stop_height');
  const height = given ?? tip.height;
  // A result without the blocks that have no filter yet would look complete.
  if (index.height < height) return rpcFail('misc', 'Block filters are still in the process of being indexed.');
  return { height, hash: reads.headers.byHeight(height)!.hash.slice() as BlockHash };
}

async function scanFilters(
  env: MainThreadEnv,
  scan: FilterScan,
  objects: readonly RpcValue[],
  start: number,
  stop: ScanEnd,
  exact: boolean,
) {
  const found: (readonly string[])[] = [];
  let height = start;
  const signal = AbortSignal.any([env.signal, scan.abort.signal]);
  const asking = { ctx: env.ctx, call: env.call, signal };
  try {
    const scripts = await deriveScripts(asking, objects);
    for (let from = start; from <= stop.height; from = height + 1) {
      const step = { step: 'filters', scripts, from, stop: stop.hash, exact } as const;
      const matches = JSON.parse(jobText(await runStep(asking, step))) as FilterMatches;
      found.push(matches.found);
      height = matches.height;
      const progress = stop.height > start ? Math.floor((100 / (stop.height - start)) * (height - start)) : 100;
      env.state.filterScans.report(progress, height);
    }
  } catch (error) {
    if (!scan.abort.signal.aborted) throw error;
  }
  const completed = !scan.abort.signal.aborted;
  return { from_height: start, to_height: height, relevant_blocks: found.flat(), completed };
}

type Asking = Pick<MainThreadEnv, 'ctx' | 'signal' | 'call'>;

/** Returns the scripts of the scan objects in memory that all workers share. */
async function deriveScripts(env: Asking, objects: readonly RpcValue[]): Promise<SharedArrayBuffer> {
  const packed = jobBody(await runStep(env, { step: 'scripts', objects: JSON.stringify(objects) })) as Uint8Array;
  const shared = new SharedArrayBuffer(packed.length);
  new Uint8Array(shared).set(packed);
  return shared;
}

function runStep({ ctx, signal, call }: Asking, step: ScanStep, mempoolPart?: (env: ReadEnv) => Iterable<number>) {
  const owner = call ? ownerOf(call) : NODE;
  return ctx.queries.runJob({ job: { kind: 'scan', step }, signal, long: true, owner, mempoolPart });
}

const unconfirmed = 'absent for an unconfirmed transaction';

const getdescriptoractivity = nodeMethod({
  name: 'getdescriptoractivity',
  category: 'blockchain',
  help: 'Returns the payments to the scripts of descriptors, and the spends from them, in the given blocks and the mempool. A reply holds at most 200,000 of them.',
  params: [
    array('blockhashes', (value) => readHashValue<BlockHash>(value, 'blockhash'), {
      oneline: '["blockhash",...]',
      schema: arr(hashStr()),
      note: 'Hashes of the blocks to read, as scanblocks returns them; may be empty.',
    }),
    scanObjects('Descriptors to search for.'),
    optional(flagParam('include_mempool', { note: 'Whether unconfirmed transactions are included.' }), true),
  ],
  result: obj({
    activity: arr(
      anyOf(
        obj({
          type: str('spend'),
          amount: coinAmount('value of the output'),
          blockhash: maybe(hashStr(unconfirmed)),
          height: maybe(int(unconfirmed)),
          spend_txid: hashStr('the spending transaction'),
          spend_vin: int('index of its input'),
          prevout_txid: hashStr('transaction of the spent output'),
          prevout_vout: int('index of the spent output'),
          prevout_spk: noted(outputScript, 'script of the spent output'),
        }),
        obj({
          type: str('receive'),
          amount: coinAmount('value of the output'),
          blockhash: maybe(hashStr(unconfirmed)),
          height: maybe(int(unconfirmed)),
          txid: hashStr('transaction of the output'),
          vout: int('index of the output'),
          output_spk: noted(outputScript, 'script of the output'),
        }),
      ),
      'the blocks by their height, then the mempool in the order of arrival',
    ),
  }),
  examples: [example([[EXAMPLE.blockHash], [EXAMPLE.descriptor]])],
  scope: 'read',
  long: true,
  async run(env, hashes, objects, withMempool) {
    // Thousands of lookups are too many for the main thread.
    const blocks = jobBody(await runStep(env, { step: 'order', blocks: concatBytes(...hashes) })) as Uint8Array;
    return activityOf(env, blocks, objects, withMempool);
  },
});

async function activityOf(
  env: MainThreadEnv,
  blocks: Uint8Array,
  objects: readonly RpcValue[],
  withMempool: boolean,
): Promise<JsonText> {
  const scripts = await deriveScripts(env, objects);
  const parts: string[] = [];
  let count = 0;
  const append = async (step: ScanStep, mempoolPart?: (reads: ReadEnv) => Iterable<number>): Promise<ScanActivity> => {
    const activity = readActivity(jobText(await runStep(env, step, mempoolPart)));
    count += activity.count;
    if (count > MAX_EVENTS)
      rpcFail('misc', `More than ${MAX_EVENTS} events: ask for fewer blocks or descriptors at a time`);
    if (activity.events !== '') parts.push(activity.events);
    return activity;
  };
  for (let done = 0; done < blocks.length; ) {
    const activity = await append({ step: 'blocks', scripts, blocks: blocks.slice(done) });
    done += activity.blocks * HASH_SIZE;
  }
  if (withMempool) {
    const txids = await txidsTouching(env.mempool, new Uint8Array(scripts), env.signal);
    await append({ step: 'mempool', scripts }, (reads) => mempoolSlotsOf(reads, txids));
  }
  return new JsonText(`{"activity":[${parts.join(',')}]}`);
}

export const blockScanMethods: readonly RpcMethod[] = [scanblocks, getdescriptoractivity];
