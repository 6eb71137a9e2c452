import { afterAll, expect, test } from 'bun:test';
import { appendFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LineFilter, shownLine } from '../../src/cli/log-output.ts';
import { followFile, lastLines } from '../../src/cli/log-tail.ts';

const folder = mkdtempSync(join(tmpdir(), 'obverse-logs-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const ALL: LineFilter = { level: 'debug', categories: [], json: false };
const line =
  '{"level":"info","time":"2026-08-01T12:00:00.000Z","category":"chain","msg":"new tip","height":5,"hash":"ab"}';

test('a JSON line is shown as text, and the filter leaves out levels and categories', () => {
  expect(shownLine(line, ALL)).toBe('2026-08-01 12:00:00.000 INFO  chain    new tip height=5 hash=ab');
  expect(shownLine(line, { ...ALL, json: true })).toBe(line);
  expect(shownLine(line, { ...ALL, level: 'warn' })).toBeNull();
  expect(shownLine(line, { ...ALL, categories: ['p2p'] })).toBeNull();
  expect(shownLine(line, { ...ALL, categories: ['p2p', 'chain'] })).not.toBeNull();
});

test('a line of text keeps its form and is filtered alike', () => {
  const text = '2026-08-01 12:00:00.000 DEBUG p2p      connected peer=1';
  expect(shownLine(text, ALL)).toBe(text);
  expect(shownLine(text, { ...ALL, level: 'info' })).toBeNull();
  expect(shownLine(text, { ...ALL, categories: ['chain'] })).toBeNull();
});

test('a line of another program is shown without control characters', () => {
  expect(shownLine('panic\x1b[2J', { ...ALL, level: 'error' })).toBe('panic?[2J');
});

test('the last lines of a file are those that the filter accepts, in order, over many reads', () => {
  const file = join(folder, 'long.log');
  const lines = Array.from({ length: 30_000 }, (_, i) => `line ${i} ${'x'.repeat(i % 50)}`);
  writeFileSync(file, `${lines.join('\n')}\nunfinished`);
  const even = (text: string) => Number(text.split(' ')[1]) % 2 === 0;
  expect(lastLines(file, 9000, even).lines).toEqual(lines.filter(even).slice(-9000));
  expect(lastLines(file, 100_000, () => true).lines).toEqual(lines);
  writeFileSync(file, '');
  expect(lastLines(file, 5, () => true).lines).toEqual([]);
});

test('following a file shows each appended line once, also those around a rotation', async () => {
  const file = join(folder, 'rotated.log');
  writeFileSync(file, 'zero\nhalf');
  const seen: string[] = [];
  const abort = new AbortController();
  const { lines, end } = lastLines(file, 10, () => true);
  expect(lines).toEqual(['zero']);
  let wanted = 0;
  let reached = Promise.withResolvers<void>();
  const print = (text: string) => {
    seen.push(text);
    if (seen.length === wanted) reached.resolve();
  };
  const until = (count: number) => {
    wanted = count;
    reached = Promise.withResolvers<void>();
    if (seen.length >= count) reached.resolve();
    return reached.promise;
  };
  const ended = followFile(file, end, print, abort.signal);
  appendFileSync(file, ' one\n');
  await until(1);
  renameSync(file, `${file}.1`);
  // The writer has not opened the new file yet.
  appendFileSync(`${file}.1`, 'two\n');
  writeFileSync(file, 'three\n');
  await until(3);
  abort.abort();
  await ended;
  expect(seen).toEqual(['half one', 'two', 'three']);
});
