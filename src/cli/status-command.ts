import { loadConfig } from '../config/load.ts';
import { sleep } from '../util/abort.ts';
import { type Command, UsageError } from './command.ts';
import { COMMON_OPTIONS } from './help-text.ts';
import { splitOwnFlags } from './own-flags.ts';
import { readStatus, type StatusFacts } from './status-facts.ts';
import { statusLines } from './status-screen.ts';

/** Time between two states that the rate of the sync is computed from. */
const RATE_MS = 2000;
const WATCH_MS = 2000;
/** States that --watch keeps: the rate is that of the last minute. */
const MAX_STATES = 30;
const CLEAR = '\x1b[H\x1b[2J\x1b[3J';

export const command: Command = {
  usage: 'status [--watch] [--json] [options]',
  description: `Shows the state of the node that runs with the same settings on this host on one screen: tip, sync with the time
left, peers, mempool, indexes, wallets, disk, and readiness with its reasons. During the sync it measures for two seconds.

The key is OBVERSE_API_KEY or the file that OBVERSE_API_KEY_FILE names, else the cookie file of the data directory.
Exit status: 0 the node answers, 1 it does not. obverse probe ready tests readiness.`,
  options: [
    ['--watch', 'show it again every two seconds until interrupted'],
    ['--json', 'print one JSON object, with --watch one per line'],
    ...COMMON_OPTIONS,
  ],
  examples: ['obverse status', 'obverse status --watch --network signet'],
  async run(args, { signal, out, err }) {
    const { values, rest } = splitOwnFlags(args, { '--watch': 'switch', '--json': 'switch' });
    const { config, positionals } = loadConfig(rest);
    if (positionals.length > 0) throw new UsageError(`status takes no argument: ${positionals[0]}`);
    const print = (facts: StatusFacts, earlier: StatusFacts | null, before = '') =>
      out(values.has('--json') ? `${JSON.stringify(facts)}\n` : `${before}${statusLines(facts, earlier).join('\n')}\n`);
    const first = await readStatus(config, signal);
    if (!values.has('--watch')) {
      if (first.synced || values.has('--json')) print(first, null);
      else {
        await sleep(RATE_MS, signal);
        print(await readStatus(config, signal), first);
      }
      return 0;
    }
    const before = process.stdout.isTTY ? CLEAR : '';
    const states = [first];
    for (;;) {
      print(states.at(-1)!, states.length > 1 ? states[0]! : null, before);
      await sleep(WATCH_MS, signal).catch(() => {});
      if (signal.aborted) return 0;
      try {
        states.push(await readStatus(config, signal));
        if (states.length > MAX_STATES) states.shift();
      } catch (error) {
        if (signal.aborted) return 0;
        if (!(error instanceof Error && error.name === 'OperatorError')) throw error;
        err(`obverse: ${error.message}\n`);
      }
    }
  },
};
