import { SQL } from 'bun';
import { Random } from '../fuzz/random.ts';
import { directoryWith } from '../lib/chain-directory.ts';
import { copyDatadir, importFiles, type NodeProcess, startNode, tempDir } from '../lib/node-process.ts';
import { PostgresServer } from '../lib/postgres-server.ts';
import { oldChain } from '../lib/sample-chains.ts';
import { brokenEvents, compareSink, sinkAt } from '../lib/sink-rows.ts';
import type { Proof } from './proof.ts';

const BLOCKS = 130;
const PAYMENTS = 20;
/** Blocks that the reorg at the end disconnects. */
const DEPTH = 10;
const KILLED_WITHIN_MS = 1500;
const FILL_MS = 3_600_000;

/**
 * Fills a database from a chain while the node that writes and the database are killed, and compares all rows with the answers of
 * a node: after the fill, after the last blocks were disconnected, and after they were connected again.
 */
export const sinkChain: Proof = {
  help: 'kills during the first fill, and a reorg, leave the rows of a chain, also of one of a file; counts kills',
  count: 20,
  acceptsChain: true,
  async run(count, seed, signal, progress, chain) {
    const random = new Random(seed);
    const datadir = await (chain === undefined
      ? directoryWith(oldChain(BLOCKS, { payments: PAYMENTS }))
      : imported(chain));
    await using postgres = await PostgresServer.start();
    const nodes: NodeProcess[] = [];
    const kills = { node: 0, database: 0 };
    for (const directory of [datadir, copyDatadir(datadir)]) nodes.push(await startSinkNode(postgres, directory));
    try {
      for (let n = 0; n < count; n++) {
        signal.throwIfAborted();
        // The moment is what is random; nothing is waited for.
        await Bun.sleep(random.int(KILLED_WITHIN_MS));
        if (random.int(2) === 0) {
          kills.database++;
          await postgres.kill();
          await postgres.run();
        } else {
          kills.node++;
          const at = random.int(nodes.length);
          await nodes[at]!.stop('SIGKILL');
          nodes[at] = await startSinkNode(postgres, nodes[at]!.datadir);
        }
      }
      progress?.(`${count} kills`);
      const violations: string[] = [];
      let rows = 0;
      await using sql = new SQL(postgres.url, { max: 1 });
      const compareAt = async (moment: string, limitMs: number) => {
        signal.throwIfAborted();
        const { api } = nodes[0]!;
        const { height, bestBlockHash } = await api.json<{ height: number; bestBlockHash: string }>('/api/info');
        await sinkAt(sql, bestBlockHash, limitMs);
        const compared = await compareSink(sql, api);
        rows += compared.rows;
        violations.push(
          ...compared.different.map((table) => `${moment} the rows of ${table} are not those of the chain`),
        );
        progress?.(`${moment}: height ${height}, ${compared.rows} rows compared`);
        return height;
      };
      const tip = await compareAt('after the fill', FILL_MS);
      const first = await nodes[0]!.api.rpc<string>('getblockhash', [tip - DEPTH + 1]);
      for (const { api } of nodes) await api.rpc('invalidateblock', [first]);
      await compareAt('after the blocks were disconnected', FILL_MS);
      for (const { api } of nodes) await api.rpc('reconsiderblock', [first]);
      await compareAt('after they were connected again', FILL_MS);
      const events = await brokenEvents(sql);
      violations.push(...events.faults);
      const figures = [
        ['kills of a node', kills.node],
        ['kills of the database', kills.database],
        ['height', tip],
        ['blocks disconnected and connected again', DEPTH],
        ['events', events.count],
        ['rows compared', rows],
      ] as const;
      return { figures, violations };
    } finally {
      for (const node of nodes) await node.stop();
    }
  },
};

async function imported(chain: string): Promise<string> {
  const datadir = tempDir('sink-chain');
  await importFiles('regtest', datadir, [chain]);
  return datadir;
}

function startSinkNode(postgres: PostgresServer, datadir: string): Promise<NodeProcess> {
  // The chain is old, and would count as one in initial sync.
  const args = ['--chain.initialSyncAge=2000000000'];
  return startNode({ datadir, args, env: { OBVERSE_SINK_POSTGRES: postgres.url } });
}
