import { describe, expect, test } from 'bun:test';
import { categoryOfCore } from '../../src/util/core-log/core-categories.ts';
import { createLog, type Log, logLevels, setLogLevels } from '../../src/util/log.ts';
import { categoryLevels, type LogCategory } from '../../src/util/log-levels.ts';
import { ManualClock } from '../lib/manual-clock.ts';

const NOON = Date.UTC(2026, 7, 1, 12);

/** Returns the lines that `write` has logged, without the time. */
function lines(write: (log: Log) => void, category: LogCategory = 'p2p'): string[] {
  let text = '';
  const log = createLog({
    level: 'debug',
    format: 'core',
    category,
    clock: new ManualClock(NOON),
    write: (bytes) => {
      text += new TextDecoder().decode(bytes);
      return bytes.length;
    },
  });
  const { inUse } = logLevels();
  setLogLevels(categoryLevels('debug'), false);
  write(log);
  log.flush();
  setLogLevels(inUse, false);
  return text
    .trimEnd()
    .split('\n')
    .map((line) => {
      expect(line).toStartWith('2026-08-01T12:00:00Z ');
      return line.slice(21);
    });
}

const one = (msg: string, fields: Record<string, unknown> = {}, category: LogCategory = 'p2p') =>
  lines((log) => log.debug(msg, fields), category)[0]!;

test("events of the network, peers and wallets have Core's words", () => {
  expect(one('JSON-RPC call started', { method: 'stop' }, 'http')).toBe('[rpc] ThreadRPCServer method=stop id=');
  expect(one('JSON-RPC call started', { method: 'stop', id: 'a1' }, 'http')).toBe(
    '[rpc] ThreadRPCServer method=stop id=a1',
  );
  expect(
    lines((log) => log.warn('an entry of the directory of wallets cannot be read', { path: '/w/x', error: 'ELOOP' })),
  ).toEqual(['[warning] Error while scanning wallet dir item: ELOOP [/w/x].']);
  expect(one('peer removed', { peer: 2 })).toBe('[net] Cleared nodestate for peer=2');
  expect(lines((log) => log.info('network deactivated'))).toEqual(['SetNetworkActive: false']);
  expect(one('fees with and without groups of coins', { plain: 2820, grouped: 4160, usesGroups: true })).toBe(
    'Fee non-grouped = 2820, grouped = 4160, using grouped',
  );
  expect(
    lines((log) => log.warn('a fee setting is very high', { setting: 'wallet.fallbackFee', value: 1001 })),
  ).toEqual([
    '[warning] -fallbackfee is set very high! This is the transaction fee you may pay when fee estimates are not available.',
  ]);
});

describe('the form of a line', () => {
  test('a debug line has its category, and warnings and errors their level', () => {
    const written = lines((log) => {
      log.debug('something', { n: 1 });
      log.info('something');
      log.warn('something');
      log.error('something', { why: 'two words' });
    });
    expect(written).toEqual([
      '[net] something n=1',
      'something',
      '[warning] something',
      '[error] something why="two words"',
    ]);
  });

  test('each of our categories has the name of that of Core', () => {
    const names = (['chain', 'storage', 'mempool', 'wallet', 'http', 'node'] as const).map((name) =>
      one('x', {}, name),
    );
    expect(names).toEqual(['[validation] x', '[blockstorage] x', '[mempool] x', '[walletdb] x', '[http] x', 'x']);
  });

  test('control characters of a peer are escaped, so that a line stays one', () => {
    expect(one('message received', { peer: 1, type: 'a\nb\x1b', bytes: 2 })).toBe(
      '[net] received: a\\x0ab\\x1b (2 bytes) peer=1',
    );
  });

  test('fields that cannot be written do not lose the line', () => {
    const loop: Record<string, unknown> = {};
    loop.self = loop;
    expect(one('something', { loop })).toBe('[net] something (fields not serializable)');
  });
});

describe("Core's words", () => {
  test.each([
    ['message sent', { peer: 3, type: 'inv', bytes: 37 }, '[net] sending inv (37 bytes) peer=3'],
    [
      'peer misbehaved',
      { peer: 0, what: 'inv message size = 50001' },
      '[net] Misbehaving: peer=0: inv message size = 50001',
    ],
    [
      'message ignored: it came before verack',
      { peer: 2, type: 'ping' },
      '[net] Unsupported message "ping" prior to verack from peer=2',
    ],
    [
      'bytes not understood',
      { peer: 1, protocol: 'v1', reason: 'wrong network magic', magic: 'ffffffff' },
      '[net] Header error: Wrong MessageStart ffffffff received, peer=1',
    ],
    [
      'bytes not understood',
      { peer: 1, protocol: 'detecting', reason: 'no garbage terminator' },
      '[net] V2 transport error: missing garbage terminator, peer=1',
    ],
    [
      'message ignored: it does not parse',
      { peer: 1, type: 'addrv2', bytes: 525, reason: 'address of 513 bytes is too long' },
      "[net] ProcessMessages(addrv2, 525 bytes): Exception 'Address too long: 513 > 512' caught",
    ],
    [
      'transaction of a peer rejected',
      { peer: 4, txid: 'aa', wtxid: 'bb', reason: 'bad-txns-in-belowout', debug: 'value in (1) < value out (2)' },
      '[mempoolrej] aa (wtxid=bb) from peer=4 was not accepted: bad-txns-in-belowout (value in (1) < value out (2))',
    ],
  ] as const)('%s', (msg, fields, line) => expect(one(msg, fields)).toBe(line));

  test.each([
    [{ reason: 'feeler done' }, 'feeler connection completed'],
    [{ reason: 'sendaddrv2 after verack' }, 'sendaddrv2 received after verack'],
    [{ reason: 'ping timeout', waitedMs: 1_201_000 }, 'ping timeout: 1201.000000s'],
    [
      { reason: 'no message in time', seconds: 3, hasReceived: true, hasSent: false },
      'socket no message in first 3 seconds, never sent to peer',
    ],
    [{ reason: 'a reason of our own' }, 'a reason of our own'],
    [
      { reason: 'malformed feature', detail: 'bytes after the feature' },
      'invalid feature payload: bytes after the feature',
    ],
  ])('a peer is disconnected: %p', (facts, words) => {
    expect(one('connection closed', { peer: 7, type: 'inbound', ...facts })).toBe(
      `[net] ${words}, disconnecting peer=7`,
    );
  });

  test('an invalid block is a warning with its reject reason', () => {
    const rejected = { hash: 'cc', height: 5, reason: 'bad-version(0x00000002)', debug: 'rejected nVersion' };
    expect(lines((log) => log.warn('invalid block', rejected), 'chain')[0]).toBe(
      '[warning] Block validation error: bad-version(0x00000002), rejected nVersion block=cc height=5',
    );
  });
});

test("Core's names of categories are known", () => {
  expect(['net', 'validation', 'walletdb', 'leveldb'].map(categoryOfCore)).toEqual(['p2p', 'chain', 'wallet', null]);
});
