import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { ByteStream, StreamHandlers } from '../../../src/p2p/connections/byte-stream.ts';
import { LineStream } from '../../../src/p2p/connections/line-stream.ts';
import { ManualTime, turns } from './net-fixture.ts';

const MAX = 40;

/** A stream whose incoming bytes the test delivers. */
class FakeStream implements ByteStream {
  readonly local = null;
  readonly remote = null;
  handlers: StreamHandlers | null = null;
  paused = false;
  returned: Uint8Array = new Uint8Array(0);
  attach(handlers: StreamHandlers): void {
    this.handlers = handlers;
  }
  write(bytes: Uint8Array): number {
    return bytes.length;
  }
  pause(): void {
    this.paused = true;
  }
  resume(): void {
    this.paused = false;
  }
  unread(bytes: Uint8Array): void {
    this.returned = bytes;
  }
  close(): void {}
}

function open() {
  const stream = new FakeStream();
  const abort = new AbortController();
  const time = new ManualTime();
  const lines = new LineStream(stream, { maxLength: MAX, timing: time, signal: abort.signal });
  const deliver = (text: string) => stream.handlers!.data(Buffer.from(text, 'latin1'));
  return { stream, abort, time, lines, deliver };
}

test('lines arrive as they were sent, in pieces of any size, and what follows them is returned', async () => {
  const line = fc.string({
    maxLength: MAX - 1,
    unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code)),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(line),
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
      async (sent, sizes) => {
        const { lines, deliver, stream } = open();
        const text = `${sent.map((one, i) => `${one}${i % 2 === 0 ? '\n' : '\r\n'}`).join('')}rest`;
        const reading = (async () => {
          const read: string[] = [];
          while (read.length < sent.length) read.push(await lines.readLine());
          return read;
        })();
        for (let at = 0, i = 0; at < text.length; i++) {
          const size = sizes[i % sizes.length]!;
          deliver(text.slice(at, at + size));
          at += size;
        }
        expect(await reading).toEqual(sent);
        lines.release();
        expect(Buffer.from(stream.returned).toString()).toBe('rest');
      },
    ),
    { numRuns: 50 },
  );
});

test('a line of the maximum length is read, and a longer one ends the stream', async () => {
  const { lines, deliver } = open();
  deliver(`${'a'.repeat(MAX)}\n${'b'.repeat(MAX + 1)}`);
  expect(await lines.readLine()).toBe('a'.repeat(MAX));
  expect(lines.readLine()).rejects.toThrow(`a line exceeds ${MAX} bytes`);
  expect(lines.closed).toBe(true);
});

test('an unread flood pauses the socket, and reading resumes it', async () => {
  const { lines, deliver, stream } = open();
  const text = 'x\n'.repeat(3000);
  deliver(text);
  expect(stream.paused).toBe(true);
  for (let i = 0; i < 3000; i++) expect(await lines.readLine()).toBe('x');
  const more = lines.readLine();
  expect(stream.paused).toBe(false);
  deliver('y\n');
  expect(await more).toBe('y');
});

test('a read ends with its time, with the stream and with the signal', async () => {
  const slow = open();
  const late = slow.lines.readLine(1000).catch((error) => error.message);
  await turns(1);
  await slow.time.pass(1000);
  expect(await late).toBe('no reply in time');
  const gone = open();
  const reading = gone.lines.readLine();
  gone.stream.handlers!.closed('ECONNRESET');
  expect(reading).rejects.toThrow('connection closed: ECONNRESET');
  const aborted = open();
  const other = aborted.lines.readLine(1000);
  aborted.abort.abort(new Error('stopped'));
  expect(other).rejects.toThrow('stopped');
});
