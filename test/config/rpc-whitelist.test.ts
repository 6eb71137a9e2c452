import { describe, expect, test } from 'bun:test';
import { loadConfig, thisHost } from '../../src/config/load.ts';
import { apiOptionsOf } from '../../src/node/api-options.ts';

const HASH = '0'.repeat(64);

/** What each user may call; null is everything that its scopes allow. */
function allowed(args: readonly string[], file?: string) {
  const users = ['alice', 'bob'].map((name) => `--rpcauth=${name}:salt$${HASH}`);
  const host = { ...thisHost(), env: {}, readText: () => file ?? '' };
  const { config } = loadConfig([...users, ...args, ...(file === undefined ? [] : ['--config=/f'])], host);
  const { rpcUsers, cookieWhitelist } = apiOptionsOf(config, null).auth;
  return [...rpcUsers.map(({ whitelist }) => whitelist), cookieWhitelist];
}

describe('users of HTTP Basic', () => {
  test('may call everything when there is no list', () => {
    expect(allowed([])).toEqual([null, null, null]);
    expect(allowed(['--rpcwhitelist='])).toEqual([null, null, null]);
  });

  test('may call nothing without a list of their own once there is one', () => {
    expect(allowed(['--rpcwhitelist=alice:help'])).toEqual([['help'], [], []]);
    expect(allowed(['--rpcwhitelist=__cookie__:stop'])).toEqual([[], [], ['stop']]);
    expect(allowed(['--rpcwhitelist=carol:help'])).toEqual([[], [], []]);
  });

  test('are allowed or denied by rpcwhitelistdefault, which wins', () => {
    expect(allowed(['--rpcwhitelist=alice:help', '--rpcwhitelistdefault=false'])).toEqual([['help'], null, null]);
    expect(allowed(['--rpcwhitelistdefault=true'])).toEqual([[], [], []]);
  });

  test('have lists as in Bitcoin Core, whose lines intersect', () => {
    expect(allowed(['--rpcwhitelist=alice:help, getblock ,bob:stop'])).toEqual([['help', 'getblock'], ['stop'], []]);
    expect(allowed(['--rpcwhitelist=alice:help,stop', '--rpcwhitelist=alice:stop,uptime'])).toEqual([['stop'], [], []]);
    expect(allowed(['--rpcwhitelist=alice:'])).toEqual([[], [], []]);
    expect(allowed([], 'rpcwhitelist = ["alice:help,stop", "bob:stop", "alice:stop"]')).toEqual([
      ['stop'],
      ['stop'],
      [],
    ]);
  });

  test('share a list that names no user', () => {
    expect(allowed(['--rpcwhitelist=help,stop'])).toEqual([
      ['help', 'stop'],
      ['help', 'stop'],
      ['help', 'stop'],
    ]);
  });
});
