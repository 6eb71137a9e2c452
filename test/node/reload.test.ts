import { expect, test } from 'bun:test';
import { loadConfig } from '../../src/config/load.ts';
import type { Setting } from '../../src/config/setting.ts';
import { type Config, KEYS, type Key, SETTINGS } from '../../src/config/settings.ts';
import { applyLiveOptions, liveOptionsOf } from '../../src/http/live-options.ts';
import { apiOptionsOf } from '../../src/node/api-options.ts';

const { config } = loadConfig(['--network', 'regtest']);

function numberOf(key: Key): unknown {
  let value: unknown = config;
  for (const name of key.split('.')) value = (value as Record<string, unknown>)[name];
  return value;
}

/** The settings with another value of one key. */
function changed(key: Key, value: unknown): Config {
  const copy = structuredClone(config) as unknown as Record<string, unknown>;
  const names = key.split('.');
  let table = copy;
  for (const name of names.slice(0, -1)) table = table[name] as Record<string, unknown>;
  table[names.at(-1)!] = value;
  return copy as unknown as Config;
}

// The documents say of each setting whether a reload applies it.
test('of the numbers, exactly those that are marked reach a running server', () => {
  const numbers = KEYS.filter((key) => typeof numberOf(key) === 'number');
  const reached = numbers.filter((key) => {
    const other = changed(key, (numberOf(key) as number) + 1);
    return !Bun.deepEquals(liveOptionsOf(apiOptionsOf(other, null)), liveOptionsOf(apiOptionsOf(config, null)));
  });
  expect(reached.length).toBeGreaterThan(20);
  const marked = numbers.filter((key) => (SETTINGS[key] as Setting<unknown>).live === true);
  // The limit of bytes to peers reaches the node thread, as the reload of a whole node shows.
  expect(reached).toEqual(marked.filter((key) => key !== 'p2p.maxUpload'));
});

test('the options of a running server change in place, and an equal rate keeps its buckets', () => {
  const options = apiOptionsOf(config, null);
  const { limits } = options;
  const { publicRate } = limits;
  applyLiveOptions(options, liveOptionsOf(apiOptionsOf(changed('http.limits.urlBytes', 300), null)));
  expect(options.limits).toBe(limits);
  expect(limits.urlBytes).toBe(300);
  expect(limits.publicRate).toBe(publicRate);
  const faster = liveOptionsOf(apiOptionsOf(changed('http.limits.publicRate', 77), null));
  applyLiveOptions(options, faster);
  expect(limits.publicRate).toEqual({ perSecond: 77, burst: config.http.limits.publicBurst });
});
