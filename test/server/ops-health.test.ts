import { describe, expect, test } from 'bun:test';
import { Elysia } from 'elysia';
import { access } from '../../src/http/route-access.ts';
import type { NodeStatus } from '../../src/port/node-port.ts';
import { DurationCounts } from '../../src/util/duration-counts.ts';
import { BEARER, type FakeNode, rawRequest, startTestApi, type TestApi } from '../lib/api-fixture.ts';

const RECENT_TIP = { ready: { maxTipAge: 0, diskDegradedBytes: 1, diskFailBytes: 1 } };

interface Report {
  status: string;
  checks: Record<string, Record<string, unknown>>;
}

async function readyz(it: TestApi): Promise<{ http: number; report: Report }> {
  const reply = await it.get('/readyz');
  return { http: reply.status, report: (await reply.json()) as Report };
}

function breakReads(node: FakeNode): void {
  node.reads.tip = () => {
    throw new Error('disk I/O error at /secret');
  };
}

const SOUND = { integrity: 'sound', unencrypted: false, warnings: [] } as const;

describe('liveness', () => {
  test('has exactly two members and needs nothing', async () => {
    await using it = startTestApi();
    const reply = await it.get('/healthz');
    expect(reply.status).toBe(200);
    expect(await reply.text()).toBe('{"status":"ok","service":"obverse"}');
  });

  test('names the configured service', async () => {
    await using it = startTestApi({ overrides: { service: 'coin-a' } });
    expect(await (await it.get('/healthz')).text()).toBe('{"status":"ok","service":"coin-a"}');
  });
});

