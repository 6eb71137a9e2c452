import { Chain } from '../../src/chain/chain.ts';
import { hostClock } from '../../src/util/clock.ts';
import { inlineVerifier, silentLog } from '../lib/chain-fixture.ts';
import { loadInto, setAt, setChain } from '../lib/loaded-set.ts';

/**
 * Loads a UTXO set into the chain in the folder of the first argument, unless it holds one, and submits all blocks, with a
 * line of output after each step. The second argument is the path of the file.
 */
const [dir, path] = process.argv.slice(2);
const set = setAt(setChain(), 112);
const blocks = setChain().blocks;
const chain = new Chain(
  { dir: dir!, params: set.params, coinsCacheBytes: 64 * 1024 * 1024, databaseCacheMiB: 16 },
  { verifier: inlineVerifier, clock: hostClock, log: silentLog },
);
const step = async (name: string) => {
  process.stdout.write(`${name}\n`);
  // Lets the reader of the output end this process.
  await new Promise((resolve) => setTimeout(resolve, 2));
};
await step('open');
await chain.acceptHeaders(blocks.slice(1).map(({ header }) => header));
await step('headers');
if (chain.tip.height === 0) await loadInto({ chain, dir: dir! }, set, path!);
await step('loaded');
for (const block of blocks.slice(113)) {
  await chain.submitBlock(block.raw);
  await step(`above ${block.height}`);
}
for (const block of blocks.slice(1, 113)) {
  await chain.acceptBlock(block.raw);
  await step(`below ${block.height}`);
}
while (chain.background !== null) await step('validating');
await chain.close();
