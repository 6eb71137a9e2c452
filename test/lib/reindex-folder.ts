import { join } from 'node:path';
import { Chain } from '../../src/chain/chain.ts';
import { reindexBlocks } from '../../src/node/reindex/reindex-blocks.ts';
import type { ReindexResult } from '../../src/node/reindex/reindex-types.ts';
import { findGenesis, type RecordedBlocks, scanStoredBlocks } from '../../src/node/reindex/stored-blocks.ts';
import type { NetworkParams } from '../../src/params/network-params.ts';
import { regtest } from '../../src/params/regtest.ts';
import { beginReindex, finishReindex } from '../../src/storage/reindex-folder.ts';
import { hostClock } from '../../src/util/clock.ts';
import { DEFAULT_INDEXES, inlineVerifier, silentLog } from './chain-fixture.ts';

/** Finds the blocks in the block files of a folder. */
export function storedBlocks(dir: string, params: NetworkParams = regtest): RecordedBlocks {
  const scan = scanStoredBlocks(join(dir, 'blocks'), params);
  for (;;) {
    const { done, value } = scan.next();
    if (done) return value;
  }
}

/** Reindexes the folder of a closed chain in this process. `stopAfter`: number of blocks after which it is aborted. */
export async function reindexFolder(
  dir: string,
  { filters = false, stopAfter = Number.POSITIVE_INFINITY, restart = false } = {},
): Promise<ReindexResult> {
  const stored = storedBlocks(dir);
  const continued = beginReindex(dir, restart);
  const genesis = findGenesis(join(dir, 'blocks'), regtest, stored);
  const chain = new Chain(
    {
      dir,
      params: regtest,
      coinsCacheBytes: 16 << 20,
      databaseCacheMiB: 4,
      filters,
      indexes: DEFAULT_INDEXES,
      reindex: { genesis },
    },
    { verifier: inlineVerifier, clock: hostClock, log: silentLog },
  );
  const abort = new AbortController();
  let connected = 0;
  chain.onBlockConnected(() => {
    if (++connected >= stopAfter) abort.abort();
  });
  let result: Omit<ReindexResult, 'continued'>;
  try {
    result = await reindexBlocks(chain, dir, stored, { signal: abort.signal, progress: () => {} }, hostClock);
  } finally {
    await chain.close();
  }
  if (!abort.signal.aborted) finishReindex(dir);
  return { continued, ...result };
}
