import { describe, expect, test } from 'bun:test';
import { type ServiceFigures, ServiceState, statusLine } from '../../src/node/service-state.ts';
import type { ServiceNotifier } from '../../src/util/systemd.ts';

const FOLLOWING: ServiceFigures = {
  sync: { phase: 'following', presynced: null, headersProgress: 1, confirmed: true },
  headers: 870_000,
  verificationProgress: 1,
  peers: { inbound: 2, outbound: 10 },
  network: { active: true, timeOffset: 0 },
  stopped: null,
};
const inPhase = (sync: Partial<ServiceFigures['sync']>, rest: Partial<ServiceFigures> = {}) => ({
  ...FOLLOWING,
  ...rest,
  sync: { ...FOLLOWING.sync, ...sync },
});

describe('statusLine', () => {
  test.each([
    ['height 870,000, in sync, 12 peers', FOLLOWING, 870_000],
    ['height 870,000, 12 peers', inPhase({ confirmed: false }), 870_000],
    [
      'height 0, downloading headers: 2,000 (0.23 %), 1 peer',
      inPhase({ phase: 'headers', headersProgress: 0.0023 }, { headers: 2000, peers: { inbound: 0, outbound: 1 } }),
      0,
    ],
    [
      'height 0, downloading headers: 4,000 (0.45 %), 12 peers',
      inPhase({ phase: 'presync', presynced: 4000, headersProgress: 0.0045 }, { headers: 0 }),
      0,
    ],
    [
      'height 812,000 of 870,000 (99.99 %), 12 peers',
      inPhase({ phase: 'blocks' }, { verificationProgress: 0.999999 }),
      812_000,
    ],
    ['height 5, no peer network', inPhase({ phase: 'waiting', confirmed: false }, { network: null }), 5],
    ['height 7: no more blocks are accepted, the log has the reason', { ...FOLLOWING, stopped: 'disk full' }, 7],
  ] as const)('%s', (line, figures, height) => expect(statusLine(figures, height)).toBe(line));
});

describe('ServiceState', () => {
  /** A state and all that its manager receives. */
  function observed() {
    const received: string[] = [];
    const note = (text: string) => void received.push(text);
    const service: ServiceNotifier = {
      watchdogIntervalMs: null,
      ready: () => note('READY'),
      reloading: () => note('RELOADING'),
      status: note,
      watchdog: () => note('WATCHDOG'),
      extendTimeout: () => note('EXTEND'),
      stopping: () => note('STOPPING'),
    };
    return { state: new ServiceState(service), received };
  }

  test('sends a line only when it changes, and none after the stop has begun', () => {
    const { state, received } = observed();
    state.update(FOLLOWING, 1);
    state.ready();
    state.update(FOLLOWING, 870_000);
    state.update(FOLLOWING, 870_000);
    state.update(FOLLOWING, 870_001);
    state.stopping();
    state.update(FOLLOWING, 870_002);
    expect(received).toEqual([
      'opening the databases',
      'READY',
      'height 870,000, in sync, 12 peers',
      'height 870,001, in sync, 12 peers',
      'STOPPING',
      'writing caches and closing the databases',
    ]);
  });

  // READY=1 at the end of a reload would report a node as started that has not opened its databases.
  test('reports a start within the process as a reload, since the manager would end a service that stops', () => {
    const { state, received } = observed();
    state.ready();
    received.length = 0;
    state.stopping({ startsAgain: true });
    expect(received).toEqual(['RELOADING', 'writing caches and closing the databases']);
  });

  test('reports no reload of a node that starts', async () => {
    const { state, received } = observed();
    const reload = Promise.withResolvers<void>();
    const done = state.reload(() => reload.promise);
    state.ready();
    reload.resolve();
    await done;
    expect(received).toEqual(['opening the databases', 'READY']);
  });

  test('reports the end of overlapping reloads once, and of one that fails', async () => {
    const { state, received } = observed();
    state.ready();
    const first = Promise.withResolvers<void>();
    const one = state.reload(() => first.promise);
    const two = state.reload(() => {});
    await two;
    expect(received.slice(1)).toEqual(['READY', 'RELOADING', 'RELOADING']);
    first.reject(new Error('a wrong file'));
    expect(await one.catch((error: Error) => error.message)).toBe('a wrong file');
    expect(received.at(-1)).toBe('READY');
  });

  test('reports nothing when a reload ends after the stop has begun', async () => {
    const { state, received } = observed();
    state.ready();
    const reload = Promise.withResolvers<void>();
    const done = state.reload(() => reload.promise);
    state.stopping();
    reload.resolve();
    await done;
    expect(received.at(-1)).toBe('writing caches and closing the databases');
  });
});
