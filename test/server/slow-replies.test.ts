import { expect, test } from 'bun:test';
import { SlowReplies } from '../../src/server/slow-replies.ts';

const IDLE = 30;

/** A request whose changes of the idle timeout are recorded. */
class Recorded {
  readonly request = new Request('http://localhost/');
  readonly startedAt = performance.now();
  readonly timeouts: number[] = [];
  readonly #changed = Promise.withResolvers<void>();
  readonly changed = this.#changed.promise;
  readonly server = {
    requestIP: () => null,
    upgrade: () => false,
    timeout: (request: Request, seconds: number) => {
      expect(request).toBe(this.request);
      this.timeouts.push(seconds);
      this.#changed.resolve();
    },
  };
}

test('a slow reply has no idle timeout until it is ready', async () => {
  const replies = new SlowReplies(IDLE, () => {}, 1);
  const [first, second] = [new Recorded(), new Recorded()];
  replies.begin(first);
  replies.begin(second);
  await second.changed;
  expect([first.timeouts, second.timeouts]).toEqual([[0], [0]]);
  replies.end(first);
  expect([first.timeouts, second.timeouts]).toEqual([[0, IDLE], [0]]);
  const later = new Recorded();
  replies.begin(later);
  await later.changed;
  replies.end(second);
  replies.end(second);
  expect([second.timeouts, later.timeouts]).toEqual([[0, IDLE], [0]]);
});

test('the idle timeout of a quick reply is not changed', async () => {
  const replies = new SlowReplies(IDLE, () => {}, 1);
  const [quick, slow] = [new Recorded(), new Recorded()];
  replies.begin(quick);
  replies.end(quick);
  replies.begin(slow);
  await slow.changed;
  replies.end(new Recorded());
  expect(quick.timeouts).toEqual([]);
});

test('replies that do not come at once are reported, long before their idle timeout changes', async () => {
  const { promise: reported, resolve } = Promise.withResolvers<void>();
  const waiting = new Set<Recorded>();
  const replies = new SlowReplies<Recorded>(IDLE, (visit) => {
    waiting.add(visit);
    resolve();
  });
  const [quick, slow] = [new Recorded(), new Recorded()];
  replies.begin(quick);
  replies.begin(slow);
  replies.end(quick);
  await reported;
  expect([...waiting]).toEqual([slow]);
  replies.end(slow);
});

test('a short idle timeout is switched off at once', () => {
  const waiting: Recorded[] = [];
  const replies = new SlowReplies<Recorded>(1, (visit) => waiting.push(visit));
  const visit = new Recorded();
  replies.begin(visit);
  expect(visit.timeouts).toEqual([0]);
  expect(waiting).toEqual([visit]);
  replies.end(visit);
  expect(visit.timeouts).toEqual([0, 1]);
});
