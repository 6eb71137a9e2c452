import { dlopen } from 'bun:ffi';
import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serviceNotifier } from '../../src/util/systemd.ts';
import { requireProgram } from '../lib/programs.ts';

const linux = process.platform === 'linux';
const folder = mkdtempSync(join(tmpdir(), 'notify-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** A datagram socket like the service manager's; `receive` returns the received text, or null. */
function manager(address: Buffer): { receive: () => string | null; close: () => void } {
  const { symbols } = dlopen('libc.so.6', {
    socket: { args: ['i32', 'i32', 'i32'], returns: 'i32' },
    bind: { args: ['i32', 'ptr', 'u32'], returns: 'i32' },
    recv: { args: ['i32', 'ptr', 'u64', 'i32'], returns: 'i64' },
    close: { args: ['i32'], returns: 'i32' },
  });
  const AF_UNIX = 1;
  const SOCK_DGRAM = 2;
  const MSG_DONTWAIT = 0x40;
  const fd = symbols.socket(AF_UNIX, SOCK_DGRAM, 0);
  expect(symbols.bind(fd, address, address.length)).toBe(0);
  return {
    receive: () => {
      const bytes = Buffer.alloc(4096);
      const length = Number(symbols.recv(fd, bytes, bytes.length, MSG_DONTWAIT));
      return length < 0 ? null : bytes.toString('utf8', 0, length);
    },
    close: () => symbols.close(fd),
  };
}

const sockaddr = (path: string) => Buffer.concat([Buffer.from([1, 0]), Buffer.from(path)]);

describe.skipIf(!linux)('notify', () => {
  const cases = [
    ['a path', join(folder, 'socket'), `${join(folder, 'socket')}\0`],
    ['an abstract name', `@obverse-test-${process.pid}`, `\0obverse-test-${process.pid}`],
  ] as const;
  test.each(cases)('reaches the manager at %s', (_, name, bound) => {
    const { receive, close } = manager(sockaddr(bound));
    const notifier = serviceNotifier({ NOTIFY_SOCKET: name });
    notifier.ready();
    notifier.reloading();
    notifier.status('height 5\nREADY=0');
    notifier.watchdog();
    notifier.extendTimeout(1500);
    notifier.stopping();
    const first = receive();
    const reloading = /^RELOADING=1\nMONOTONIC_USEC=(\d+)$/.exec(receive()!);
    const received = [first, receive(), receive(), receive(), receive(), receive()];
    close();
    // The clock of the system, with which the manager compares: that of the runtime begins with the process.
    const python = Bun.spawnSync([requireProgram('python3'), '-c', 'import time; print(time.monotonic_ns())']);
    const secondsAgo = Number(python.stdout.toString()) / 1e9 - Number(reloading![1]) / 1e6;
    expect(secondsAgo).toBeWithin(0, 60);
    expect(received).toEqual([
      'READY=1',
      'STATUS=height 5 READY=0',
      'WATCHDOG=1',
      'EXTEND_TIMEOUT_USEC=1500000',
      'STOPPING=1',
      null,
    ]);
  });

  test('does not fail if the manager has gone', () => {
    const notifier = serviceNotifier({ NOTIFY_SOCKET: join(folder, 'nobody') });
    notifier.ready();
    notifier.stopping();
  });
});

test.each([
  ['no socket', {}],
  ['an address of another kind', { NOTIFY_SOCKET: 'vsock:2:1234' }],
  ['a path that is too long', { NOTIFY_SOCKET: `/${'a'.repeat(200)}` }],
])('does nothing with %s', (_, env) => {
  const notifier = serviceNotifier(env);
  notifier.ready();
  notifier.status('x');
});

describe.skipIf(!linux)('watchdog interval', () => {
  const NOTIFY_SOCKET = '/run/nobody';
  test.each([
    [{ NOTIFY_SOCKET, WATCHDOG_USEC: '60000000' }, 60_000],
    [{ NOTIFY_SOCKET, WATCHDOG_USEC: '60000000', WATCHDOG_PID: String(process.pid) }, 60_000],
    [{ NOTIFY_SOCKET, WATCHDOG_USEC: '60000000', WATCHDOG_PID: '1' }, null],
    [{ NOTIFY_SOCKET, WATCHDOG_USEC: 'x' }, null],
    [{ NOTIFY_SOCKET }, null],
    [{ WATCHDOG_USEC: '60000000' }, null],
  ] as const)('%j -> %p', (env, expected) => expect(serviceNotifier(env).watchdogIntervalMs).toBe(expected));
});
