import { double } from '../../../http/core-number.ts';
import { hashToHex } from '../../../primitives/hash.ts';
import { headerBits, workFields } from '../../../queries/block-facts.ts';
import { keepDebugLines } from '../../../util/log.ts';
import { type FrontEnv, nodeMethod } from '../../engine/method.ts';
import { array, integer, optional, readString, text } from '../../engine/params.ts';
import { rpcFail } from '../../engine/rpc-error.ts';
import { anyOf, arr, bool, hashStr, hexStr, int, mapOf, nil, num, obj, str } from '../../engine/schema.ts';

export const stop = nodeMethod({
  name: 'stop',
  category: 'control',
  help: 'Stops the node; what goes on is finished first.',
  params: [],
  result: str(),
  scope: 'admin',
  run({ ctx }) {
    const { shutDown } = ctx;
    if (shutDown === null) return rpcFail('misc', 'This process cannot be stopped from here');
    // The answer goes out first.
    setImmediate(shutDown);
    return 'Obverse stopping';
  },
});

export const getrpcinfo = nodeMethod({
  name: 'getrpcinfo',
  category: 'control',
  help: 'Which calls are being answered.',
  params: [],
  result: obj({
    active_commands: arr(obj({ method: str(), duration: int('microseconds') })),
    logpath: str('empty: the log goes to stderr'),
  }),
  scope: 'read',
  run({ running }) {
    const now = performance.now();
    const active = Array.from(running, ({ method, startedAt }) => ({
      method,
      duration: Math.round((now - startedAt) * 1000),
    }));
    return { active_commands: active, logpath: '' };
  },
});

/** What Core takes for all categories. */
const ALL_CATEGORIES = ['all', '1', ''];
const CATEGORY = 'debug';

export const logging = nodeMethod({
  name: 'logging',
  category: 'control',
  help: `Whether debug lines are logged, and switches them on or off. There is one category, ${CATEGORY}; all and 1 stand for it.`,
  params: [
    optional(array('include', readString, { oneline: '["include_category",...]' }), []),
    optional(array('exclude', readString, { oneline: '["exclude_category",...]' }), []),
  ],
  result: mapOf('category', bool()),
  scope: 'admin',
  async run(env, include, exclude) {
    for (const [names, kept] of [
      [include, true],
      [exclude, false],
    ] as const) {
      const unknown = names.find((name) => name !== CATEGORY && !ALL_CATEGORIES.includes(name));
      if (unknown !== undefined) return rpcFail('invalidParameter', `unknown logging category ${unknown}`);
      if (names.length > 0) await logDebug(env, kept);
    }
    return { [CATEGORY]: env.ctx.log.enabled('debug') };
  },
});

/** The node and what answers for it run on threads of their own, each with its log. */
async function logDebug({ ctx }: FrontEnv, kept: boolean): Promise<void> {
  await ctx.node().act('logDebug', kept);
  keepDebugLines(kept);
}

export const getmemoryinfo = nodeMethod({
  name: 'getmemoryinfo',
  category: 'control',
  help: 'Memory that is locked so that it is never written to disk: none. For the rest see the metrics.',
  params: [optional(text('mode', { note: 'stats' }), 'stats')],
  result: anyOf(
    obj({
      locked: obj({
        used: int(),
        free: int(),
        total: int(),
        locked: int(),
        chunks_used: int(),
        chunks_free: int(),
      }),
    }),
    str('never: there is no other mode'),
  ),
  scope: 'read',
  run(_env, mode) {
    if (mode === 'mallocinfo') return rpcFail('invalidParameter', 'mallocinfo mode not available');
    if (mode !== 'stats') return rpcFail('invalidParameter', `unknown mode ${mode}`);
    return { locked: { used: 0, free: 0, total: 0, locked: 0, chunks_used: 0, chunks_free: 0 } };
  },
});

export const pruneblockchain = nodeMethod({
  name: 'pruneblockchain',
  category: 'blockchain',
  help: 'Always fails: this node keeps all blocks.',
  params: [integer('height')],
  result: int(),
  scope: 'admin',
  run: () =>
    rpcFail('misc', 'Cannot prune blocks because node is not in prune mode.', 'feature_disabled', {
      feature: 'pruning',
    }),
});

export const getchainstates = nodeMethod({
  name: 'getchainstates',
  category: 'blockchain',
  help: 'The chains that are followed: there is one.',
  params: [],
  result: obj({
    headers: int('height of the best header'),
    chainstates: arr(
      obj({
        blocks: int('height of the tip'),
        bestblockhash: hashStr(),
        bits: hexStr(),
        target: hashStr(),
        difficulty: num(),
        verificationprogress: num('0 to 1, estimated'),
        coins_db_cache_bytes: int(),
        coins_tip_cache_bytes: int(),
        validated: bool('true: no chain is loaded from a snapshot'),
      }),
    ),
  }),
  scope: 'read',
  async run({ ctx, read }) {
    const { headers, verificationProgress } = ctx.node().status();
    const caches = await ctx.node().act('coinCaches');
    return read(({ tip }) => ({
      headers: Math.max(headers, tip.height),
      chainstates: [
        {
          blocks: tip.height,
          bestblockhash: hashToHex(tip.hash),
          ...workFields(headerBits(tip)),
          verificationprogress: double(verificationProgress),
          coins_db_cache_bytes: caches.database,
          coins_tip_cache_bytes: caches.table,
          validated: true,
        },
      ],
    }));
  },
});

export const syncwithvalidationinterfacequeue = nodeMethod({
  name: 'syncwithvalidationinterfacequeue',
  hidden: true,
  category: 'blockchain',
  help: 'Waits until all that has happened so far can be read.',
  params: [],
  result: nil(),
  scope: 'read',
  async run({ ctx }) {
    await ctx.node().echo();
    await ctx.mempool.drained();
    return null;
  },
});
