import { expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exampleConfiguration, settingsDocument } from '../../packaging/settings-documents.ts';
import { loadConfig, thisHost } from '../../src/config/load.ts';
import { KEYS } from '../../src/config/settings.ts';

const root = join(import.meta.dir, '../..');
const DOCUMENTS = [
  ['systemd/obverse.toml', exampleConfiguration],
  ['docs/configure.md', settingsDocument],
] as const;

// OBVERSE_UPDATE_DOCS=1 writes them.
test.each(DOCUMENTS)('%s follows from the table of settings', (path, generate) => {
  const file = join(root, path);
  if (process.env.OBVERSE_UPDATE_DOCS) writeFileSync(file, generate());
  expect(readFileSync(file, 'utf8')).toBe(generate());
});

const HOST = { ...thisHost(), env: { XDG_DATA_HOME: '/var/lib' }, cores: 4, memory: 8 * 2 ** 30 };
const load = (text: string) =>
  loadConfig(['--config', '/etc/obverse/obverse.toml'], { ...HOST, readText: () => text }).config;

test('the example configuration is valid and changes nothing', () => {
  const { config: _, ...file } = load(exampleConfiguration());
  const { config: __, ...none } = loadConfig([], HOST).config;
  expect(file).toEqual(none);
});

test('every key of the example configuration is valid without its comment sign, and has the default', () => {
  const all = exampleConfiguration().replaceAll(/^# (?=[a-zA-Z0-9.]+ = )/gm, '');
  const given = Object.keys(flat(Bun.TOML.parse(all)));
  expect(given.toSorted()).toEqual(KEYS.filter((key) => key !== 'config').toSorted());
  const { config: _, ...file } = load(all);
  const { config: __, ...none } = loadConfig([], HOST).config;
  // The two settings whose default is no value.
  expect([none.rpcwhitelistdefault, none.p2p.dnsSeeds]).toEqual([null, null]);
  expect(file).toEqual({ ...none, rpcwhitelistdefault: false, p2p: { ...none.p2p, dnsSeeds: false } });
});

test('docs/configure.md names every setting once', () => {
  const named = [...settingsDocument().matchAll(/^\| `([^`]+)` \|/gm)].map(([, key]) => key!);
  expect(named.toSorted()).toEqual([...KEYS].toSorted());
});

function flat(table: object, prefix = ''): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(table).flatMap(([name, value]) =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.entries(flat(value, `${prefix}${name}.`))
        : [[`${prefix}${name}`, value]],
    ),
  );
}
