import { expect, test } from 'bun:test';
import { TxTexts } from '../../src/queries/tx-texts.ts';
import type { ChainState } from '../../src/storage/chain-reads.ts';
import type { HeaderRecord } from '../../src/storage/header-store.ts';

type Env = Parameters<TxTexts['find']>[0];

/** Returns the environment of an answer at a tip; `active` holds the ids of the blocks of the active chain. */
function envAt(id: number, { active = [id], pruned = false }: { active?: number[]; pruned?: boolean } = {}): Env {
  const state = { tip: { id } } as ChainState;
  const headers = { isActive: (block: HeaderRecord) => active.includes(block.id) };
  return { state, settings: { prune: pruned ? { target: null } : null }, reads: { headers } } as unknown as Env;
}

test('an entry stays while the chain grows, and is gone after a reorg', () => {
  const texts = new TxTexts(1 << 20);
  const first = envAt(1);
  texts.store(first, 'a', 'text', 4);
  expect(texts.find<string>(first, 'a')).toBe('text');
  expect(texts.find<string>(envAt(1), 'a')).toBe('text');
  expect(texts.find<string>(envAt(2, { active: [1, 2] }), 'a')).toBe('text');
  expect(texts.find(envAt(3, { active: [1, 3] }), 'a')).toBeNull();
  expect(texts.counts).toEqual({ hits: 3, misses: 1, bytes: 0 });
});

test('with pruning, an entry is gone after each commit', () => {
  const texts = new TxTexts(1 << 20);
  const env = envAt(1, { pruned: true });
  texts.store(env, 'a', 'text', 4);
  expect(texts.find<string>(env, 'a')).toBe('text');
  expect(texts.find(envAt(1, { pruned: true }), 'a')).toBeNull();
});

test('the least recently used entries are evicted at the limit of bytes, and a long one is not stored', () => {
  const env = envAt(1);
  const texts = new TxTexts(100_000);
  for (let i = 0; i < 80; i++) {
    texts.store(env, `key ${i}`, i, 1244);
    expect(texts.find<number>(env, 'key 0')).toBe(0);
  }
  expect(texts.counts.bytes).toBe(66 * 1500);
  expect(texts.find(env, 'key 1')).toBeNull();
  expect(texts.find<number>(env, 'key 79')).toBe(79);
  texts.store(env, 'long', 'text', 2000);
  expect(texts.find(env, 'long')).toBeNull();
});
