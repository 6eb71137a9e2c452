import { expect, test } from 'bun:test';
import type { Setting } from '../../src/config/setting.ts';
import { KEYS, SETTINGS } from '../../src/config/settings.ts';
import { variableOf } from '../../src/config/sources.ts';

const NAMED = `network datadir http.listen http.publicUrl http.allowedHosts http.corsOrigins http.tls.cert http.tls.key
  ops.listen ws.auth dev.enabled dev.interval p2p.enabled p2p.listen p2p.connect wallet.enabled wallet.autocreate
  index.spender log.level service.name cache.enabled chain.maxTipAge ready.details fees.fallback rpc.basic rpcauth
  rpcscopes rpcwhitelist rpcwhitelistdefault wallet.fallbackFee`;

test('the schema has every documented key', () => {
  for (const key of NAMED.split(/\s+/)) expect(KEYS as readonly string[]).toContain(key);
});

test('no key is also the table of another key', () => {
  for (const key of KEYS) expect(KEYS.filter((other) => other.startsWith(`${key}.`))).toEqual([]);
});

test('every key has its own variable', () => {
  expect(new Set(KEYS.map(variableOf)).size).toBe(KEYS.length);
  expect(KEYS.map(variableOf).filter((name) => !/^OBVERSE(_[A-Z0-9]+)+$/.test(name))).toEqual([]);
  expect(variableOf('http.allowedHosts')).toBe('OBVERSE_HTTP_ALLOWED_HOSTS');
});

test('every integer default is an allowed value', () => {
  const around = { network: 'main', dev: false, dataHome: '/d', cores: 4, memory: 2 ** 34 } as const;
  for (const key of KEYS) {
    const setting: Setting<unknown> = SETTINGS[key];
    if (setting.kind !== 'integer') continue;
    const value = setting.fallback(around);
    const context = { fromText: false, network: 'main', resolvePath: (path: string) => path } as const;
    expect(setting.read(value, context)).toEqual({ value });
  }
});
