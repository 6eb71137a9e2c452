import { Chain } from '../../src/chain/chain.ts';
import { hostClock } from '../../src/util/clock.ts';
import { DEFAULT_INDEXES, inlineVerifier, silentLog } from '../lib/chain-fixture.ts';
import { loadInto, setAt, setChain } from '../lib/loaded-set.ts';

/**
 * Loads a UTXO set into the chain in a folder, unless it holds one, and submits all blocks, step by step. The chain stays
 * open where the steps are not taken to the end; `onOpen` receives the function that closes it.
 */
export async function* loadSteps(
  dir: string,
  path: string,
  onOpen: (close: () => Promise<void>) => void = () => {},
): AsyncGenerator<string> {
  const set = setAt(setChain(), 112);
  const { blocks } = setChain();
  const chain = new Chain(
    { dir, params: set.params, coinsCacheBytes: 64 * 1024 * 1024, databaseCacheMiB: 16, indexes: DEFAULT_INDEXES },
    { verifier: inlineVerifier, clock: hostClock, log: silentLog },
  );
  onOpen(() => chain.close());
  yield 'open';
  await chain.acceptHeaders(blocks.slice(1).map(({ header }) => header));
  yield 'headers';
  if (chain.tip.height === 0) await loadInto({ chain, dir }, set, path);
  yield 'loaded';
  for (const block of blocks.slice(113)) {
    await chain.submitBlock(block.raw);
    yield `above ${block.height}`;
  }
  for (const block of blocks.slice(1, 113)) {
    await chain.acceptBlock(block.raw);
    yield `below ${block.height}`;
  }
  while (chain.background !== null) {
    // The validation goes on in between.
    await new Promise(setImmediate);
    yield 'validating';
  }
  await chain.close();
}

/** Takes the steps up to the number of the third argument, and ends the process there without any notice to it. */
if (import.meta.main) {
  const [dir, path, count] = process.argv.slice(2);
  let steps = 0;
  for await (const _ of loadSteps(dir!, path!)) if (++steps === Number(count)) process.kill(process.pid, 'SIGKILL');
}
