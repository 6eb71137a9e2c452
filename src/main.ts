#!/usr/bin/env bun
import { writeSync } from 'node:fs';
import { dispatch } from './cli/dispatch.ts';
import { refusedVariables } from './cli/runtime-variables.ts';
import { isExecutable } from './util/executable.ts';
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

process.exit(await run(process.argv.slice(2)));

/** Exit status: 0 done, 1 failed, 2 the command line or the configuration is wrong. */
async function run(args: readonly string[]): Promise<number> {
  const err = (text: string) => write(2, text);
  const refused = isExecutable() ? refusedVariables(process.env) : [];
  if (refused.length > 0) {
    err(`obverse: ${refused.join(', ')} would make this executable run other code; remove it from the environment\n`);
    return 2;
  }
  try {
    return await dispatch(args, { signal: abort.signal, out: (text) => write(1, text), err });
  } catch (error) {
    if (!(error instanceof Error)) {
      err(`obverse: ${error}\n`);
      return 1;
    }
    // Errors are recognized by name, so that printing one loads no module.
    if (error.name === 'ConfigError') {
      for (const line of error.message.split('\n')) err(`obverse: ${line}\n`);
      return 2;
    }
    if (error.name === 'UsageError') {
      err(`obverse: ${error.message}\nobverse help shows the commands\n`);
      return 2;
    }
    err(`obverse: ${error.name === 'OperatorError' ? error.message : (error.stack ?? error.message)}\n`);
    return 'isOfSettings' in error && error.isOfSettings === true ? 2 : 1;
  }
}

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
