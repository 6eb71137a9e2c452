import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../config/load.ts';
import { sleep } from '../util/abort.ts';
import { durationText } from '../util/duration.ts';
import { OperatorError } from '../util/operator-error.ts';
import { type Command, UsageError } from './command.ts';
import { COMMON_OPTIONS } from './help-text.ts';
import { requestNode } from './node-access.ts';
import { splitOwnFlags } from './own-flags.ts';
import { readDuration } from './time-input.ts';

const DEFAULT_WAIT = '10m';
const POLL_MS = 50;
const REQUEST_MS = 30_000;

export const command: Command = {
  usage: 'stop [--wait DURATION] [options]',
  description: `Stops the node that runs with the same settings on this host, and waits until its process has ended. The node
completes running work and flushes its caches first.

The key is OBVERSE_API_KEY or the file that OBVERSE_API_KEY_FILE names, else the cookie file of the data directory; it
needs the scope admin. Exit status: 0 the process has ended, 1 it has not.`,
  options: [['--wait DURATION', `wait that long at most (default ${DEFAULT_WAIT})`], ...COMMON_OPTIONS],
  examples: ['obverse stop', 'obverse stop --wait 30s --network regtest'],
  async run(args, { signal, out, err }) {
    const { values, rest } = splitOwnFlags(args, { '--wait': 'text' });
    const { config, positionals } = loadConfig(rest);
    if (positionals.length > 0) throw new UsageError(`stop takes no argument: ${positionals[0]}`);
    const waitMs = readDuration('--wait', values.get('--wait')?.[0] ?? DEFAULT_WAIT) * 1000;
    const pid = lockOwner(config.networkDir);
    const { text } = await requestNode(config, {
      path: '/',
      body: '{"jsonrpc":"2.0","id":1,"method":"stop","params":[]}',
      signal,
      timeoutMs: REQUEST_MS,
    });
    const problem = problemOf(text);
    if (problem !== null) {
      err(`obverse: the node does not stop: ${problem}\n`);
      return 1;
    }
    if (pid === null) throw new OperatorError(`the node stops; ${config.networkDir}/lock does not name its process`);
    const deadline = performance.now() + waitMs;
    while (isRunning(pid)) {
      if (performance.now() > deadline) {
        err(`obverse: the node (pid ${pid}) still stops after ${durationText(waitMs / 1000)}\n`);
        return 1;
      }
      await sleep(POLL_MS, signal);
    }
    out('stopped\n');
    return 0;
  },
};

/** Returns the process that has locked the directory; null where the file does not name one that exists. */
function lockOwner(networkDir: string): number | null {
  try {
    const pid = Number(readFileSync(join(networkDir, 'lock'), 'utf8').trim());
    return Number.isSafeInteger(pid) && pid > 0 && isRunning(pid) ? pid : null;
  } catch {
    return null;
  }
}

/** Whether a process exists and has not ended; a zombie has. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return process.platform !== 'linux';
  }
}

function problemOf(text: string): string | null {
  try {
    const { result, error } = JSON.parse(text) as { result?: unknown; error?: { message: string } };
    return error ? error.message : result === undefined ? 'the reply holds no result' : null;
  } catch {
    return 'the reply is not JSON';
  }
}
