import type { ReadEnv } from '../../queries/read-env.ts';
import type { HeaderRecord } from '../../storage/header-store.ts';
import { blockView } from './block-view.ts';

/** The JSON of a block around its confirmations, which alone change until a reorg. */
interface BlockText {
  readonly height: number;
  readonly head: string;
  readonly tail: string;
}

/**
 * Returns a block in the form of REST as JSON, from the cache where it is there. `hash` is in display order; `find` returns
 * the header, and is called if the block is not in the cache. Throws as `find` and `blockView` do.
 */
export function blockText(env: ReadEnv, hash: string, find: () => HeaderRecord, summary: boolean): string {
  const key = `block ${summary ? 'summary' : 'all'} ${hash}`;
  const known = env.texts?.find<BlockText>(env, key);
  if (known) return known.head + (env.tip.height - known.height + 1) + known.tail;
  const view = blockView(env, find(), { summary });
  const text = JSON.stringify(view);
  // The tip has no next block yet, and the fees of a block that is validated later are not known.
  if (env.texts && view.inActiveChain && view.nextHash !== null && view.fees !== null) {
    const name = '"confirmations":';
    const at = text.indexOf(name) + name.length;
    const end = at + String(view.confirmations).length;
    const kept: BlockText = { height: view.height, head: text.slice(0, at), tail: text.slice(end) };
    env.texts.store(env, key, kept, text.length);
  }
  return text;
}
