import { fail } from '../http/errors.ts';
import type { ScriptRows, TxRows } from '../storage/chain-source.ts';
import type { IndexName, IndexSwitches } from '../storage/index-store.ts';
import type { ReadEnv } from './read-env.ts';

/** Sources of the state of the indexes. */
export type IndexEnv = Pick<ReadEnv, 'reads' | 'state' | 'tip' | 'settings'>;

export interface IndexState {
  readonly enabled: boolean;
  /** Height up to which it has its rows; -1 without any. */
  readonly height: number;
  /** Whether it covers the whole chain. Otherwise it must not be used, since its answers would be incomplete. */
  readonly synced: boolean;
}

/** Codes of the errors of `requireIndex`. */
export const INDEX_ERRORS = ['feature_disabled', 'index_not_ready'] as const;

const TITLES: Readonly<Record<keyof IndexSwitches, string>> = {
  tx: 'transaction index',
  address: 'address index',
  spender: 'spender index',
  coinStats: 'index of coin statistics',
};

/** Returns the state of an index. Those of transactions need that of the positions as well. */
export function indexState(env: IndexEnv, name: keyof IndexSwitches): IndexState {
  const { state, settings } = env;
  const parts: readonly IndexName[] = name === 'coinStats' ? [name] : [name, 'positions'];
  return {
    enabled: settings.indexes[name],
    // Read by few callers alone.
    get height() {
      return Math.min(...parts.map((part) => env.reads.indexes.covered(part)?.height ?? -1));
    },
    synced: parts.every((part) => state.live.has(part)),
  };
}

/** Whether an index is switched on and covers the chain. */
export function isIndexReady({ settings, state }: IndexEnv, name: keyof IndexSwitches): boolean {
  return settings.indexes[name] && state.live.has(name) && (name === 'coinStats' || state.live.has('positions'));
}

/** Throws `feature_disabled` if an index is switched off, and `index_not_ready` while it does not cover the chain. */
export function requireIndex(env: IndexEnv, name: keyof IndexSwitches): void {
  if (isIndexReady(env, name)) return;
  const state = indexState(env, name);
  if (!state.enabled)
    fail('feature_disabled', `this needs the ${TITLES[name]}: index.${name} is off`, { feature: `${name}_index` });
  fail('index_not_ready', `the ${TITLES[name]} is being built`, {
    index: name,
    height: Math.max(0, state.height),
    tipHeight: env.tip.height,
  });
}

/** Returns the transaction index. Throws as `requireIndex` does. */
export function txIndexOf(env: IndexEnv): TxRows {
  requireIndex(env, 'tx');
  return env.reads.txs;
}

/** Returns the address index. Throws as `requireIndex` does. */
export function addressIndexOf(env: IndexEnv): ScriptRows {
  requireIndex(env, 'address');
  return env.reads.scripts;
}

/** Returns the positions of transactions in blocks of the active chain; null if they do not cover it. */
export function positionsOf({ reads, state }: Pick<ReadEnv, 'reads' | 'state'>): TxRows | null {
  return state.live.has('positions') ? reads.txs : null;
}
