import { expect, test } from 'bun:test';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const script = `
  import { readFileSync } from 'node:fs';
  import { isMainThread, Worker } from 'node:worker_threads';
  import { lowerThreadPriority } from ${JSON.stringify(join(import.meta.dir, '../../src/util/nice.ts'))};
  // Nice is the 19th field; the name before it may contain spaces.
  const nice = () => Number(readFileSync('/proc/thread-self/stat', 'utf8').split(') ').at(-1).split(' ')[16]);
  if (isMainThread) {
    const before = nice();
    const worker = new Worker(new URL(import.meta.url));
    worker.on('message', (inWorker) => {
      console.log(JSON.stringify({ inWorker: [inWorker[0], inWorker[1] - before], main: nice() - before }));
      process.exit(0);
    });
  } else {
    const { parentPort } = await import('node:worker_threads');
    parentPort.postMessage([lowerThreadPriority(10), nice()]);
  }
`;

const UTIL = join(import.meta.dir, '../../src/util');
const servingScript = `
  import { readFileSync } from 'node:fs';
  import { isMainThread } from 'node:worker_threads';
  import { announceStart, startWorker } from ${JSON.stringify(join(UTIL, 'worker.ts'))};
  import { beginServing, yieldToReplies } from ${JSON.stringify(join(UTIL, 'serving.ts'))};
  const nice = () => Number(readFileSync('/proc/thread-self/stat', 'utf8').split(') ').at(-1).split(' ')[16]);
  if (isMainThread) {
    const before = nice();
    const worker = startWorker(new URL(import.meta.url), null);
    const seen = [];
    worker.onmessage = ({ data }) => {
      seen.push(data - before);
      if (seen.length === 2) beginServing();
      if (seen.length < 4) return worker.postMessage(0);
      console.log(JSON.stringify({ seen, main: nice() - before }));
      process.exit(0);
    };
    worker.postMessage(0);
  } else {
    announceStart();
    self.onmessage = () => {
      yieldToReplies(19);
      self.postMessage(nice());
    };
  }
`;

test.skipIf(process.platform !== 'linux')(
  'background threads yield once clients are served, and not before',
  async () => {
    const file = join(tmpdir(), `obverse-serving-${process.pid}.mjs`);
    await Bun.write(file, servingScript);
    try {
      const child = Bun.spawnSync([process.execPath, file]);
      expect(child.stderr.toString()).toBe('');
      expect(JSON.parse(child.stdout.toString())).toEqual({ seen: [0, 0, 19, 19], main: 0 });
    } finally {
      await Bun.file(file).delete();
    }
  },
);

test.skipIf(process.platform !== 'linux')('a worker yields, the thread that started it does not', async () => {
  const file = join(tmpdir(), `obverse-nice-${process.pid}.mjs`);
  await Bun.write(file, script);
  try {
    const child = Bun.spawnSync([process.execPath, file]);
    expect(child.stderr.toString()).toBe('');
    expect(JSON.parse(child.stdout.toString())).toEqual({ inWorker: [true, 10], main: 0 });
  } finally {
    await Bun.file(file).delete();
  }
});