describe('readiness', () => {
  test('is ok when every check is ok', async () => {
    await using it = startTestApi({ overrides: RECENT_TIP });
    const { http, report } = await readyz(it);
    expect(http).toBe(200);
    expect(report).toMatchObject({ status: 'ok', service: 'obverse' });
    expect(Object.keys(report.checks).sort()).toEqual(['chain', 'database', 'disk', 'events', 'indexes', 'rpc']);
    for (const check of Object.values(report.checks)) {
      expect(check.status).toBe('ok');
      expect(check.durationMs).toBeNumber();
    }
    expect(await (await it.get('/api/health')).json()).toMatchObject({ ready: true });
  });

  test('all times are Unix seconds', async () => {
    await using it = startTestApi();
    await readyz(it);
    it.node.current = { ...it.node.current, lastCommit: { ok: true, at: 1_700_000_000_999, durationMs: 3 } };
    const { report } = await readyz(it);
    expect(report.checks.database).toMatchObject({ lastCommitAt: 1_700_000_000, lastCommitMs: 3 });
  });

  test('checks the wallets if the node has wallets', async () => {
    await using it = startTestApi({ overrides: RECENT_TIP });
    const of = (name: string, more: object = {}) => ({
      ...{
        name,
        load: 1,
        path: '/wallets/a.db',
        unlockedUntil: null,
        scanning: null,
        live: true,
        settled: true,
        height: 0,
        ...SOUND,
      },
      ...more,
    });
    const check = async (more: Partial<NodeStatus>) => {
      it.node.current = { ...it.node.current, walletsFailed: [], walletsMissing: [], ...more };
      return (await readyz(it)).report.checks.wallet;
    };
    expect(await check({})).toBeUndefined();
    expect(await check({ wallets: [] })).toMatchObject({ status: 'ok', loaded: 0 });
    expect(await check({ wallets: [of('a'), of('b')] })).toMatchObject({ status: 'ok', loaded: 2 });
    expect(await check({ walletsMissing: ['c'] })).toMatchObject({ status: 'fail', loaded: 2 });
    expect(await check({ walletsFailed: ['c'] })).toMatchObject({ status: 'fail', loaded: 2 });
    expect(await check({ walletsWaiting: ['d'] })).toMatchObject({
      status: 'degraded',
      message: 'a wallet opens when the loaded UTXO set is validated',
      waiting: ['d'],
    });
    it.node.mine(3);
    expect(await check({ walletsWaiting: [] })).toMatchObject({ status: 'degraded', message: 'a wallet is behind' });
    expect(await check({ wallets: [of('a', { height: 1 })] })).toMatchObject({ status: 'ok' });
    const unverified = of('b', { height: 1, integrity: 'unverified' });
    expect(await check({ wallets: [of('a', { height: 1 }), unverified] })).toMatchObject({
      status: 'degraded',
      message: 'a wallet must be unlocked once before it gives addresses',
    });
    expect(await check({ wallets: [unverified, of('c', { integrity: 'tampered' })] })).toMatchObject({
      status: 'fail',
      message: 'a wallet fails its integrity check',
    });
  });

  const cases: [string, string, string, (it: TestApi) => void][] = [
    [
      'initial download',
      'chain',
      'degraded',
      ({ node }) => (node.current = { ...node.current, initialBlockDownload: true }),
    ],
    ['two headers ahead', 'chain', 'degraded', ({ node }) => (node.current = { ...node.current, headers: 2 })],
    [
      'a heavier invalid chain',
      'chain',
      'degraded',
      ({ node }) => (node.current = { ...node.current, heavierInvalidChain: true }),
    ],
    [
      'stopped processing',
      'chain',
      'fail',
      ({ node }) => (node.current = { ...node.current, stopped: 'disk I/O error at /secret' }),
    ],
    [
      'a failed commit',
      'database',
      'fail',
      ({ node }) => (node.current = { ...node.current, lastCommit: { ok: false, at: 0, durationMs: 1 } }),
    ],
    ['an unreadable database', 'database', 'fail', ({ node }) => breakReads(node)],
    [
      'a dead node thread',
      'rpc',
      'fail',
      ({ node }) => (node.echo = () => Promise.reject(new Error('gone to /secret'))),
    ],
    [
      'a failing dispatcher',
      'rpc',
      'fail',
      ({ api }) => (api.context.rpcProbe = () => Promise.reject(new Error('no'))),
    ],
  ];
  for (const [cause, check, status, breakIt] of cases)
    test(`${cause}: ${check} is ${status}`, async () => {
      await using it = startTestApi({ overrides: RECENT_TIP });
      // The first run begins by itself, and simultaneous requests share it.
      await readyz(it);
      breakIt(it);
      const { http, report } = await readyz(it);
      expect(http).toBe(503);
      expect(report.status).toBe(status);
      expect(report.checks[check]!.status).toBe(status);
      expect(JSON.stringify(report)).not.toContain('secret');
    });

  test('an old tip is degraded where its age counts', async () => {
    await using it = startTestApi({ overrides: { ready: { maxTipAge: 3600 } } });
    expect((await readyz(it)).report.checks.chain).toMatchObject({ status: 'degraded', height: 0 });
  });

  test('one header ahead is ok: the block is on its way', async () => {
    await using it = startTestApi({ overrides: RECENT_TIP });
    await readyz(it);
    it.node.current = { ...it.node.current, headers: 1 };
    expect((await readyz(it)).http).toBe(200);
  });

  describe('the network of peers', () => {
    const network = { active: true, timeOffset: 0 };

    test('a node without a peer network has neither check; on regtest no peer is required', async () => {
      await using main = startTestApi({ network: 'main', overrides: RECENT_TIP });
      const names = Object.keys((await readyz(main)).report.checks);
      expect(names.filter((name) => name === 'peers' || name === 'clock')).toEqual([]);
      await using it = startTestApi({ overrides: RECENT_TIP });
      await readyz(it);
      it.node.current = { ...it.node.current, network };
      const { checks } = (await readyz(it)).report;
      expect([checks.peers, checks.clock?.status]).toEqual([undefined, 'ok']);
    });

    test('a node without outbound peers is degraded, since inbound peers may all be one attacker', async () => {
      await using it = startTestApi({ network: 'main', overrides: RECENT_TIP });
      await readyz(it);
      it.node.current = { ...it.node.current, network, peers: { inbound: 9, outbound: 0 } };
      const { http, report } = await readyz(it);
      expect([http, report.status]).toEqual([503, 'degraded']);
      expect(report.checks.peers).toMatchObject({ status: 'degraded', count: 9, outbound: 0 });
      it.node.current = { ...it.node.current, network, peers: { inbound: 9, outbound: 1 } };
      expect((await readyz(it)).report.checks.peers).toMatchObject({ status: 'ok', count: 10, outbound: 1 });
    });

    test.each([
      [0, 'ok'],
      [70, 'ok'],
      [-71, 'degraded'],
      [7200, 'degraded'],
      [-7201, 'fail'],
    ])('a clock that differs by %p s is %s', async (timeOffset, status) => {
      await using it = startTestApi({ overrides: RECENT_TIP });
      await readyz(it);
      it.node.current = { ...it.node.current, network: { active: true, timeOffset } };
      const { report } = await readyz(it);
      expect(report.checks.clock).toMatchObject({ status, offset: timeOffset });
      expect(report.status).toBe(status);
    });
  });

  test('an index that is more than two blocks behind degrades readiness', async () => {
    await using it = startTestApi({ overrides: RECENT_TIP });
    it.node.mine(5);
    expect((await readyz(it)).report.checks.indexes).toMatchObject({ status: 'ok', lag: 0 });
    const { height, hash } = it.node.tip!;
    for (const [lag, status] of [
      [2, 'ok'],
      [3, 'degraded'],
    ] as const) {
      it.node.reads.indexes.covered = (name) => ({ hash, height: name === 'tx' ? height - lag : height });
      expect((await readyz(it)).report.checks.indexes).toMatchObject({ status, lag });
    }
    expect((await readyz(it)).report.checks.indexes).toMatchObject({
      message: 'an index is being built',
      heights: { tx: height - 3 },
    });
    it.node.current = { ...it.node.current, indexProblem: { indexes: ['tx'], problem: 'no space' } };
    expect((await readyz(it)).report.checks.indexes).toMatchObject({
      status: 'degraded',
      message: 'the build of tx has stopped',
      problem: 'no space',
    });
  });

  test('a check that hangs fails after its time limit, the others are reported, and simultaneous requests share the run', async () => {
    await using it = startTestApi({ overrides: RECENT_TIP });
    await readyz(it);
    let echoes = 0;
    it.node.echo = () => {
      echoes++;
      return new Promise(() => {});
    };
    const started = performance.now();
    const runs = await Promise.all([readyz(it), readyz(it), readyz(it)]);
    expect(performance.now() - started).toBeWithin(1900, 4000);
    for (const { report } of runs) {
      expect(report.checks.rpc).toMatchObject({ status: 'fail' });
      expect(report.checks.database).toMatchObject({ status: 'ok' });
    }
    expect(echoes).toBe(1);
  });

  test('a node thread that is connecting a block is not a fault', async () => {
    await using it = startTestApi({ overrides: RECENT_TIP });
    await readyz(it);
    it.node.current = { ...it.node.current, connectingBlock: true };
    it.node.echo = () => new Promise(() => {});
    expect((await readyz(it)).http).toBe(200);
  });

  test('an exposed host shows the statuses alone', async () => {
    await using it = startTestApi({ overrides: { ready: { ...RECENT_TIP.ready, details: false } } });
    const { report } = await readyz(it);
    for (const check of Object.values(report.checks)) expect(check).toEqual({ status: 'ok' });
  });
});

