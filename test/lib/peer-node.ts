import { join } from 'node:path';
import { hashToHex } from '../../src/primitives/hash.ts';
import type { RegtestChain } from './chain-builder.ts';
import { freePort, importFiles, type NodeOptions, type NodeProcess, startNode, tempDir } from './node-process.ts';

/** A node that listens for peers on loopback. */
export interface PeerNode extends AsyncDisposable {
  readonly node: NodeProcess;
  /** `127.0.0.1:port` */
  readonly address: string;
}

/** Starts a node that dials the given ones and no others, and listens on a port of its own. */
export async function startPeer(
  connect: readonly string[] = [],
  { args = [], ...options }: NodeOptions & { readonly p2pPort?: number } = {},
): Promise<{ node: NodeProcess; address: string }> {
  const address = `127.0.0.1:${options.p2pPort ?? (await freePort())}`;
  // A list of nobody would have it look for peers by itself.
  const dialled = connect.length > 0 ? connect : ['127.0.0.1:1'];
  const peers = dialled.map((to) => `--p2p.connect=${to}`);
  const node = await startNode({ ...options, args: [`--p2p.listen=${address}`, ...peers, ...args] });
  return { node, address };
}

/** A directory with a chain in it. */
export async function directoryWith(chain: RegtestChain): Promise<string> {
  const datadir = tempDir();
  const file = join(tempDir(), 'chain.dat');
  chain.writeBootstrap(file, 1);
  await importFiles('regtest', datadir, [file]);
  return datadir;
}

export async function tipOf(node: NodeProcess): Promise<string> {
  return (await node.api.json<{ bestBlockHash: string }>('/api/info')).bestBlockHash;
}

/** Waits until all nodes have the same tip, and returns it. */
export async function sameTip(nodes: readonly NodeProcess[], tip?: string, timeoutMs = 60_000): Promise<string> {
  const [first] = nodes;
  return first!.until(
    tip ? `tip ${tip} of all` : 'one tip of all',
    async () => {
      const tips = await Promise.all(nodes.map(tipOf));
      return tips.every((one) => one === (tip ?? tips[0])) && tips[0]!;
    },
    timeoutMs,
  );
}

export const hashOfTip = (chain: RegtestChain): string => hashToHex(chain.tip.hash);

/** Mines on one node. */
export function generate(node: NodeProcess, count: number): Promise<string[]> {
  return node.api.rpc<string[]>('generatetoaddress', [count, MINING_ADDRESS]);
}

/** Pays a p2wsh script that anyone can spend; regtest. */
export const MINING_ADDRESS = 'bcrt1q2nfxmhd4n3c8834pj72xagvyr9gl57n5r94fsl';

/** Waits for the number of peers whose handshake is over. */
export function peersOf(node: NodeProcess, count: number): Promise<unknown> {
  return node.until(
    `${count} peers`,
    async () => (await node.api.json<{ count: number }>('/api/peers')).count === count,
  );
}
