import { describe, test } from 'bun:test';
import { mkdtempSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MempoolChange } from '../../src/mempool/changes.ts';
import type { NetworkParams } from '../../src/params/network-params.ts';
import { regtest } from '../../src/params/regtest.ts';
import type { CallArgs, CallResult, NetworkView, NodeCallName } from '../../src/port/node-calls.ts';
import type { NodePort, NodeStatus } from '../../src/port/node-port.ts';
import type { PeerView } from '../../src/port/peer-view.ts';
import type { ReadSources } from '../../src/queries/read-settings.ts';
import { restRoutes } from '../../src/rest/rest-routes.ts';
import { rpcRoutes } from '../../src/rpc/rpc-routes.ts';
import { startApi } from '../../src/server/server.ts';
import { ChainReads } from '../../src/storage/chain-reads.ts';
import { createLog } from '../../src/util/log.ts';
import { blocksOfFile, fillChain } from './chain-filler.ts';
import { type ApiOverrides, defaultApiOptions, defaultReadSources } from './default-options.ts';
import { publishFixture, sharedFixture, tempFixture } from './shared-fixtures.ts';
import { hasVectors, readVectorBytes, readVectorJson } from './vectors.ts';

/** The results of Bitcoin Core for the chain of regtest-mixed-160.dat; amounts are doubles here. */
export interface Expected {
  tip: string;
  txoutset: { hash_serialized_3: Record<string, unknown>; muhash: string };
  blocks: Record<string, Record<string, unknown> & { hash: string; tx?: string[]; nTx: number }>;
  tipBlockVerbosity3: Record<string, unknown>;
  blockstats: Record<string, Record<string, unknown>>;
  transactions: (Record<string, unknown> & { txid: string; hex: string; blockhash: string; fee?: number })[];
  proofs: Record<string, string>;
  balances: { type: string; address: string; balance: number; utxos: number; coinbaseUtxos: number }[];
  chaintxstats: Record<string, unknown>;
  deployments: Record<string, unknown>;
}

/** A suite that needs the outside test data; one skipped test where it is not there. */
export function describeWithVectors(name: string, body: () => void): void {
  if (hasVectors) describe(name, body);
  else test.skip(`${name}: the test vectors are not there`, () => {});
}

export function expectedOfMixedChain(): Expected {
  return readVectorJson<Expected>('chains/regtest-mixed-160.expected.json');
}

export function mixedChainBlocks(): Uint8Array[] {
  return blocksOfFile(readVectorBytes('chains/regtest-mixed-160.dat'));
}

/** The directory of a node that has connected all of it; made once a run or a process, and not to be written to. */
export function mixedChainDir(): string {
  const { path, isThere } = sharedFixture('mixed-chain');
  if (!isThere) {
    const made = tempFixture();
    fillChain(made, regtest, mixedChainBlocks());
    publishFixture(made, path);
  }
  return path;
}

export const API_KEY = 'a-static-key-of-the-tests';

const IDLE_STATUS: NodeStatus = {
  headers: 160,
  bestHeaderHash: '',
  initialBlockDownload: false,
  verificationProgress: 1,
  lastCommit: null,
  connectingBlock: false,
  stopped: null,
  peers: { inbound: 0, outbound: 0 },
  sync: { phase: 'following', presynced: null, headersProgress: 1, confirmed: false },
  network: null,
  preparing: null,
  indexProblem: null,
  background: null,
  heavierInvalidChain: false,
  unknownRules: [],
  warnings: [],
};

const IDLE_NETWORK: Omit<NetworkView, 'peers'> = {
  active: true,
  relaysTransactions: true,
  services: '0000000000000c09',
  serviceNames: ['NETWORK', 'WITNESS', 'NETWORK_LIMITED', 'P2P_V2'],
  sendRate: 14,
  announcements: null,
  timeOffset: 0,
  networks: ['ipv4', 'ipv6', 'onion', 'i2p', 'cjdns'].map((name) => ({
    name,
    reachable: name.startsWith('ip'),
    proxy: '',
    randomizesCredentials: false,
  })),
  localAddresses: [],
};

/** It is empty. */
const idleMempool = (loaded: boolean): MempoolChange => ({
  kind: 'update',
  seq: 1_000_000,
  data: JSON.stringify({
    ...{ seq: 1_000_000, time: 1_700_000_000, count: 0, vsize: 0, size: 0, usage: 0, totalFee: 0, minFeeRate: 0.1 },
    ...{ added: 0, removed: 0, tip: null },
  }),
  totals: {
    count: 0,
    vsize: 0,
    size: 0,
    usage: 0,
    maxUsage: 300_000_000,
    totalFee: 0,
    minFeerate: 100,
    minRelayFeerate: 100,
    incrementalFeerate: 100,
    unbroadcast: 0,
    sequence: 1,
    loaded,
  },
});

