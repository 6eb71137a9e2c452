import { expect } from 'bun:test';
import { regtest } from '../../src/params/regtest.ts';
import { hashToHex } from '../../src/primitives/hash.ts';
import { addressOf } from '../../src/script/address.ts';
import type { RegtestChain } from './chain-builder.ts';
import { copyDatadir, freePort, type NodeOptions, type NodeProcess, poll, startNode } from './node-process.ts';
import { lockOf } from './tx-builder.ts';

export interface PeerOptions extends NodeOptions {
  readonly p2pPort?: number;
}

/** A node that listens for peers on loopback. */
export interface PeerNode {
  readonly node: NodeProcess;
  /** `127.0.0.1:port` */
  readonly address: string;
  /** Starts it again once it has ended, with the same data, at the same address. */
  again(): Promise<PeerNode>;
}

/** Starts a node that dials the given ones and no others, and listens on a port of its own. */
export function startPeer(
  connect: readonly string[] = [],
  { args = [], ...options }: PeerOptions = {},
): Promise<PeerNode> {
  // With an empty list it would look for peers by itself.
  const dialled = connect.length > 0 ? connect : ['127.0.0.1:1'];
  return startFreePeer({ ...options, args: [...dialled.map((to) => `--p2p.connect=${to}`), ...args] });
}

/** Starts a node that looks for peers by itself, and listens on a port of its own. It has no wallet. */
export async function startFreePeer({ args = [], p2pPort, ...options }: PeerOptions = {}): Promise<PeerNode> {
  const port = p2pPort ?? (await freePort());
  const address = `127.0.0.1:${port}`;
  const wallet = args.some((arg) => arg.startsWith('--wallet.')) ? [] : ['--wallet.enabled=false'];
  const node = await startNode({ ...options, args: [`--p2p.listen=${address}`, ...wallet, ...args] });
  // It answers over HTTP sooner than peers.
  await node.output('stderr', /"msg":"listening for peers"/);
  const again = () => startFreePeer({ ...options, args, p2pPort: port, datadir: node.datadir });
  return { node, address, again };
}

/** Starts nodes of which each dials those that its list names. All have a copy of the same directory. */
export async function startNet(
  dials: readonly (readonly number[])[],
  datadir: string,
  args: readonly string[] = [],
): Promise<PeerNode[]> {
  const ports = await freePorts(dials.length);
  return Promise.all(
    dials.map((others, i) =>
      startPeer(
        others.map((other) => `127.0.0.1:${ports[other]}`),
        { datadir: copyDatadir(datadir), p2pPort: ports[i]!, args },
      ),
    ),
  );
}

/** Different ports, which asking one after the other would not promise. */
async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) ports.add(await freePort());
  return [...ports];
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

/** Where mined coins go: the first p2wpkh lock, whose key the tests have. */
export const MINING_ADDRESS = addressOf(lockOf('p2wpkh', 0).scriptPubKey, regtest.address)!;

/** Compares all coins of two nodes. */
export async function sameCoins(one: NodeProcess, other: NodeProcess, height: number): Promise<void> {
  const [ours, theirs] = await Promise.all(
    [one, other].map((node) => node.api.rpc<object>('gettxoutsetinfo', ['muhash'])),
  );
  expect(ours).toMatchObject({ height });
  expect(ours).toEqual(theirs!);
}

export const mempoolOf = (node: NodeProcess): Promise<string[]> => node.api.rpc<string[]>('getrawmempool');

/** Waits until each of the nodes has exactly these transactions in its mempool. */
export async function sameMempool(nodes: readonly NodeProcess[], txids: readonly string[]): Promise<void> {
  const wanted = txids.toSorted().join();
  await poll(
    'the transactions at all nodes',
    async () => (await Promise.all(nodes.map(mempoolOf))).every((ids) => ids.sort().join() === wanted),
    { everyMs: 50 },
  );
}

export interface PeerInfo {
  readonly id: number;
  readonly addr: string;
  readonly inbound: boolean;
  readonly version: number;
  readonly relaytxes: boolean;
  readonly permissions: readonly string[];
  readonly connection_type: string;
  readonly transport_protocol_type: string;
  readonly inflight: readonly number[];
  readonly subver: string;
  readonly bytesrecv: number;
  readonly bytessent_per_msg: Readonly<Record<string, number>>;
  readonly bytesrecv_per_msg: Readonly<Record<string, number>>;
  readonly pingtime?: number;
}

export function peerInfo(node: NodeProcess): Promise<PeerInfo[]> {
  return node.api.rpc<PeerInfo[]>('getpeerinfo');
}

/** The code and the message of the error that a method answers with. */
export async function rpcError(node: NodeProcess, method: string, params: unknown = []) {
  const { body } = await node.api.rpcBody<{ error?: { code: number; message: string } }>({
    jsonrpc: '2.0',
    id: 1,
    method,
    params,
  });
  if (!body.error) throw new Error(`${method} ${JSON.stringify(params)} has no error`);
  return { code: body.error.code, message: body.error.message };
}

/** Waits for the number of peers whose handshake is over. */
export function peersOf(node: NodeProcess, count: number): Promise<unknown> {
  return node.until(
    `${count} peers`,
    async () => (await node.api.json<{ count: number }>('/api/peers')).count === count,
  );
}
