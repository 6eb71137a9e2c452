import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ConnectionOptions, connect } from 'node:tls';
import { liveOptionsOf } from '../../src/http/live-options.ts';
import { startTestApi } from '../lib/api-fixture.ts';
import { renewedCertificate, renewedKey } from '../lib/renewed-certificate.ts';
import { tlsFiles } from '../lib/self-signed.ts';

/** The agreed cipher, or null where there is none. */
function agreed(port: number, options: ConnectionOptions): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...options }, () => {
      resolve(socket.getCipher().name);
      socket.destroy();
    });
    socket.on('error', () => resolve(null));
  });
}

test('TLS needs forward secrecy and authenticated encryption', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'tls-'));
  try {
    await using it = startTestApi({ overrides: { http: { tls: tlsFiles(dir) } } });
    const { port } = it.api;
    const tls12 = (ciphers: string) => agreed(port, { ciphers, maxVersion: 'TLSv1.2' });
    for (const cipher of ['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-ECDSA-CHACHA20-POLY1305'])
      expect(await tls12(cipher)).toBe(cipher);
    for (const cipher of ['ECDHE-ECDSA-AES128-SHA', 'ECDHE-ECDSA-AES256-SHA', 'AES128-SHA'])
      expect([cipher, await tls12(cipher)]).toEqual([cipher, null]);
    expect(await agreed(port, { minVersion: 'TLSv1.3' })).toStartWith('TLS_');
    expect(await agreed(port, { maxVersion: 'TLSv1.1', minVersion: 'TLSv1' })).toBeNull();
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

/** The common name in the certificate of a new connection. */
function nameAt(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN));
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

test('a server with one front changes its certificate, and keeps it where the new one cannot be used', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'tls-'));
  try {
    await using it = startTestApi({ overrides: { http: { tls: tlsFiles(dir) } } });
    const { port } = it.api;
    const live = liveOptionsOf(it.api.context.options);
    expect(await nameAt(port)).toBe('localhost');
    expect(await it.api.reload({ live, tls: { cert: renewedCertificate, key: renewedKey } })).toBe(true);
    expect(await nameAt(port)).toBe('renewed');
    const wrong = { cert: renewedCertificate, key: 'no key' };
    expect(await it.api.reload({ live, tls: wrong }).catch((error: Error) => error)).toBeInstanceOf(Error);
    expect([it.api.port, await nameAt(port)]).toEqual([port, 'renewed']);
    // The suites of TLS 1.2 are those of the first certificate.
    expect(await agreed(port, { ciphers: 'ECDHE-ECDSA-AES128-SHA', maxVersion: 'TLSv1.2' })).toBeNull();
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
