import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Random } from '../fuzz/random.ts';
import type { RegtestChain, TestBlock } from '../lib/chain-builder.ts';
import { freePort, NodeProcess, startNode, tempDir } from '../lib/node-process.ts';
import { tipOf } from '../lib/peer-node.ts';
import { chainDigests, digestDifferences, tearUnlistedRuns } from './chain-files.ts';
import type { Proof } from './proof.ts';
import { WideChains } from './wide-chain.ts';

const FIRST_BLOCKS = 20;
const DEEPEST_REORG = 6;
/** Two of three steps of the peer are reorgs, the others a block. */
const REORGS = 3;
const KILLED_WITHIN_MS = 300;
const SYNC_TIMEOUT_MS = 120_000;

/**
 * Kills a node with SIGKILL at random moments, while a peer feeds it blocks and reorgs of up to six blocks. In the end its
 * chain, coins and indexes must be those of the peer, which is not killed.
 */
export const nodeKills: Proof = {
  help: 'a node that is killed while a peer feeds it blocks and reorgs has the state of that peer; counts kills',
  count: 60,
  async run(count, seed, signal, progress) {
    const random = new Random(seed);
    const feed = new Feed(random);
    const peerPort = await freePort();
    const args = ['--wallet.enabled=false', '--p2p.listen'];
    const peer = await startNode({ args: [...args, `127.0.0.1:${peerPort}`] });
    const datadir = tempDir('node-kills');
    const chainDir = join(datadir, 'regtest/chain');
    const start = () => new NodeProcess({ datadir, args: [...args, '', `--p2p.connect=127.0.0.1:${peerPort}`] });
    const violations: string[] = [];
    let kills = 0;
    let torn = 0;
    let node: NodeProcess | null = null;
    try {
      await submit(peer, feed.first());
      for (; kills < count && violations.length === 0; kills++) {
        signal.throwIfAborted();
        node = start();
        // Half of the kills come when the node follows the peer block by block, the others while it starts or catches up.
        if (random.once(2)) await caughtUp(await node.ready(), peer);
        const submitted = submit(peer, feed.next());
        await Bun.sleep(random.int(KILLED_WITHIN_MS));
        const { signal: ended, status } = await node.stop('SIGKILL');
        if (ended !== 'SIGKILL')
          violations.push(`kill ${kills + 1}: the node had ended with ${status ?? ended}: ${node.stderr.slice(-500)}`);
        await submitted;
        const { unlisted, missing } = tearUnlistedRuns(chainDir, random);
        torn += unlisted;
        for (const name of missing) violations.push(`kill ${kills + 1}: the list names ${name}, which is missing`);
        if ((kills + 1) % 10 === 0) progress?.(`${kills + 1} kills, ${feed.reorgs} reorgs, height ${feed.height}`);
      }
      if (violations.length === 0) {
        node = await start().ready();
        await caughtUp(node, peer);
        const [own, other] = await Promise.all([node, peer].map(utxoHash));
        if (own !== other) violations.push(`the hash of the UTXO set is ${own}, not ${other}`);
        for (const ending of [node, peer]) await ending.stop();
        const expected = chainDigests(join(peer.networkDir, 'chain'));
        violations.push(...digestDifferences(chainDigests(chainDir), expected));
      }
    } finally {
      for (const running of [node, peer]) if (running?.exit === null) await running.stop('SIGKILL');
      for (const dir of [datadir, peer.datadir]) rmSync(dir, { recursive: true, force: true });
    }
    const figures = [
      ['kills', kills],
      ['blocks of the peer', feed.blocks],
      ['reorgs of the peer', feed.reorgs],
      ['deepest reorg', feed.deepest],
      ['height', feed.height],
      ['torn files', torn],
    ] as const;
    return { figures, violations };
  },
};

/** Blocks of a peer: each step extends the chain, or replaces up to six blocks by one more. */
class Feed {
  reorgs = 0;
  deepest = 0;
  blocks = 0;
  readonly #random: Random;
  readonly #wide = new WideChains();
  #chain: RegtestChain;

  constructor(random: Random) {
    this.#random = random;
    this.#chain = this.#wide.chain(FIRST_BLOCKS);
  }

  get height(): number {
    return this.#chain.height;
  }

  first(): readonly TestBlock[] {
    return this.#counted(this.#chain.blocks.slice(1));
  }

  next(): readonly TestBlock[] {
    const from = this.#chain.height;
    if (this.#random.once(REORGS)) {
      this.#wide.extend(this.#chain, 1);
      return this.#counted(this.#chain.blocks.slice(from + 1));
    }
    const depth = 1 + this.#random.int(DEEPEST_REORG);
    this.reorgs++;
    this.deepest = Math.max(this.deepest, depth);
    this.#chain = this.#chain.fork(from - depth);
    this.#wide.extend(this.#chain, depth + 1);
    return this.#counted(this.#chain.blocks.slice(from - depth + 1));
  }

  #counted(blocks: readonly TestBlock[]): readonly TestBlock[] {
    this.blocks += blocks.length;
    return blocks;
  }
}

async function submit({ api }: NodeProcess, blocks: readonly TestBlock[]): Promise<void> {
  for (const { raw } of blocks) {
    const { text } = await api.rpcBody({ id: 1, method: 'submitblock', params: [raw.toHex()] });
    // A block of a branch without the most work yet is accepted without being connected.
    if (!/"result":(null|"inconclusive")/.test(text)) throw new Error(`submitblock: ${text}`);
  }
}

function caughtUp(node: NodeProcess, peer: NodeProcess): Promise<boolean> {
  return node.until('the tip of the peer', async () => (await tipOf(node)) === (await tipOf(peer)), SYNC_TIMEOUT_MS);
}

async function utxoHash({ api }: NodeProcess): Promise<string> {
  return (await api.rpc<{ hash_serialized_3: string }>('gettxoutsetinfo')).hash_serialized_3;
}
