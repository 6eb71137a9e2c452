import { afterAll, describe, expect, test } from 'bun:test';
import { failing, ownOrigin } from '../../src/cli/probe-command.ts';
import { loadConfig, thisHost } from '../../src/config/load.ts';
import { runCli } from './run-cli.ts';

const origin = (...flags: string[]) => ownOrigin(loadConfig(flags, { ...thisHost(), env: {} }).config);

test.each([
  [[], 'http://127.0.0.1:8332'],
  [['--network=regtest'], 'http://127.0.0.1:18443'],
  [['--http.listen=0.0.0.0:80'], 'http://127.0.0.1:80'],
  [['--http.listen=[::]:80'], 'http://[::1]:80'],
  [['--http.listen=10.0.0.5:80'], 'http://10.0.0.5:80'],
  [['--http.listen=127.0.0.1:81,10.0.0.5:80'], 'http://127.0.0.1:81'],
  [['--http.tls.cert=/c', '--http.tls.key=/k'], 'https://127.0.0.1:8332'],
])('ownOrigin of a node with %j is %s', (flags, expected) => expect(origin(...flags)).toBe(expected));

test('failing names the checks that are not ok', () => {
  const checks = {
    database: { status: 'ok' },
    chain: { status: 'degraded', message: 'initial block download' },
    disk: { status: 'fail' },
  };
  expect(failing(JSON.stringify({ status: 'fail', checks }))).toBe('fail (chain: initial block download, disk)');
  for (const body of ['', 'null', '{}', '{"status":1,"checks":{}}']) expect(failing(body)).toBeNull();
});

describe('probe against a listener', () => {
  const state = { ready: 503 };
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: ({ url }) => {
      const { pathname } = new URL(url);
      if (pathname === '/healthz') return Response.json({ status: 'ok', service: 'obverse' });
      if (pathname !== '/readyz') return new Response(null, { status: 404 });
      const checks = { chain: { status: state.ready === 200 ? 'ok' : 'degraded', message: 'initial block download' } };
      return Response.json({ status: state.ready === 200 ? 'ok' : 'degraded', checks }, { status: state.ready });
    },
  });
  const listen = `--http.listen=127.0.0.1:${server.port}`;
  afterAll(() => server.stop(true));

  test('live', async () => {
    expect(await runCli(['probe', 'live', listen])).toEqual({ status: 0, stdout: 'live\n', stderr: '' });
  });

  test('probe ready reports a node that is not ready, and then one that is', async () => {
    const stderr = 'not ready: degraded (chain: initial block download)\n';
    expect(await runCli(['probe', 'ready', listen])).toEqual({ status: 1, stdout: '', stderr });
    state.ready = 200;
    expect(await runCli(['probe', 'ready', listen])).toEqual({ status: 0, stdout: 'ready\n', stderr: '' });
  });
});

test('probe reports that no node answers', async () => {
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() });
  const { port } = server;
  await server.stop(true);
  const { status, stderr } = await runCli(['probe', 'live', `--http.listen=127.0.0.1:${port}`]);
  expect(status).toBe(1);
  expect(stderr).toStartWith(`not live: no answer from http://127.0.0.1:${port}/healthz: `);
});

test.each([[['probe']], [['probe', 'alive']], [['probe', 'live', 'ready']]])(
  'the arguments %j are rejected',
  async (args) => {
    const { status, stderr } = await runCli(args);
    expect(status).toBe(2);
    expect(stderr).toStartWith('obverse: probe takes one of live, ready\n');
  },
);
