import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { liveOptionsOf } from '../../src/http/live-options.ts';
import type { ListenAddress } from '../../src/http/options.ts';
import { startTestApi } from '../lib/api-fixture.ts';
import { freePort } from '../lib/node-process.ts';
import { renewedCertificate, renewedKey } from '../lib/renewed-certificate.ts';
import { tlsFiles } from '../lib/self-signed.ts';

const TWO = [
  { host: '127.0.0.1', port: 0 },
  { host: '127.0.0.2', port: 0 },
];

const statusAt = (url: string) => fetch(`${url}/healthz`, { keepalive: false }).then(({ status }) => status);

/** The common name in the certificate of a new connection. */
function nameAt({ host, port }: ListenAddress): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, rejectUnauthorized: false }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN));
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

test('a server listens on all addresses of http.listen, and on none after it has stopped', async () => {
  const it = startTestApi({ overrides: { http: { listen: TWO } } });
  const { urls, addresses } = it.api;
  expect(addresses.map(({ host }) => host)).toEqual(['127.0.0.1', '127.0.0.2']);
  expect(urls).toEqual(addresses.map(({ host, port }) => `http://${host}:${port}`));
  expect([it.api.url, it.api.port]).toEqual([urls[0]!, addresses[0]!.port]);
  for (const url of urls) expect(await statusAt(url)).toBe(200);
  await it[Symbol.asyncDispose]();
  for (const url of urls) expect(await statusAt(url).catch(() => 'refused')).toBe('refused');
});

test('a second address that is in use ends the start with its name, and the first one is free again', async () => {
  const holder = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
  const first = { host: '127.0.0.2', port: await freePort() };
  try {
    const listen = [first, { host: '127.0.0.1', port: holder.port }];
    expect(() => startTestApi({ overrides: { http: { listen } } })).toThrow(
      `http.listen: 127.0.0.1:${holder.port} is in use`,
    );
    await using it = startTestApi({ overrides: { http: { listen: [first] } } });
    expect(await statusAt(it.api.url)).toBe(200);
  } finally {
    holder.stop(true);
  }
});

test('a new certificate applies to all addresses, and one that cannot be used to none', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'tls-'));
  try {
    await using it = startTestApi({ overrides: { http: { listen: TWO, tls: tlsFiles(dir) } } });
    const { addresses } = it.api;
    const names = () => Promise.all(addresses.map(nameAt));
    const live = liveOptionsOf(it.api.context.options);
    expect(await names()).toEqual(['localhost', 'localhost']);
    expect(await it.api.reload({ live, tls: { cert: renewedCertificate, key: renewedKey } })).toBe(true);
    expect(await names()).toEqual(['renewed', 'renewed']);
    const wrong = { cert: renewedCertificate, key: 'no key' };
    expect(await it.api.reload({ live, tls: wrong }).catch((error: Error) => error)).toBeInstanceOf(Error);
    expect([await names(), it.api.addresses]).toEqual([['renewed', 'renewed'], addresses]);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

test('a warning names each address through which clear text leaves the host', async () => {
  const listen = [...TWO, { host: '0.0.0.0', port: 0 }];
  await using it = startTestApi({ overrides: { http: { listen } } });
  const warnings = it.logged.filter((line) => line.includes('HTTP without TLS'));
  expect(warnings).toEqual([expect.stringContaining('0.0.0.0')]);
});
