import { expect, test } from 'bun:test';
import { ProjectionAnnouncer } from '../../src/server/projection-announcer.ts';
import { silentLog } from '../lib/chain-fixture.ts';
import { ManualClock } from '../lib/manual-clock.ts';

test('each new subscriber gets the present state, also where another one has left, and nothing is sent twice', async () => {
  let subscribers: object[] = [];
  const sent: string[] = [];
  let checks = 0;
  let count = 1;
  const hub = { subscribersOf: () => subscribers, announce: (_: string, data: string) => void sent.push(data) };
  const source = {
    blocks: () => {
      checks++;
      return Promise.resolve([{ txCount: count }] as never);
    },
    tip: () => ({ height: 1, hash: '00' }) as never,
  };
  const announcer = new ProjectionAnnouncer(hub, source, { clock: new ManualClock(0), log: silentLog, intervalMs: 1 });
  const checked = async (times: number) => {
    for (const until = checks + times; checks < until; ) await new Promise((resolve) => setTimeout(resolve, 1));
  };
  try {
    subscribers = [{}];
    await checked(4);
    expect(sent).toHaveLength(1);
    subscribers = [{}];
    await checked(4);
    expect(sent).toHaveLength(2);
    count = 2;
    await checked(4);
    expect(sent).toHaveLength(3);
    expect(JSON.parse(sent.at(-1)!)).toMatchObject({ blocks: [{ txCount: 2 }], tip: { height: 1, hash: '00' } });
  } finally {
    announcer.stop();
  }
});