describe('metrics', () => {
  test('show which wallets are locked, and balances only if configured', async () => {
    await using it = startTestApi();
    const wallet = { load: 1, path: '/wallets/w.db', scanning: null, live: true, settled: true, height: 0, ...SOUND };
    const wallets = [null, 0, 1_900_000_000].map((unlockedUntil, i) => ({ ...wallet, name: `w${i}`, unlockedUntil }));
    it.node.current = { ...it.node.current, wallets };
    const text = await (await it.get('/metrics', { headers: BEARER })).text();
    const samples = text.split('\n').filter((line) => /^obverse_wallet_(locked|balance)/.test(line));
    expect(samples).toEqual(['0', '1', '0'].map((value, i) => `obverse_wallet_locked{wallet="w${i}"} ${value}`));
    expect(text).toContain('obverse_wallet_unencrypted{wallet="w0"} 0');
  });

  test('need the scope on the main listener and hold the four of the interface', async () => {
    await using it = startTestApi({
      plugins: [
        () =>
          new Elysia().get('/api/thing/:hash', () => ({})).get('/api/open', () => ({}), { detail: access('public') }),
      ],
    });
    expect((await it.get('/metrics')).status).toBe(401);
    await it.get('/api/thing/one', { headers: BEARER });
    await it.get('/api/thing/two', { headers: BEARER });
    await it.get('/api/thing/one');
    await it.get('/nowhere/at/all');
    await it.get('/ws');
    const brewed = await rawRequest(
      it.api.port,
      'BREW /api/thing/x HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n',
    );
    expect(brewed).not.toStartWith('HTTP/1.1 2');
    it.node.mine(2);
    it.node.emit('blockDisconnected', {});
    it.node.emit('blockDisconnected', {});
    it.node.emit('reorg', { depth: 2 });
    // The log is read in this slice.
    await it.get('/healthz');
    const reply = await it.get('/metrics', { headers: BEARER });
    expect(reply.headers.get('content-type')).toStartWith('text/plain; version=0.0.4');
    const text = await reply.text();
    for (const line of [
      'http_requests_total{service="obverse",route="/api/thing/{hash}",method="GET",status="200"} 2',
      'http_requests_total{service="obverse",route="/api/thing/{hash}",method="GET",status="401"} 1',
      'http_requests_total{service="obverse",route="unmatched",method="GET",status="404"} 1',
      'http_requests_total{service="obverse",route="/ws",method="GET",status="426"} 1',
      'http_request_duration_seconds_count{service="obverse",route="/api/thing/{hash}",method="GET",status="200"} 2',
      'process_apcu_available{service="obverse"} 1',
      'obverse_chain_height 2',
      'obverse_chain_initial_download 0',
      'obverse_utxos 2',
      'obverse_supply_base_units{kind="circulating"} 100',
      'obverse_events_seq 6',
      'obverse_blocks_connected_total 2',
      'obverse_blocks_disconnected_total 2',
      'obverse_block_bytes_total 0',
      'obverse_reorgs_total 1',
      'obverse_reorg_depth_bucket{le="1"} 0',
      'obverse_reorg_depth_bucket{le="2"} 1',
      'obverse_index_height{index="address"} 2',
      'obverse_ws_connections 0',
      'obverse_auth_failures_total{kind="missing"} 2',
    ])
      expect(text).toContain(`\n${line}\n`);
    expect(text).toMatch(/\nprocess_start_seconds\{service="obverse"\} \d{10}\n/);
    expect(text).toMatch(/le="0.0025",service="obverse"|service="obverse"[^\n]*le="0.0025"/);
    expect(text).toMatch(/\nobverse_db_size_bytes\{db="chain"\} [1-9]/);
    expect(text).not.toMatch(/nodejs_active_\w+_total|process_heap_bytes/);
    expect(text).not.toContain('BREW');
  });

  test('show the counters of the node thread', async () => {
    await using it = startTestApi();
    const page = async () => (await it.get('/metrics', { headers: BEARER })).text();
    const before = await page();
    for (const name of [
      'peers',
      'bans',
      'p2p_bytes_total',
      'event_log_rows',
      'block_connect_seconds',
      'signature_library_info',
    ])
      expect(before).not.toMatch(new RegExp(`^obverse_${name}[_ {]`, 'm'));
    const durations = new DurationCounts();
    for (const seconds of [0.002, 0.3, 60]) durations.observe(seconds);
    it.node.counted = {
      signatures: { kind: 'system', library: '/usr/lib/libsecp256k1.so.6' },
      stages: { parse: durations.totals(), connect: durations.totals() },
      commits: durations.totals(),
      lockFailures: { chain: 2 },
      eventRows: 17,
      runs: [{ family: 'coins', runs: 3, bytes: 900 }],
      p2p: {
        inbound: { ipv4: 2, onion: 0 },
        outbound: { ipv4: 8, onion: 1 },
        bytesSent: 1000,
        bytesReceived: 2000,
        messagesSent: { ping: 3 },
        messagesReceived: { ping: 1, other: 4 },
        disconnects: { ping_timeout: 2 },
        bans: 5,
        rejected: { fee: 6 },
      },
    };
    it.api.context.metrics.mempoolRejected('fee');
    it.api.context.metrics.mempoolRejected('policy');
    // The page is read twice, because counters of another thread are shown, not added.
    await page();
    const text = await page();
    for (const line of [
      'obverse_peers{direction="inbound",network="ipv4"} 2',
      'obverse_peers{direction="inbound",network="onion"} 0',
      'obverse_peers{direction="outbound",network="onion"} 1',
      'obverse_bans 5',
      'obverse_p2p_bytes_total{direction="sent"} 1000',
      'obverse_p2p_bytes_total{direction="received"} 2000',
      'obverse_p2p_messages_total{direction="sent",type="ping"} 3',
      'obverse_p2p_messages_total{direction="received",type="other"} 4',
      'obverse_peer_disconnects_total{reason="ping_timeout"} 2',
      'obverse_mempool_rejected_total{reason="fee"} 7',
      'obverse_mempool_rejected_total{reason="policy"} 1',
      'obverse_event_log_rows 17',
      'obverse_signature_library_info{kind="system",library="/usr/lib/libsecp256k1.so.6"} 1',
      'obverse_storage_runs{family="coins"} 3',
      'obverse_storage_run_bytes{family="coins"} 900',
      'obverse_block_connect_seconds_bucket{le="0.5",stage="connect"} 2',
      'obverse_block_connect_seconds_count{stage="parse"} 3',
      'obverse_db_commit_seconds_count{db="chain"} 3',
      'obverse_db_busy_total{db="chain"} 2',
      'obverse_db_busy_total{db="webhooks"} 0',
    ])
      expect(text).toContain(`\n${line}\n`);
    it.node.counted = { ...it.node.counted, p2p: null };
    expect(await page()).not.toMatch(/^obverse_(?:peers|bans|p2p_\w+|peer_\w+)[ {]/m);
  });

  test('a disabled cache is reported', async () => {
    await using it = startTestApi({ overrides: { cache: { enabled: false } } });
    const text = await (await it.get('/metrics', { headers: BEARER })).text();
    expect(text).toContain('\nprocess_apcu_available{service="obverse"} 0\n');
    // The rehearsal before the listener opens does not count as a request.
    expect(text).not.toContain('route="/healthz"');
  });

  test('the second listener serves three paths without a key', async () => {
    await using it = startTestApi({ overrides: { ...RECENT_TIP, opsListen: { host: '127.0.0.1', port: 0 } } });
    const statuses = await Promise.all(
      ['/healthz', '/readyz', '/metrics', '/api/health', '/', '/docs'].map(
        async (path) => (await fetch(it.api.opsUrl + path)).status,
      ),
    );
    expect(statuses).toEqual([200, 200, 200, 404, 404, 404]);
    const text = await (await fetch(`${it.api.opsUrl}/metrics`)).text();
    const counts = text.match(/^http_requests_total.*$/gm)!.map((line) => line.replace('service="obverse",', ''));
    expect(counts.toSorted()).toEqual([
      'http_requests_total{route="/healthz",method="GET",status="200"} 1',
      'http_requests_total{route="/metrics",method="GET",status="200"} 1',
      'http_requests_total{route="/readyz",method="GET",status="200"} 1',
      'http_requests_total{route="unmatched",method="GET",status="404"} 3',
    ]);
  });
});
