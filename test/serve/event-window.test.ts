import { expect, test } from 'bun:test';
import { EventWindow } from '../../src/serve/event-window.ts';

const event = (seq: number) => ({ seq, type: 'newBlock', data: JSON.stringify({ seq }) });

test('events that are read again, since passing them on has failed, are in the window once', () => {
  using window = new EventWindow('abcdefgh');
  window.addEvents([event(3), event(5)]);
  window.addEvents([event(3), event(5), event(8)]);
  expect(window.events.after(0, 10).map(({ seq }) => seq)).toEqual([3, 5, 8]);
  expect(window.events.bounds()).toEqual({ oldest: 3, last: 8 });
});
