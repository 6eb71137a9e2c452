import { describe, expect, test } from 'bun:test';
import { loadConfig, thisHost } from '../../src/config/load.ts';
import { apiOptionsOf } from '../../src/node/api-options.ts';

const HASH = '0'.repeat(64);

/** Returns the methods of each user; null stands for all that the scopes allow. */
function allowed(args: readonly string[], file?: string) {
  const users = ['alice', 'bob'].map((name) => `--rpcauth=${name}:salt$${HASH}`);
  const host = { ...thisHost(), env: {}, readText: () => file ?? '' };
  const { config } = loadConfig([...users, ...args, ...(file === undefined ? [] : ['--config=/f'])], host);
  const { rpcUsers, cookieWhitelist } = apiOptionsOf(config, null).auth;
  return [...rpcUsers.map(({ whitelist }) => whitelist), cookieWhitelist];
}

describe('rpcwhitelist for users of HTTP Basic', () => {
  test('allows every method when there is no list', () => {
    expect(allowed([])).toEqual([null, null, null]);
    expect(allowed(['--rpcwhitelist='])).toEqual([null, null, null]);
  });

  test('allows no method to a user without a list once a list exists', () => {
    expect(allowed(['--rpcwhitelist=alice:help'])).toEqual([['help'], [], []]);
    expect(allowed(['--rpcwhitelist=__cookie__:stop'])).toEqual([[], [], ['stop']]);
    expect(allowed(['--rpcwhitelist=carol:help'])).toEqual([[], [], []]);
  });

  test('obeys rpcwhitelistdefault, which takes precedence', () => {
    expect(allowed(['--rpcwhitelist=alice:help', '--rpcwhitelistdefault=false'])).toEqual([['help'], null, null]);
    expect(allowed(['--rpcwhitelistdefault=true'])).toEqual([[], [], []]);
  });

  test('intersects the lists of one user, as Bitcoin Core does', () => {
    expect(allowed(['--rpcwhitelist=alice:help, getblock ,bob:stop'])).toEqual([['help', 'getblock'], ['stop'], []]);
    expect(allowed(['--rpcwhitelist=alice:help,stop', '--rpcwhitelist=alice:stop,uptime'])).toEqual([['stop'], [], []]);
    expect(allowed(['--rpcwhitelist=alice:'])).toEqual([[], [], []]);
    expect(allowed([], 'rpcwhitelist = ["alice:help,stop", "bob:stop", "alice:stop"]')).toEqual([
      ['stop'],
      ['stop'],
      [],
    ]);
  });

  test('applies a list that names no user to every user', () => {
    expect(allowed(['--rpcwhitelist=help,stop'])).toEqual([
      ['help', 'stop'],
      ['help', 'stop'],
      ['help', 'stop'],
    ]);
  });
});
