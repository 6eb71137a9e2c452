import { double } from '../../../http/core-number.ts';
import { hashToHex } from '../../../primitives/hash.ts';
import { headerBits, workFields } from '../../../queries/block-facts.ts';
import { sleep } from '../../../util/abort.ts';
import { categoryOfCore } from '../../../util/core-log/core-categories.ts';
import { logLevels, setLogLevels } from '../../../util/log.ts';
import { LOG_CATEGORIES, type LogCategory, type LogLevel } from '../../../util/log-levels.ts';
import { example } from '../../engine/example.ts';
import { nodeMethod, type RpcMethod } from '../../engine/method.ts';
import { array, integerParam, optional, readString, textParam } from '../../engine/params.ts';
import { orFail, rpcFail } from '../../engine/rpc-error.ts';
import { anyOf, arr, bool, hashStr, hexStr, int, mapOf, maybe, nil, num, obj, str } from '../../engine/schema.ts';

/** Longest delay of the reply to `stop`, milliseconds. */
const MAX_STOP_WAIT_MS = 60_000;

const stop = nodeMethod({
  name: 'stop',
  category: 'control',
  help: 'Stops the node. Running work is completed first.',
  params: [
    optional(
      integerParam('wait', {
        hidden: true,
        note: `Milliseconds until the node stops and the reply is sent, at most ${MAX_STOP_WAIT_MS}.`,
      }),
      0,
    ),
  ],
  result: str('confirmation'),
  examples: [example([])],
  scope: 'admin',
  async run({ ctx, signal }, wait) {
    const { shutDown } = ctx;
    if (shutDown === null) return rpcFail('misc', 'This process cannot be stopped from here');
    if (wait < 0 || wait > MAX_STOP_WAIT_MS)
      return rpcFail('invalidParameter', `wait must be between 0 and ${MAX_STOP_WAIT_MS}`);
    // A caller that leaves does not keep the node running.
    if (wait > 0) await sleep(wait, signal).catch(() => {});
    // The reply is sent first.
    setImmediate(shutDown);
    return 'Obverse stopping';
  },
});

const getrpcinfo = nodeMethod({
  name: 'getrpcinfo',
  category: 'control',
  help: 'Returns the running calls and the path of the log.',
  params: [],
  result: obj({
    active_commands: arr(
      obj({ method: str('name of the method'), duration: int('running time, microseconds') }),
      'running calls, including this one',
    ),
    logpath: str('path of log.file; empty where the log goes to stderr'),
  }),
  scope: 'read',
  run({ ctx, running }) {
    const now = performance.now();
    const active = Array.from(running, ({ method, startedAt }) => ({
      method,
      duration: Math.round((now - startedAt) * 1000),
    }));
    return { active_commands: active, logpath: ctx.options.logFile ?? '' };
  },
});

/** Core's names for all categories. */
const ALL_CATEGORIES = ['all', '1', ''];
const CATEGORY_NOTE = `${LOG_CATEGORIES.join(', ')}; or all, 1 or an empty text for all of them. Core's names of them, such as net, count as well.`;

const logging = nodeMethod({
  name: 'logging',
  category: 'control',
  help: 'Enables or disables debug lines in the log by category, until the node stops or reads its settings again. Returns for each category whether its debug lines are logged.',
  params: [
    optional(
      array('include', readString, {
        oneline: '["include_category",...]',
        note: `Categories to enable: ${CATEGORY_NOTE}`,
      }),
      [],
    ),
    optional(
      array('exclude', readString, {
        oneline: '["exclude_category",...]',
        note: `Categories to disable, after include was applied: ${CATEGORY_NOTE}`,
      }),
      [],
    ),
  ],
  result: mapOf('category', bool('whether its debug lines are logged')),
  examples: [example([]), example([['p2p']]), example([['all'], ['mempool']])],
  scope: 'admin',
  async run({ ctx }, include, exclude) {
    const { inUse, configured } = logLevels();
    const levels: Record<LogCategory, LogLevel> = { ...inUse };
    for (const category of categoriesOf(include)) levels[category] = 'debug';
    for (const category of categoriesOf(exclude))
      levels[category] = configured[category] === 'debug' ? 'info' : configured[category];
    if (include.length + exclude.length > 0) {
      // Each thread has a log of its own.
      await ctx.node().call('setLogLevels', levels, false);
      setLogLevels(levels, false);
    }
    return Object.fromEntries(LOG_CATEGORIES.map((category) => [category, levels[category] === 'debug']));
  },
});

function categoriesOf(names: readonly string[]): readonly LogCategory[] {
  return names.flatMap((name) => {
    if (ALL_CATEGORIES.includes(name)) return LOG_CATEGORIES;
    const category = LOG_CATEGORIES.find((each) => each === name) ?? categoryOfCore(name);
    return category ? [category] : rpcFail('invalidParameter', `unknown logging category ${name}`);
  });
}

