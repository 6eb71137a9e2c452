import { afterEach, beforeEach, expect, jest, test } from 'bun:test';
import { paced } from '../../src/dashboard/pages/pace.ts';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

test('the first call is made at once, and those of a pause are one call at its end', () => {
  const callback = jest.fn();
  const { call } = paced(callback, 1000);
  call();
  expect(callback).toHaveBeenCalledTimes(1);
  for (let i = 0; i < 500; i++) call();
  expect(callback).toHaveBeenCalledTimes(1);
  jest.advanceTimersByTime(1000);
  expect(callback).toHaveBeenCalledTimes(2);
  // The call at the end of a pause begins another.
  call();
  expect(callback).toHaveBeenCalledTimes(2);
  jest.advanceTimersByTime(1000);
  expect(callback).toHaveBeenCalledTimes(3);
});

test('a pause without a call ends with none, and the next call is made at once', () => {
  const callback = jest.fn();
  const { call } = paced(callback, 1000);
  call();
  jest.advanceTimersByTime(1000);
  expect(callback).toHaveBeenCalledTimes(1);
  call();
  expect(callback).toHaveBeenCalledTimes(2);
});

test('a stop drops the call that waits', () => {
  const callback = jest.fn();
  const { call, stop } = paced(callback, 1000);
  call();
  call();
  stop();
  jest.advanceTimersByTime(5000);
  expect(callback).toHaveBeenCalledTimes(1);
});
