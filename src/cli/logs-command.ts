import { loadConfig } from '../config/load.ts';
import { LOG_CATEGORIES, LOG_LEVELS } from '../util/log-levels.ts';
import { OperatorError } from '../util/operator-error.ts';
import { type Command, type CommandContext, UsageError } from './command.ts';
import { COMMON_OPTIONS } from './help-text.ts';
import { type LineFilter, shownLine } from './log-output.ts';
import { followFile, lastLines } from './log-tail.ts';
import { splitOwnFlags } from './own-flags.ts';

const DEFAULT_LINES = 100;
const MAX_LINES = 100_000;
const UNIT = /^[A-Za-z0-9@:_.-]{1,200}$/;

export const command: Command = {
  usage: 'logs [--follow] [--level LEVEL] [--category NAME] [options]',
  description: `Shows the last lines of the log: those of log.file where it is set, else those of the service in the journal.
Lines below the level, and of other categories, are left out. Where neither has a line, the exit status is 1.

Categories: ${LOG_CATEGORIES.join(', ')}. log.levels sets how much each of them logs.`,
  options: [
    ['--follow', 'keep printing new lines until interrupted, also after a rotation'],
    ['--lines N', `lines to begin with (default ${DEFAULT_LINES})`],
    ['--level LEVEL', `least important level: ${LOG_LEVELS.join(', ')} (default debug)`],
    ['--category NAME', 'only lines of this category; may be repeated'],
    ['--json', 'print the lines as they were logged'],
    ['--unit NAME', 'service whose lines the journal shows (default obverse)'],
    ...COMMON_OPTIONS,
  ],
  examples: ['obverse logs --follow', 'obverse logs --level warn --lines 1000', 'obverse logs --category p2p'],
  async run(args, context) {
    const { values, rest } = splitOwnFlags(args, {
      '--follow': 'switch',
      '--lines': 'text',
      '--level': 'text',
      '--category': 'list',
      '--json': 'switch',
      '--unit': 'text',
    });
    const { config, positionals } = loadConfig(rest);
    if (positionals.length > 0) throw new UsageError(`logs takes no argument: ${positionals[0]}`);
    const filter: LineFilter = {
      level: readLevel(values.get('--level')?.[0] ?? 'debug'),
      categories: (values.get('--category') ?? []).flatMap((list) => list.split(',')).map(readCategory),
      json: values.has('--json'),
    };
    const count = readCount(values.get('--lines')?.[0]);
    const print = (line: string) => {
      const shown = shownLine(line, filter);
      if (shown !== null) context.out(`${shown}\n`);
    };
    const { file } = config.log;
    const follow = values.has('--follow');
    if (file === null) {
      const unit = values.get('--unit')?.[0] ?? 'obverse';
      if (!UNIT.test(unit)) throw new UsageError(`--unit is the name of a service, not ${unit}`);
      return journal({ unit, count, follow }, print, context);
    }
    const { lines, end } = lastLines(file, count, (line) => shownLine(line, filter) !== null);
    for (const line of lines) print(line);
    if (follow) await followFile(file, end, print, context.signal);
    return 0;
  },
};

/** Reads the journal through its own program. */
async function journal(
  { unit, count, follow }: { readonly unit: string; readonly count: number; readonly follow: boolean },
  print: (line: string) => void,
  { signal, err }: CommandContext,
): Promise<number> {
  const program = Bun.which('journalctl');
  if (program === null)
    throw new OperatorError('the log is on stderr of the node: set log.file, or run it as a service with a journal');
  const read = [program, '--unit', unit, '--output', 'cat', '--quiet'];
  const nothing =
    `the journal has no line of the service ${unit}: name another one with --unit, or set log.file. ` +
    'A node that was started by hand logs to its stderr; the journal of the system needs root or the group systemd-journal';
  if (Bun.spawnSync([...read, '--lines', '1', '--no-pager'], { stdin: 'ignore' }).stdout.length === 0) {
    if (!follow) throw new OperatorError(nothing);
    // The service may log its first line later.
    err(`obverse: ${nothing}\n`);
  }
  const child = Bun.spawn([...read, '--lines', String(count), follow ? '--follow' : '--no-pager'], {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const end = () => child.kill();
  signal.addEventListener('abort', end, { once: true });
  let rest = '';
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop()!;
    for (const line of lines) print(line);
  }
  signal.removeEventListener('abort', end);
  const status = await child.exited;
  return signal.aborted ? 0 : Math.min(1, status);
}

function readLevel(text: string) {
  const level = LOG_LEVELS.find((each) => each === text);
  if (level === undefined) throw new UsageError(`--level is one of ${LOG_LEVELS.join(', ')}, not ${text}`);
  return level;
}

function readCategory(text: string) {
  const category = LOG_CATEGORIES.find((each) => each === text);
  if (category === undefined) throw new UsageError(`--category is one of ${LOG_CATEGORIES.join(', ')}, not ${text}`);
  return category;
}

function readCount(text: string | undefined): number {
  if (text === undefined) return DEFAULT_LINES;
  const count = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (count < 1 || count > MAX_LINES) throw new UsageError(`--lines is a number from 1 to ${MAX_LINES}, not ${text}`);
  return count;
}
