import { dlopen } from 'bun:ffi';
import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { cleanUpAfterTests, startNode, tempDir } from '../lib/node-process.ts';

cleanUpAfterTests();

/** A datagram socket as the service manager has one; what arrived so far is returned by `receive`. */
function manager(path: string): { receive: () => string[]; close: () => void } {
  const { symbols } = dlopen('libc.so.6', {
    socket: { args: ['i32', 'i32', 'i32'], returns: 'i32' },
    bind: { args: ['i32', 'ptr', 'u32'], returns: 'i32' },
    recv: { args: ['i32', 'ptr', 'u64', 'i32'], returns: 'i64' },
    close: { args: ['i32'], returns: 'i32' },
  });
  const [AF_UNIX, SOCK_DGRAM, MSG_DONTWAIT] = [1, 2, 0x40];
  const fd = symbols.socket(AF_UNIX, SOCK_DGRAM, 0);
  const address = Buffer.concat([Buffer.from([AF_UNIX, 0]), Buffer.from(`${path}\0`)]);
  expect(symbols.bind(fd, address, address.length)).toBe(0);
  const bytes = Buffer.alloc(4096);
  return {
    receive: () => {
      const found: string[] = [];
      for (;;) {
        const length = Number(symbols.recv(fd, bytes, bytes.length, MSG_DONTWAIT));
        if (length < 0) return found;
        found.push(bytes.toString('utf8', 0, length));
      }
    },
    close: () => symbols.close(fd),
  };
}

describe.skipIf(process.platform !== 'linux')('under a service manager', () => {
  test('the node reports that it is ready, its height, that it is alive while it fills a keypool, and that it stops', async () => {
    const path = join(tempDir(), 'notify');
    const { receive, close } = manager(path);
    const node = await startNode({
      args: ['--p2p.enabled=false'],
      env: { NOTIFY_SOCKET: path, WATCHDOG_USEC: '3000000' },
    });
    const received: string[] = [];
    const until = (message: string) =>
      node.until(message, () => {
        received.push(...receive());
        return received.includes(message);
      });
    await until('READY=1');
    expect(received[0]).toBe('STATUS=opening the databases');
    await until('STATUS=height 0, no peer network');
    node.kill('SIGHUP');
    await node.until('the reload', () => {
      received.push(...receive());
      // Pings of the watchdog may come between the two.
      const from = received.findIndex((message) => /^RELOADING=1\nMONOTONIC_USEC=\d+$/.test(message));
      return from >= 0 && received.indexOf('READY=1', from) > from;
    });
    const refill = node.api.rpc('keypoolrefill', [100_000]).catch(() => {});
    let pings = 0;
    await node.until('pings', () => {
      pings += receive().filter((each) => each === 'WATCHDOG=1').length;
      return pings >= 2;
    });
    const figures = (await node.api.request('/metrics')).text.match(
      /^obverse_thread_idle_seconds\{thread="node"\} (.+)$/m,
    );
    expect(Number(figures?.[1])).toBeLessThan(3);
    const { status, ms } = await node.stop('SIGTERM');
    expect(status).toBe(0);
    expect(ms).toBeLessThan(5000);
    await refill;
    const last = receive();
    expect(last).toContain('STOPPING=1');
    expect(last).toContain('STATUS=writing caches and closing the databases');
    close();
  });
});
