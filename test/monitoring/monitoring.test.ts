import { describe, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanUpAfterTests, freePort, poll, startNode, tempDir } from '../lib/node-process.ts';
import { requireProgram } from '../lib/programs.ts';

cleanUpAfterTests();

const folder = join(import.meta.dir, '../../monitoring');
const text = (name: string) => readFileSync(join(folder, name), 'utf8');

interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[];
}

const alerts = Bun.YAML.parse(text('alerts.yml')) as {
  groups: { rules: { alert: string; expr: string; annotations: { description: string } }[] }[];
};
const rules = alerts.groups.flatMap((group) => group.rules);
const dashboard = JSON.parse(text('grafana-dashboard.json')) as Dashboard;
const queries = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));

function promtool(...args: string[]): string {
  const { stdout, stderr, exitCode } = Bun.spawnSync([requireProgram('promtool'), ...args], { cwd: folder });
  return `${exitCode} ${stdout}${stderr}`;
}

describe('the alert rules', () => {
  test('are valid, and each case holds', () => {
    expect(promtool('check', 'config', 'prometheus.yml')).toContain(`SUCCESS: ${rules.length} rules found`);
    expect(promtool('test', 'rules', 'alerts.test.yml')).toMatch(/^0 Unit Testing: {2}alerts\.test\.yml\n {2}SUCCESS/);
  });

  test('have a case in which each fires, and one in which it does not yet', () => {
    const { tests } = Bun.YAML.parse(text('alerts.test.yml')) as {
      tests: { alert_rule_test: { alertname: string; exp_alerts?: unknown[] }[] }[];
    };
    const cases = tests.flatMap((each) => each.alert_rule_test);
    for (const { alert } of rules) {
      const firing = cases
        .filter(({ alertname }) => alertname === alert)
        .map((each) => (each.exp_alerts ?? []).length > 0);
      expect([alert, firing.toSorted()]).toEqual([alert, [false, true]]);
    }
  });

  test('name documents that exist', () => {
    for (const { alert, annotations } of rules)
      for (const [path] of annotations.description.matchAll(/docs\/[a-z-]+\.md/g))
        expect([alert, Bun.file(join(folder, '..', path)).size > 0]).toEqual([alert, true]);
  });
});

/** Metrics without samples on a node that has no peers, no wallet and no clients that are refused. */
const WITHOUT_SAMPLES = [
  'obverse_peers',
  'obverse_p2p_bytes_total',
  'obverse_peer_disconnects_total',
  'obverse_mempool_rejected_total',
  'obverse_fee_rate',
  'obverse_rpc_requests_total',
  'obverse_auth_failures_total',
  'obverse_rate_limited_total',
  'obverse_wallet_locked',
  'obverse_webhook_attempts_total',
  'obverse_webhook_lag_seconds',
];

test('a request with a traceparent is in the debug log under its trace', async () => {
  const node = await startNode({ args: ['--log.level=debug'] });
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-01`, 'x-request-id': 'traced.1' };
  expect((await node.api.request('/api/info', { headers })).status).toBe(200);
  const [line] = await node.output('stderr', /^.*"msg":"request".*"requestId":"traced\.1".*$/m);
  expect(JSON.parse(line!)).toMatchObject({
    level: 'debug',
    path: '/api/info',
    route: '/api/info',
    method: 'GET',
    status: 200,
    traceId,
    spanId: '00f067aa0ba902b7',
  });
  await node.stop();
});

test('every query of the dashboard and of the alerts runs on the metrics of a node, and every metric exists', async () => {
  const ops = await freePort();
  const node = await startNode({ args: [`--ops.listen=127.0.0.1:${ops}`] });
  const own = await (await fetch(`http://127.0.0.1:${ops}/metrics`)).text();
  const declared = new Set([...own.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name!));
  for (const expr of [...queries, ...rules.map((rule) => rule.expr)])
    for (const [name] of expr.matchAll(/\b(?:obverse|http|process)_[a-z0-9_]+/g))
      expect([name, declared.has(name) || declared.has(name.replace(/_(?:bucket|sum|count)$/, ''))]).toEqual([
        name,
        true,
      ]);

  const directory = tempDir('prometheus');
  const config = text('prometheus.yml')
    .replace('127.0.0.1:9332', `127.0.0.1:${ops}`)
    .replaceAll('15s', '1s')
    .replace('alerts.yml', join(folder, 'alerts.yml'));
  writeFileSync(join(directory, 'prometheus.yml'), config);
  const port = await freePort();
  const prometheus = Bun.spawn(
    [
      ...[requireProgram('prometheus'), `--config.file=${join(directory, 'prometheus.yml')}`],
      ...[`--storage.tsdb.path=${join(directory, 'data')}`, `--web.listen-address=127.0.0.1:${port}`],
    ],
    { stdout: 'ignore', stderr: 'ignore' },
  );
  const api = async (path: string, body: Record<string, string> = {}) => {
    const init = { method: 'POST', body: new URLSearchParams(body) };
    return (await (await fetch(`http://127.0.0.1:${port}/api/v1/${path}`, init)).json()) as {
      status: string;
      error?: string;
      data: { result: unknown[] };
    };
  };
  try {
    // Two scrapes after a counted request: a rate needs them.
    const scraped = 'min_over_time(count_over_time(http_requests_total{route="/metrics"}[1m])[1s:1s]) >= 3';
    await poll('scrapes', async () => (await api('query', { query: scraped })).data.result.length > 0);
    const empty: string[] = [];
    for (const expr of queries) {
      const query = expr.replaceAll('$instance', '.*').replaceAll('$__rate_interval', '10s');
      const { status, error, data } = await api('query', { query });
      expect([expr, status, error]).toEqual([expr, 'success', undefined]);
      if (data.result.length === 0) empty.push(expr);
    }
    const unexpected = empty.filter((expr) => !WITHOUT_SAMPLES.some((name) => expr.includes(name)));
    expect(unexpected).toEqual([]);
    const health = (await (await fetch(`http://127.0.0.1:${port}/api/v1/rules`)).json()) as {
      data: { groups: { rules: { name: string; health: string; lastError?: string }[] }[] };
    };
    for (const rule of health.data.groups.flatMap((group) => group.rules))
      expect([rule.name, rule.health]).toEqual([rule.name, 'ok']);
  } finally {
    prometheus.kill('SIGKILL');
    await prometheus.exited;
  }
  await node.stop();
});
