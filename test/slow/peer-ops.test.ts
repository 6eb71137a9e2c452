import { expect, test } from 'bun:test';
import { directoryWith } from '../lib/chain-directory.ts';
import type { Info, Readiness } from '../lib/node-client.ts';
import type { NodeProcess } from '../lib/node-process.ts';
import { cleanUpAfterTests, freePort, startNode } from '../lib/node-process.ts';
import { generate, hashOfTip, peersOf, sameTip, startPeer } from '../lib/peer-node.ts';
import { recentChain } from '../lib/sample-chains.ts';

cleanUpAfterTests({ each: true });

/** Values of the metrics page by series. */
async function metricsOf(node: NodeProcess): Promise<Map<string, number>> {
  const { text } = await node.api.request('/metrics');
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );
}

/** Lines of the log with such a message. */
function logged(node: NodeProcess, msg: string): Record<string, unknown>[] {
  const lines = node.stderr.split('\n').filter((line) => line.startsWith('{'));
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>).filter((line) => line.msg === msg);
}

const OUTBOUND = 'obverse_peers{direction="outbound",network="not_publicly_routable"}';
const INBOUND = 'obverse_peers{direction="inbound",network="not_publicly_routable"}';

test('a sync from a peer is shown in events, metrics, progress and log', async () => {
  const chain = recentChain(400, { payments: 2 });
  const late = await startPeer();
  const events = await late.node.api.socket();
  events.send({ type: 'subscribe', data: { events: ['peerConnected', 'peerDisconnected', 'syncStatus'] } });
  await events.until('the answer', ({ type }) => type === 'ack');
  expect((await late.node.api.json<{ verificationProgress: number }>('/api/info')).verificationProgress).toBeLessThan(
    0.01,
  );

  const full = await startPeer([], { datadir: await directoryWith(chain) });
  await late.node.api.rpc('getblockcount');
  await late.node.api.rpcBody({ jsonrpc: '2.0', id: 1, method: 'addnode', params: [full.address, 'add'] });
  const progress: number[] = [];
  await late.node.until(
    'the tip',
    async () => {
      const info = await late.node.api.json<Info & { verificationProgress: number }>('/api/info');
      progress.push(info.verificationProgress);
      return info.bestBlockHash === hashOfTip(chain);
    },
    60_000,
    20,
  );
  // Progress grows, but for one step back where blocks become so recent that it is measured by the headers ahead.
  const marks = [0.1, 0.3, 0.5, 0.7].map((mark) => progress.findIndex((share) => share > mark));
  expect(marks).toEqual(marks.toSorted((a, b) => a - b));
  expect(new Set(progress).size).toBeGreaterThan(2);
  await late.node.until('the end of the sync', async () => {
    const info = await late.node.api.json<Info & { verificationProgress: number }>('/api/info');
    return info.synced && info.verificationProgress === 1;
  });

  const connected = await events.until('the peer', ({ type }) => type === 'peerConnected');
  expect(connected.data).toMatchObject({
    address: full.address,
    network: 'not_publicly_routable',
    inbound: false,
    connectionType: 'manual',
    transport: 'v2',
    startingHeight: 400,
  });
  // A node follows the chain when its tip is recent, which may be a block before the last.
  const synced = await events.until(
    'the end',
    ({ type, data }) => type === 'syncStatus' && data.state === 'synced' && data.height === 400,
  );
  expect(synced.data).toMatchObject({ height: 400, headers: 400, progress: 1, phase: 'following' });
  const states = events.of('syncStatus').map(({ data }) => data);
  const syncing = states.filter(({ phase }) => phase === 'blocks');
  expect(syncing.length).toBeGreaterThan(0);
  for (const { headers, state } of syncing) expect([headers, state]).toEqual([400, 'syncing']);
  const heights = states.map(({ height }) => height as number);
  expect(heights).toEqual(heights.toSorted((a, b) => a - b));

  const [done] = await late.node.until('the last line', () => {
    const lines = logged(late.node, 'in sync');
    return lines.length > 0 && lines;
  });
  expect(done).toMatchObject({ level: 'info', height: 400, peers: 1 });
  // A line at once, and one every ten seconds; a fast machine may be done before the first.
  for (const line of logged(late.node, 'synchronizing blocks')) expect(line).toMatchObject({ headers: 400, peers: 1 });
  expect(logged(late.node, 'listening for peers')).toMatchObject([
    { host: '127.0.0.1', port: Number(late.address.split(':')[1]), v2: true },
  ]);

  expect(logged(late.node, 'connecting to peers')).toMatchObject([{ to: '127.0.0.1:1', v2: true }]);

  // Peers, blocks and the event log are each reported about once a second, at a moment of their own.
  const metricValues = {
    'obverse_block_connect_seconds_count{stage="connect"}': 400,
    'obverse_p2p_messages_total{direction="received",type="block"}': 400,
    obverse_event_log_rows: 401,
  };
  const counted = await late.node.until(
    `the metrics ${JSON.stringify(metricValues)}`,
    async () => {
      const metrics = await metricsOf(late.node);
      return Object.entries(metricValues).every(([series, value]) => metrics.get(series) === value) && metrics;
    },
    15_000,
  );
  expect(counted.get(OUTBOUND)).toBe(1);
  expect(counted.get(INBOUND)).toBe(0);
  expect(counted.get('obverse_p2p_messages_total{direction="sent",type="version"}')).toBe(1);
  expect(counted.get('obverse_p2p_bytes_total{direction="received"}')!).toBeGreaterThan(
    chain.bootstrap(1).length * 0.9,
  );
  expect(counted.get('obverse_bans')).toBe(0);
  expect(counted.get('obverse_db_commit_seconds_count{db="chain"}')!).toBeGreaterThan(0);
  expect(counted.get('obverse_fee_rate{target="6",estimator="floor"}')).toBe(0.1);

  await late.node.api.rpcBody({ jsonrpc: '2.0', id: 1, method: 'addnode', params: [full.address, 'remove'] });
  await late.node.api.rpcBody({ jsonrpc: '2.0', id: 1, method: 'setban', params: ['127.0.0.1', 'add'] });
  const gone = await events.until('the end of the peer', ({ type }) => type === 'peerDisconnected');
  expect(gone.data).toMatchObject({ id: connected.data.id, address: full.address, reason: 'banned by operator' });
  expect(gone.data.bytesRecv as number).toBeGreaterThan(0);
  await late.node.until('the metrics', async () => {
    const metrics = await metricsOf(late.node);
    return (
      metrics.get(OUTBOUND) === 0 &&
      metrics.get('obverse_bans') === 1 &&
      metrics.get('obverse_peer_disconnects_total{reason="banned_by_operator"}') === 1
    );
  });
  // The other side sees the same, under its own view of it.
  await full.node.until('the metrics of the other', async () => {
    const metrics = await metricsOf(full.node);
    return metrics.get('obverse_peer_disconnects_total{reason="closed_by_peer"}')! >= 1 && metrics.get(INBOUND) === 0;
  });
  events.close();
});

