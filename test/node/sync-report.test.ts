import { describe, expect, test } from 'bun:test';
import { PeerlessWatch } from '../../src/node/peerless-watch.ts';
import { type SyncProgress, SyncReport, type SyncStatusPart } from '../../src/node/sync-report.ts';
import type { SyncState } from '../../src/port/node-port.ts';
import { createLog } from '../../src/util/log.ts';

const MINUTE = 60_000;

function collecting() {
  const lines: Record<string, unknown>[] = [];
  const log = createLog({
    level: 'info',
    format: 'json',
    write(bytes) {
      for (const line of new TextDecoder().decode(bytes).trimEnd().split('\n')) lines.push(JSON.parse(line));
      return bytes.length;
    },
  });
  return {
    log,
    /** Returns the logged lines without time and level. */
    lines() {
      log.flush();
      return lines.map(({ time, level, ...rest }) => rest);
    },
  };
}

function status(
  sync: Partial<SyncState>,
  { headers = 1000, progress = 0, peers = 3, active = true } = {},
): SyncStatusPart {
  return {
    sync: { phase: 'blocks', presynced: null, headersProgress: 0, confirmed: false, ...sync },
    headers,
    verificationProgress: progress,
    peers: { inbound: 0, outbound: peers },
    network: { active, timeOffset: 0 },
  };
}

function reporter(isInLog: boolean | null = null) {
  const { log, lines } = collecting();
  const shown: (SyncProgress | null)[] = [];
  const display = isInLog === null ? null : { isInLog, show: (at: SyncProgress | null) => void shown.push(at) };
  return { report: new SyncReport(log, display), lines, shown };
}

describe('the sync report', () => {
  test('logs each phase at most every ten seconds, with rates and the time left, and the end once', () => {
    const { report, lines } = reporter();
    let second = 0;
    const pass = (seconds: number, at: (s: number) => [SyncStatusPart, number]) => {
      for (let s = 0; s < seconds; s++, second++) report.update(...at(s), second * 1000);
    };
    pass(10, (s) => [status({ phase: 'presync', presynced: s * 100, headersProgress: s / 100 }), 0]);
    pass(11, (s) => [status({ phase: 'headers', headersProgress: s / 11 }, { headers: s * 100 }), 0]);
    pass(20, (s) => [status({}, { progress: s / 20 }), s * 50]);
    pass(3, () => [status({ phase: 'following' }), 1000]);
    pass(3, () => [status({ phase: 'following', confirmed: true }), 1000]);
    expect(lines()).toEqual([
      { msg: 'presynchronizing headers', height: 0, percent: 0, peers: 3 },
      { msg: 'synchronizing headers', height: 0, percent: 0, peers: 3 },
      { msg: 'synchronizing headers', height: 1000, percent: 90, headersPerSecond: 100, left: '1s', peers: 3 },
      {
        msg: 'synchronizing blocks',
        height: 450,
        headers: 1000,
        percent: 45,
        blocksPerSecond: 50,
        left: '11s',
        peers: 3,
      },
      {
        msg: 'synchronizing blocks',
        height: 950,
        headers: 1000,
        percent: 95,
        blocksPerSecond: 50,
        left: '1s',
        peers: 3,
      },
      { msg: 'in sync', height: 1000, blocks: 1000, took: '44s', peers: 3 },
    ]);
  });

  test('logs a slow sync once a minute', () => {
    const { report, lines } = reporter();
    for (let s = 0; s < 600; s++) report.update(status({}, { progress: 0.5 + s * 1e-6 }), s, s * 1000);
    expect(lines()).toHaveLength(10);
  });

  test('does not report later blocks unless they take long', () => {
    const { report, lines } = reporter();
    const following = status({ phase: 'following', confirmed: true }, { progress: 1 });
    report.update(following, 100, 0);
    expect(lines()).toEqual([{ msg: 'in sync', height: 100, peers: 3 }]);
    for (let s = 1; s < 200; s++)
      report.update(s % 10 === 0 ? following : status({}, { progress: 0.99 }), 100 + s, s * 1000);
    expect(lines()).toHaveLength(1);
    for (let s = 200; s < 215; s++) report.update(status({}, { progress: 0.99 }), 300, s * 1000);
    report.update(following, 310, 215_000);
    expect(lines().map(({ msg }) => msg)).toEqual(['in sync', 'synchronizing blocks', 'in sync']);
  });

  test('logs nothing without a peer network, and when the node is in sync', () => {
    const { report, lines, shown } = reporter(false);
    for (let s = 0; s < 100; s++) report.update(status({}, { active: false }), s, s * 1000);
    for (let s = 100; s < 200; s++) report.update(status({ phase: 'waiting' }), s, s * 1000);
    expect(lines()).toEqual([]);
    expect(new Set(shown)).toEqual(new Set([null]));
  });

  test('uses the display instead of log lines where both share a terminal', () => {
    const { report, lines, shown } = reporter(true);
    for (let s = 0; s < 60; s++) report.update(status({}, { progress: s / 60, headers: 70 }), s, s * 1000);
    expect(shown).toHaveLength(60);
    expect(shown.at(-1)).toEqual({
      phase: 'blocks',
      share: 59 / 60,
      height: 59,
      headers: 70,
      perSecond: 1,
      // The estimate by progress is 1 s, as the share is nearly 1; that by blocks is 11 s.
      secondsLeft: 11,
      peers: 3,
    });
    report.update(status({ phase: 'following', confirmed: true }), 60, 60_000);
    expect(shown.at(-1)).toBeNull();
    expect(lines()).toMatchObject([{ msg: 'in sync', height: 60, took: '1m 00s' }]);
  });
});

describe('a node without peers', () => {
  test('is warned after ten minutes, then at growing intervals, and logs the first peer', () => {
    const { log, lines } = collecting();
    const watch = new PeerlessWatch(log);
    for (let minute = 0; minute < 24 * 60; minute++) watch.check(0, minute * MINUTE);
    expect(lines().map(({ minutes }) => minutes)).toEqual([10, 20, 40, 80, 160, 320, 640, 1280]);
    watch.check(1, 24 * 60 * MINUTE);
    expect(lines().at(-1)).toEqual({ msg: 'peer found' });
    for (let minute = 1; minute <= 11; minute++) watch.check(0, (24 * 60 + minute) * MINUTE);
    expect(lines().at(-1)).toMatchObject({ msg: 'no peer found', minutes: 10 });
  });

  test('is not warned where it looks for none, nor for interrupted periods that add up to ten minutes', () => {
    const { log, lines } = collecting();
    const watch = new PeerlessWatch(log);
    for (let minute = 0; minute < 600; minute++) watch.check(null, minute * MINUTE);
    for (let minute = 600; minute < 1200; minute++) watch.check(minute % 10 === 0 ? 1 : 0, minute * MINUTE);
    expect(lines()).toEqual([]);
  });
});
