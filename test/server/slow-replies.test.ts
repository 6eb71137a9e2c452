import { expect, test } from 'bun:test';
import { SlowReplies } from '../../src/server/slow-replies.ts';

const IDLE = 30;

/** A request whose changes of the idle timeout are recorded. */
class Recorded {
  readonly request = new Request('http://localhost/');
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
  const replies = new SlowReplies(IDLE, 1);
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
  const replies = new SlowReplies(IDLE, 1);
  const [quick, slow] = [new Recorded(), new Recorded()];
  replies.begin(quick);
  replies.end(quick);
  replies.begin(slow);
  await slow.changed;
  replies.end(new Recorded());
  expect(quick.timeouts).toEqual([]);
});

test('a short idle timeout is switched off at once', () => {
  const replies = new SlowReplies(1);
  const visit = new Recorded();
  replies.begin(visit);
  expect(visit.timeouts).toEqual([0]);
  replies.end(visit);
  expect(visit.timeouts).toEqual([0, 1]);
});
