import { describe, expect, test } from 'bun:test';
import { createLog, type Log, type LogOptions, setLogLevels } from '../../src/util/log.ts';
import { categoryLevels, parseCategoryLevel } from '../../src/util/log-levels.ts';
import { colouredLine } from '../../src/util/log-lines.ts';
import { ManualClock } from '../lib/manual-clock.ts';

const NOON = Date.UTC(2026, 7, 1, 12);

/** A log and everything that its sink accepted. */
function logged(options: Partial<LogOptions> = {}): { log: Log; text: () => string; lines: () => unknown[] } {
  let taken = '';
  const log = createLog({
    level: 'debug',
    format: 'json',
    clock: new ManualClock(NOON),
    write: (bytes) => {
      taken += new TextDecoder().decode(bytes);
      return bytes.length;
    },
    ...options,
  });
  const text = () => {
    log.flush();
    return taken;
  };
  return {
    log,
    text,
    lines: () =>
      text()
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
  };
}

describe('json', () => {
  test('a line has level, time, message and fields, those of the child first', () => {
    const { log, lines } = logged();
    log.child({ peer: 3 }).info('connected', { height: 5 });
    expect(lines()).toEqual([
      { level: 'info', time: '2026-08-01T12:00:00.000Z', msg: 'connected', peer: 3, height: 5 },
    ]);
  });

  test('fields cannot replace level, time or message', () => {
    const { log, lines } = logged();
    log.warn('real', { level: 'error', msg: 'forged', time: 0 });
    expect(lines()).toEqual([{ level: 'warn', time: '2026-08-01T12:00:00.000Z', msg: 'real' }]);
  });

  test('bigints, bytes and errors are formatted', () => {
    const { log, lines } = logged();
    log.info('x', {
      value: 2n ** 60n,
      hash: new Uint8Array([1, 255]),
      buffer: Buffer.from([2]),
      error: new TypeError('no'),
    });
    expect(lines()).toMatchObject([
      { value: '1152921504606846976', hash: '01ff', buffer: '02', error: { name: 'TypeError', message: 'no' } },
    ]);
  });

  test('a line feed in a message stays inside its line', () => {
    const { log, lines } = logged();
    log.info('a\nb');
    expect(lines()).toMatchObject([{ msg: 'a\nb' }]);
  });
});

test('the text format quotes unusual characters', () => {
  const { log, text } = logged({ format: 'text' });
  log.warn('peer misbehaves', { peer: 7, agent: '/Sat\x1b[31m oshi/', reason: 'bad-txns', value: 5n, none: undefined });
  expect(text()).toBe(
    '2026-08-01 12:00:00.000 WARN  peer misbehaves peer=7 agent="/Sat\\u001b[31m oshi/" reason=bad-txns value=5\n',
  );
});

test('lines below the level are dropped', () => {
  const { log, lines } = logged({ level: 'warn' });
  log.debug('a');
  log.info('b');
  log.warn('c');
  log.error('d');
  expect(lines()).toMatchObject([{ msg: 'c' }, { msg: 'd' }]);
  expect([log.enabled('info'), log.enabled('warn')]).toEqual([false, true]);
});

test('each category has its level, also after a change at run time', () => {
  const { log, lines } = logged({ category: 'node', level: 'info', levels: categoryLevels('info') });
  const [p2p, mempool] = [log.category('p2p'), log.category('mempool')];
  p2p.debug('a');
  setLogLevels(categoryLevels('warn', [{ category: 'p2p', level: 'debug' }]), false);
  try {
    p2p.child({ peer: 1 }).debug('b');
    mempool.info('c');
    log.warn('d');
    expect([p2p.enabled('debug'), mempool.enabled('info')]).toEqual([true, false]);
  } finally {
    setLogLevels(categoryLevels('info'), true);
  }
  mempool.info('e');
  expect(lines()).toMatchObject([
    { category: 'p2p', msg: 'b', peer: 1 },
    { category: 'node', msg: 'd' },
    { category: 'mempool', msg: 'e' },
  ]);
});