const getmemoryinfo = nodeMethod({
  name: 'getmemoryinfo',
  category: 'control',
  help: 'Returns the memory that is locked against being swapped out. This node locks none; the metrics show its memory.',
  params: [optional(textParam('mode', { note: 'stats; mallocinfo is not available.' }), 'stats')],
  result: anyOf(
    obj({
      locked: obj(
        {
          used: int('bytes in use'),
          free: int('free bytes'),
          total: int('bytes in total'),
          locked: int('bytes that are locked in memory'),
          chunks_used: int('pieces in use'),
          chunks_free: int('free pieces'),
        },
        'locked memory; all figures are 0',
      ),
    }),
    str('mallocinfo; never returned'),
  ),
  examples: [example([])],
  scope: 'read',
  run(_env, mode) {
    if (mode === 'mallocinfo') return rpcFail('invalidParameter', 'mallocinfo mode not available');
    if (mode !== 'stats') return rpcFail('invalidParameter', `unknown mode ${mode}`);
    return { locked: { used: 0, free: 0, total: 0, locked: 0, chunks_used: 0, chunks_free: 0 } };
  },
});

const pruneblockchain = nodeMethod({
  name: 'pruneblockchain',
  category: 'blockchain',
  help: 'Removes the block and undo files whose blocks are at most at a height. At least the last 288 blocks stay, and the indexes stay whole. Needs storage.prune.',
  params: [
    integerParam('height', {
      note: 'Height up to which blocks are pruned; above 1000000000 a UNIX time, and blocks at least two hours older are pruned.',
    }),
  ],
  result: int('height of the last pruned block; -1 if none has been pruned'),
  examples: [example([1000])],
  scope: 'admin',
  async run({ ctx, read }, height) {
    const isPruned = await read(({ settings }) => settings.prune !== null);
    const pruned = isPruned ? await ctx.node().call('pruneBlocks', height) : null;
    if (pruned === null)
      return rpcFail('misc', 'Cannot prune blocks because node is not in prune mode.', 'feature_disabled', {
        feature: 'pruning',
      });
    return orFail(pruned);
  },
});

const getchainstates = nodeMethod({
  name: 'getchainstates',
  category: 'blockchain',
  help: 'Returns the validated chains: the active one, and before it the one that is validated behind a loaded UTXO set.',
  params: [],
  result: obj({
    headers: int('height of the best header'),
    chainstates: arr(
      obj({
        blocks: int('height of the tip'),
        bestblockhash: hashStr('hash of the tip'),
        bits: hexStr('target in compact form'),
        target: hashStr('the highest valid hash'),
        difficulty: num('difficulty of the tip'),
        verificationprogress: num('estimated share of the verified transactions, 0 to 1'),
        coins_db_cache_bytes: int('cache of the database'),
        coins_tip_cache_bytes: int('cache of coins'),
        snapshot_blockhash: maybe(hashStr('block of the loaded UTXO set')),
        validated: bool('false for a loaded UTXO set until the chain behind it is validated'),
      }),
      'validated chains; the active chain is the last one',
    ),
  }),
  scope: 'read',
  async run({ ctx, read }) {
    const { headers, verificationProgress, background } = ctx.node().status();
    const caches = await ctx.node().call('coinCaches');
    return read(({ tip }) => ({
      headers: Math.max(headers, tip.height),
      chainstates: [
        ...(background === null || background.validated
          ? []
          : [
              {
                blocks: background.height,
                bestblockhash: background.hash,
                ...workFields(background.bits),
                verificationprogress: double(background.verificationProgress),
                coins_db_cache_bytes: caches.database,
                coins_tip_cache_bytes: caches.background,
                validated: true,
              },
            ]),
        {
          blocks: tip.height,
          bestblockhash: hashToHex(tip.hash),
          ...workFields(headerBits(tip)),
          verificationprogress: double(verificationProgress),
          coins_db_cache_bytes: caches.database,
          coins_tip_cache_bytes: caches.table,
          ...(background && { snapshot_blockhash: background.baseHash }),
          validated: background?.validated ?? true,
        },
      ],
    }));
  },
});

const syncwithvalidationinterfacequeue = nodeMethod({
  name: 'syncwithvalidationinterfacequeue',
  hidden: true,
  category: 'blockchain',
  help: 'Waits until reads see all blocks and transactions that were processed before the call.',
  params: [],
  result: nil(),
  scope: 'read',
  async run({ ctx }) {
    await ctx.node().call('echo');
    await ctx.mempool.drained();
    return null;
  },
});

export const controlMethods: readonly RpcMethod[] = [
  stop,
  getrpcinfo,
  logging,
  getmemoryinfo,
  pruneblockchain,
  getchainstates,
  syncwithvalidationinterfacequeue,
];
