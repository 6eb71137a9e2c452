import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const UTIL = join(import.meta.dir, '../../src/util');

/** Prints what the kernel reports of a thread that shortens its slice, and of a thread that it starts. */
const script = `
  import { isMainThread, parentPort, Worker } from 'node:worker_threads';
  import { openLibc } from ${JSON.stringify(join(UTIL, 'libc.ts'))};
  import { shortenTimeSlice } from ${JSON.stringify(join(UTIL, 'time-slice.ts'))};
  const SCHED_GETATTR = process.arch === 'arm64' ? 275 : 315;
  const libc = openLibc({ syscall: { args: ['i64', 'i32', 'ptr', 'u32', 'u32'], returns: 'i64' } });
  const schedule = () => {
    const bytes = new Uint8Array(48);
    if (Number(libc.syscall(SCHED_GETATTR, 0, bytes, 48, 0)) !== 0) throw new Error('sched_getattr failed');
    const view = new DataView(bytes.buffer);
    return { policy: view.getUint32(4, true), nice: view.getInt32(16, true), sliceNs: Number(view.getBigUint64(24, true)) };
  };
  if (isMainThread) {
    const before = schedule();
    const done = shortenTimeSlice();
    const after = schedule();
    new Worker(new URL(import.meta.url)).on('message', (inWorker) => {
      console.log(JSON.stringify({ done, before, after, inWorker }));
      process.exit(0);
    });
  } else parentPort.postMessage(schedule());
`;

function report(prefix: readonly string[]): { done: boolean; before: unknown; after: unknown; inWorker: unknown } {
  const folder = mkdtempSync(join(tmpdir(), 'obverse-slice-'));
  try {
    const file = join(folder, 'slice.mjs');
    writeFileSync(file, script);
    const child = Bun.spawnSync([...prefix, process.execPath, file]);
    expect(child.stderr.toString()).toBe('');
    return JSON.parse(child.stdout.toString());
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const isLinux = process.platform === 'linux' && (process.arch === 'x64' || process.arch === 'arm64');

test.skipIf(!isLinux)('the slice of a thread becomes short, and that of the threads that it starts does not', () => {
  const { done, before, after, inWorker } = report(['nice', '-n', '3']);
  expect(done).toBe(true);
  const { sliceNs } = before as { sliceNs: number };
  // Kernels before Linux 6.12 report no slice, and ignore its length.
  expect(after).toEqual({ ...(before as object), sliceNs: sliceNs === 0 ? 0 : 100_000 });
  expect(inWorker).toEqual(before);
});

test.skipIf(!isLinux || process.getuid?.() !== 0)(
  'a negative nice value stays, also in the threads that follow',
  () => {
    const { done, before, after, inWorker } = report(['nice', '-n', '-3']);
    expect(done).toBe(false);
    expect(before).toMatchObject({ nice: -3 });
    expect(after).toEqual(before);
    expect(inWorker).toEqual(before);
  },
);