const NO_FEE_DATA = 'insufficient data, minimum relay rate returned';

const absent = () => Promise.reject(new Error('not in this test'));

/** Answers of a node of a test to calls. */
export type CallAnswers = Partial<{ [N in NodeCallName]: (...args: CallArgs<N>) => CallResult<N> }>;

/** A node that only reports its state. */
export function idleNode(
  status: Partial<NodeStatus> = {},
  peers: readonly PeerView[] = [],
  { anyTip = false, answers: given = {} }: { anyTip?: boolean; answers?: CallAnswers } = {},
): NodePort {
  const answers: CallAnswers = {
    echo: () => null,
    peers: () => peers,
    estimateFee: ({ strict, estimator, target }) =>
      strict || estimator !== 'none' || (status.initialBlockDownload && !anyTip)
        ? { feerate: null, error: 'Insufficient data or no feerate found', blocks: 0 }
        : { feerate: 100, estimator: 'floor', blocks: target, warnings: [NO_FEE_DATA] },
    mempoolCoverage: () => [],
    projectedBlocks: () => [],
    network: () => ({ ...IDLE_NETWORK, peers: status.peers ?? IDLE_STATUS.peers }),
    lastAssembled: () => null,
    ...given,
  };
  return {
    status: () => ({ ...IDLE_STATUS, ...status }),
    counters: () => null,
    call: async (name, ...args) => {
      const answer = answers[name] as ((...args: readonly unknown[]) => unknown) | undefined;
      return (answer ? answer(...args) : await absent()) as never;
    },
    callUntil: absent,
    acknowledge() {},
    onUpdate(listener) {
      listener({ changes: [idleMempool(status.initialBlockDownload !== true)], commit: null });
      return () => {};
    },
    onPeerChange: () => () => {},
  };
}

export interface ApiFixture {
  readonly url: string;
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  /** Body of a GET that has to succeed. */
  json<T = Record<string, unknown>>(path: string): Promise<T>;
  post(path: string, body: string | Uint8Array, headers?: Record<string, string>): Promise<Response>;
  /** Result of a JSON-RPC call that has to succeed. */
  rpc<T = unknown>(method: string, ...params: unknown[]): Promise<T>;
  close(): Promise<void>;
}

/** A running server on a directory that holds a chain. Auth files go to a directory of their own. */
export function startTestApi(
  dir: string,
  {
    params = regtest,
    node = idleNode(),
    overrides = {},
    sources = defaultReadSources(params, { publicUrl: overrides.http?.publicUrl ?? null }),
  }: {
    params?: NetworkParams;
    node?: NodePort;
    overrides?: ApiOverrides;
    sources?: ReadSources;
  } = {},
): ApiFixture {
  const log = createLog({ level: 'error', format: 'text', write: (bytes) => writeSync(2, bytes) });
  const authDir = mkdtempSync(join(tmpdir(), 'obverse-api-'));
  const options = defaultApiOptions(
    { network: params.name, networkDir: authDir, chainDir: dir },
    { ...overrides, auth: { staticKey: API_KEY }, limits: { publicRate: null } },
  );
  const reads = new ChainReads(dir, { isFrequent: true });
  const api = startApi({
    options,
    params,
    log,
    startedAt: Math.floor(Date.now() / 1000),
    sources,
    plugins: [restRoutes, rpcRoutes],
  });
  api.openStores();
  api.attach({ node, reads });
  const authorization = { authorization: `Bearer ${API_KEY}` };
  const fixture: ApiFixture = {
    url: api.url,
    get: (path, headers = {}) => fetch(api.url + path, { headers: { ...authorization, ...headers } }),
    async json<T>(path: string) {
      const response = await fixture.get(path);
      if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
      return (await response.json()) as T;
    },
    post: (path, body, headers = {}) =>
      fetch(api.url + path, { method: 'POST', body: body as string, headers: { ...authorization, ...headers } }),
    async rpc<T>(method: string, ...args: unknown[]) {
      const response = await fixture.post('/', JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: args }));
      const { result, error } = (await response.json()) as { result: T; error?: unknown };
      if (error) throw new Error(JSON.stringify(error));
      return result;
    },
    async close() {
      await api.stop('end of test');
      reads.close();
      rmSync(authDir, { recursive: true, force: true });
    },
  };
  return fixture;
}
