import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Watchdog } from '../../src/node/watchdog.ts';
import { createLog } from '../../src/util/log.ts';
import { ThreadTable } from '../../src/util/thread-table.ts';
import { startWorker, threads } from '../../src/util/worker.ts';
import { ManualClock } from '../lib/manual-clock.ts';

const LIMIT_MS = 60_000;

/** A watchdog on a clock of the test; threads make progress on command. */
class Fixture {
  readonly clock = new ManualClock(0);
  readonly table = new ThreadTable();
  readonly sent: string[] = [];
  readonly lines: { level: string; msg: string; thread: string }[] = [];
  readonly watchdog: Watchdog;
  readonly #log: ReturnType<typeof createLog>;

  constructor(options?: { isArmed: boolean }) {
    this.#log = createLog({
      level: 'info',
      format: 'json',
      write: (bytes) => {
        for (const line of new TextDecoder().decode(bytes).trim().split('\n')) this.lines.push(JSON.parse(line));
        return bytes.length;
      },
    });
    const note = (what: string) => () => void this.sent.push(`${what} ${this.clock.monotonicMs() / 1000}`);
    this.watchdog = new Watchdog(
      {
        threads: () => this.table.views(),
        clock: this.clock,
        log: this.#log,
        service: {
          watchdogIntervalMs: LIMIT_MS,
          ready() {},
          reloading() {},
          status() {},
          stopping() {},
          watchdog: note('ping'),
          extendTimeout: note('extend'),
        },
      },
      options,
    );
  }

  /** Advances the clock; these threads make progress meanwhile. */
  pass(seconds: number, ...slots: number[]): void {
    for (let passed = 0; passed < seconds * 1000; passed += this.watchdog.intervalMs) {
      this.clock.advance(this.watchdog.intervalMs);
      for (const slot of slots) this.table.counter(slot).add();
      this.watchdog.checkThreads();
    }
    this.#log.flush();
  }

  /** Returns the messages sent since the last call. */
  newMessages(): string[] {
    return this.sent.splice(0);
  }
}

describe('the watchdog', () => {
  test('sends a ping three times per time limit while all threads make progress', () => {
    const it = new Fixture();
    const [node, verify] = [it.table.claim('node'), it.table.claim('verify')];
    it.pass(5, node, verify);
    it.newMessages();
    it.watchdog.running();
    it.pass(60, node, verify);
    expect(it.newMessages()).toEqual(['ping 5', 'ping 25', 'ping 45', 'ping 65']);
    expect(it.lines).toEqual([]);
  });

  test.each(['node', 'verify', 'reader', 'watches', 'webhooks'] as const)(
    'sends no ping when a %s thread hangs, and logs its name once',
    (kind) => {
      const it = new Fixture();
      const [node, hung] = [it.table.claim('node'), it.table.claim(kind)];
      it.pass(5, node, hung);
      it.watchdog.running();
      it.pass(30, node, hung);
      it.newMessages();
      it.pass(45, node);
      // The watchdog reports before the manager acts: no later than 60 s after the last ping.
      expect(it.lines).toMatchObject([
        {
          level: 'error',
          msg: 'a thread makes no progress: keep-alive pings to the service manager stop',
          thread: kind === 'node' ? 'node' : `${kind}-1`,
        },
      ]);
      it.pass(200, node);
      expect(it.newMessages().length).toBeLessThanOrEqual(1);
      expect(it.lines).toHaveLength(1);
      expect(it.watchdog.figures().find(({ idle }) => idle > 240)).toMatchObject({ name: it.lines[0]!.thread });
      it.pass(5, node, hung);
      expect(it.newMessages()).toHaveLength(1);
      expect(it.lines[1]).toMatchObject({ level: 'warn', msg: 'a thread makes progress again' });
    },
  );

  test('sends pings while a busy thread counts its work', () => {
    const it = new Fixture();
    const node = it.table.claim('node');
    it.watchdog.running();
    it.pass(600, node);
    expect(it.newMessages().length).toBeGreaterThanOrEqual(30);
  });

  test('forgets ended threads, and does not count a stall of the whole machine', () => {
    const it = new Fixture();
    const [node, reader] = [it.table.claim('node'), it.table.claim('reader')];
    it.pass(5, node, reader);
    it.watchdog.running();
    it.table.release(reader);
    it.pass(120, node);
    // The machine was suspended.
    it.clock.advance(3_600_000);
    it.watchdog.checkThreads();
    it.pass(5, node);
    expect(it.lines).toEqual([]);
    expect(it.newMessages().length).toBeGreaterThanOrEqual(6);
  });

  test('extends the time-out while the node starts or stops and makes progress, but not while it hangs', () => {
    const it = new Fixture();
    const node = it.table.claim('node');
    it.pass(20, node);
    expect(it.newMessages().length).toBeGreaterThanOrEqual(3);
    it.pass(20);
    expect(it.newMessages()).toEqual([]);
    it.watchdog.running();
    it.watchdog.stopping();
    it.newMessages();
    it.pass(20, node);
    expect(new Set(it.newMessages().map((each) => each.split(' ')[0]))).toEqual(new Set(['extend']));
  });

  test('sends pings within the start of a program that starts again, while it makes progress', () => {
    const it = new Fixture({ isArmed: true });
    const node = it.table.claim('node');
    it.pass(20, node);
    expect(it.newMessages().filter((each) => each.startsWith('ping')).length).toBeGreaterThanOrEqual(3);
    it.pass(20);
    expect(it.newMessages()).toEqual([]);
  });
});

describe('the progress of a thread', () => {
  const folder = mkdtempSync(join(tmpdir(), 'obverse-threads-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const util = join(import.meta.dir, '../../src/util');
  const path = join(folder, 'worker.ts');
  writeFileSync(
    path,
    `import { noteProgress } from '${util}/progress.ts';
import { announceStart } from '${util}/worker.ts';
announceStart();
self.onmessage = ({ data: { ms, counts } }) => {
  self.postMessage('begun');
  const until = performance.now() + ms;
  while (performance.now() < until) if (counts) noteProgress();
  self.postMessage('ended');
};
`,
  );

  test('counts while the thread waits or reports work, but not in an endless loop', async () => {
    // Threads of other test files may still be ending.
    const others = new Set(threads.views().map(({ slot }) => slot));
    const worker = startWorker(new URL(`file://${path}`), 'watches');
    const { slot, name } = threads.views().find((each) => !others.has(each.slot))!;
    expect(name).toStartWith('watches');
    const view = () => threads.views().find((each) => each.slot === slot);
    const ended = new Promise((resolve) => worker.addEventListener('close', resolve));
    const work = async (counts: boolean) => {
      for (;;) {
        let late = false;
        const begun = Promise.withResolvers<void>();
        const ended = Promise.withResolvers<void>();
        worker.onmessage = ({ data }) => {
          if (data === 'begun') return begun.resolve();
          late = true;
          ended.resolve();
        };
        worker.postMessage({ ms: 400, counts });
        await begun.promise;
        const before = view()!.progress;
        await Bun.sleep(200);
        const after = view()!.progress;
        const inTime = !late;
        await ended.promise;
        // Where the machine is busy, the loop may have ended before it was counted again.
        if (inTime) return after - before;
      }
    };
    while (!view()?.progress) await Bun.sleep(5);
    const before = view()!.progress;
    while (view()!.progress < before + 2) await Bun.sleep(5);
    expect(await work(true)).toBeGreaterThan(100);
    expect(await work(false)).toBe(0);
    while (view()!.longestStallMs < 250) await Bun.sleep(5);
    worker.terminate();
    await ended;
    expect(view()).toBeUndefined();
  });
});