test('a later block is no sync, and a node that starts in sync reports it once a peer agrees', async () => {
  const chain = recentChain(20);
  const a = await startPeer([], { datadir: await directoryWith(chain) });
  const b = await startPeer([a.address], { datadir: await directoryWith(chain) });
  await peersOf(b.node, 1);
  const isInSync = () => logged(b.node, 'in sync').length > 0;
  await b.node.until('the line', isInSync);
  await generate(a.node, 3);
  await sameTip([a.node, b.node]);
  expect(logged(b.node, 'in sync')).toMatchObject([{ height: 20 }]);
  expect(logged(b.node, 'synchronizing blocks')).toEqual([]);
});

test('on another network a node without peers is degraded, and with the network off it checks none', async () => {
  const port = await freePort();
  // No node listens there, and no other address is dialled.
  const alone = await startNode({
    network: 'signet',
    args: ['--p2p.connect=127.0.0.1:1', `--p2p.listen=127.0.0.1:${port}`, '--p2p.v2=false'],
  });
  const { status, body } = await alone.api.request<Readiness>('/readyz');
  expect([status, body.status]).toEqual([503, 'degraded']);
  expect(body.checks).toMatchObject({
    peers: { status: 'degraded', message: 'no outbound peers', count: 0, outbound: 0 },
    clock: { status: 'ok', offset: 0 },
    indexes: { status: 'ok', lag: 0 },
    chain: { status: 'degraded' },
  });
  await alone.until('the line', () => logged(alone, 'listening for peers').length === 1);
  expect(logged(alone, 'listening for peers')).toMatchObject([{ port, v2: false }]);
  const off = await startNode({ network: 'signet', args: ['--p2p.enabled=false'] });
  const checks = (await off.api.request<Readiness>('/readyz')).body.checks;
  expect([checks.peers, checks.clock]).toEqual([undefined, undefined]);
  await off.until('the line', () => logged(off, 'the peer network is disabled').length === 1);
  const metrics = await metricsOf(off);
  expect([...metrics.keys()].filter((key) => /^obverse_(?:peer|p2p|bans)/.test(key))).toEqual([]);
});
