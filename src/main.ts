#!/usr/bin/env bun
import { writeSync } from 'node:fs';
import { runCommandLine } from './cli/run-command-line.ts';
import { restartKeepingMemory } from './util/kept-memory.ts';

const FORCED_EXIT_MS = 5000;
/** Commands that work through the whole chain and end. */
const BATCH_COMMANDS = new Set(['import', 'reindex']);

if (BATCH_COMMANDS.has(process.argv[2] ?? '')) restartKeepingMemory();

const abort = new AbortController();
let signals = 0;
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.on(name, () => {
    signals++;
    if (signals === 1) abort.abort(new Error(`stopped by ${name}`));
    else if (signals === 2) setTimeout(() => process.exit(1), FORCED_EXIT_MS).unref();
    else process.exit(1);
  });
}

const context = {
  signal: abort.signal,
  out: (text: string) => write(1, text),
  err: (text: string) => write(2, text),
};
process.exit(await runCommandLine(process.argv.slice(2), context));

/** Writes all bytes synchronously, so that none is lost at exit. A reader that has closed its end is not an error. */
function write(fd: 1 | 2, text: string): void {
  const bytes = Buffer.from(text);
  let waits = 0;
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(fd, bytes, at);
    } catch (error) {
      // Another process may have made the pipe non-blocking, and its reader may be slow.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || ++waits > 1000) return;
      Bun.sleepSync(1);
    }
  }
}