test('a terminal shows the level in colour, and the category', () => {
  const { log, text } = logged({ category: 'p2p', line: colouredLine });
  log.warn('lost');
  expect(text()).toBe('2026-08-01 12:00:00.000 \x1b[33mWARN \x1b[0m p2p      lost\n');
});

test.each([
  ['p2p=debug', { category: 'p2p', level: 'debug' }],
  ['p2p = warn', { category: 'p2p', level: 'warn' }],
  ['p2p', null],
  ['net=debug', null],
  ['p2p=loud', null],
  ['p2p=debug=info', null],
] as const)('the level of a category %s', (text, read) => expect(parseCategoryLevel(text)).toEqual(read));

describe('never throws', () => {
  const circular: Record<string, unknown> = {};
  circular.self = circular;
  const trap = {
    get boom() {
      throw new Error('getter');
    },
  };
  for (const format of ['json', 'text'] as const) {
    test(`on fields that cannot be serialized, ${format}`, () => {
      const { log, text } = logged({ format });
      log.info('one', circular);
      log.info('two', { inner: trap });
      log.info('three', trap);
      expect(
        text()
          .split('\n')
          .map((line) => /one|two|three/.exec(line)?.[0]),
      ).toEqual(['one', 'two', 'three', undefined]);
    });
  }

  test('on a sink that fails', () => {
    let calls = 0;
    const { log } = logged({
      write: () => {
        calls++;
        throw new Error('EPIPE');
      },
    });
    log.error('a');
    log.flush();
    log.error('b');
    expect(calls).toBe(2);
  });
});

describe('buffer', () => {
  test('lines are buffered and written together, an error at once after earlier lines', () => {
    const writes: string[] = [];
    const { log } = logged({
      level: 'info',
      write: (bytes) => {
        writes.push(new TextDecoder().decode(bytes));
        return bytes.length;
      },
    });
    log.info('a');
    log.info('b');
    expect(writes).toEqual([]);
    log.error('c');
    expect(writes).toHaveLength(1);
    expect(writes[0]!.split('\n')).toHaveLength(4);
  });

  test('at level debug every line is written at once', () => {
    const writes: string[] = [];
    const { log } = logged({
      write: (bytes) => {
        writes.push(new TextDecoder().decode(bytes));
        return bytes.length;
      },
    });
    log.info('a');
    expect(writes).toHaveLength(1);
    log.debug('b');
    expect(writes).toHaveLength(2);
  });

  test('a sink that takes a few bytes at a time gets every byte once', () => {
    let taken = '';
    let turn = 0;
    const { log } = logged({
      write: (bytes) => {
        if (turn++ % 3 === 2) return 0;
        taken += new TextDecoder().decode(bytes.subarray(0, 7));
        return Math.min(7, bytes.length);
      },
    });
    for (let i = 0; i < 20; i++) log.info('line', { i });
    for (let i = 0; i < 1000; i++) log.flush();
    expect(
      taken
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).i),
    ).toEqual([...Array(20).keys()]);
  });

  test('a sink that blocks loses lines above the limit, and a line reports how many', () => {
    let blocked = true;
    let taken = '';
    const { log } = logged({
      maxBufferedBytes: 1000,
      write: (bytes) => {
        if (blocked) return 0;
        taken += new TextDecoder().decode(bytes);
        return bytes.length;
      },
    });
    for (let i = 0; i < 100; i++) log.error('line', { i });
    blocked = false;
    log.flush();
    log.info('after');
    log.flush();
    const lines = taken
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    const kept = lines.filter(({ msg }) => msg === 'line').length;
    expect(taken.length).toBeLessThan(1500);
    expect(lines.slice(kept)).toMatchObject([{ msg: 'log lines dropped', count: 100 - kept }, { msg: 'after' }]);
  });
});
