import type { PruneOptions } from '../chain/pruner.ts';
import { MANUAL_PRUNE } from '../config/elements.ts';
import type { Config } from '../config/settings.ts';
import type { NetworkParams } from '../params/network-params.ts';

const MEBIBYTE = 1024 * 1024;
/** Values of Core's -fastprune. */
const FAST_FILE_LIMIT = 64 * 1024;
const FAST_AFTER_HEIGHT = 100;

/** Returns the size to which block and undo files are pruned, bytes; null prunes on request only. */
function targetOf({ storage }: Pick<Config, 'storage'>): number | null {
  return storage.prune === MANUAL_PRUNE ? null : storage.prune * MEBIBYTE;
}

/** Returns the configured pruning for the read side; null if it is off. */
export function pruneSettingsOf(config: Pick<Config, 'storage'>): { readonly target: number | null } | null {
  return config.storage.prune === 0 ? null : { target: targetOf(config) };
}

/** Returns the options of the chain for its block files: their pruning, and their size limit. */
export function blockFileOptionsOf(
  config: Pick<Config, 'storage'>,
  { pruneAfterHeight }: Pick<NetworkParams, 'pruneAfterHeight'>,
): { prune: PruneOptions | undefined; fileLimit: number | undefined } {
  const { prune, fastPrune } = config.storage;
  const afterHeight = fastPrune ? FAST_AFTER_HEIGHT : pruneAfterHeight;
  return {
    prune: prune === 0 ? undefined : { target: targetOf(config), afterHeight },
    fileLimit: fastPrune ? FAST_FILE_LIMIT : undefined,
  };
}
