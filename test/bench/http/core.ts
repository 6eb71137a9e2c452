import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ServerProcess } from './chain.ts';
import { serverPrefix } from './processor-time.ts';

const USER = 'bench';
const PASSWORD = 'the-password-of-the-bench';
const START_MS = 60_000;

/** The Authorization header of requests to Bitcoin Core. */
export const CORE_AUTHORIZATION = `Basic ${btoa(`${USER}:${PASSWORD}`)}`;

/** Starts Bitcoin Core with the blocks of a data directory, whose node does not run, and with its transaction index. */
export async function startCore(bitcoind: string, nodeDatadir: string, height: number): Promise<ServerProcess> {
  const datadir = mkdtempSync(join(tmpdir(), 'obverse-bench-core-'));
  const blocks = join(nodeDatadir, 'regtest/chain/blocks');
  const files = readdirSync(blocks).filter((name) => name.startsWith('blk'));
  const port = await freePort();
  const child = Bun.spawn(
    [
      ...serverPrefix(),
      ...[
        bitcoind,
        '-regtest',
        `-datadir=${datadir}`,
        '-server',
        '-rest',
        '-txindex',
        '-listen=0',
        '-printtoconsole=0',
      ],
      ...[`-rpcport=${port}`, `-rpcuser=${USER}`, `-rpcpassword=${PASSWORD}`],
      ...files.map((name) => `-loadblock=${join(blocks, name)}`),
    ],
    { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' },
  );
  const stop = async () => {
    child.kill();
    await child.exited;
    rmSync(datadir, { recursive: true, force: true });
  };
  try {
    const deadline = performance.now() + START_MS;
    while (!(await hasIndexed(port, height))) {
      if (performance.now() > deadline || child.exitCode !== null) throw new Error('Bitcoin Core did not start');
      await Bun.sleep(100);
    }
    return { port, pid: child.pid, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Whether the transaction index has the block at a height. False while Bitcoin Core starts. */
async function hasIndexed(port: number, height: number): Promise<boolean> {
  try {
    const reply = await fetch(`http://127.0.0.1:${port}`, {
      method: 'POST',
      headers: { authorization: CORE_AUTHORIZATION },
      body: JSON.stringify({ method: 'getindexinfo' }),
    });
    const { result } = (await reply.json()) as { result: Record<string, { best_block_height: number }> | null };
    return result?.txindex?.best_block_height === height;
  } catch {
    return false;
  }
}

async function freePort(): Promise<number> {
  const listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
  const { port } = listener;
  listener.stop(true);
  return port;
}
