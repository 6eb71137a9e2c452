import { didYouMean } from '../util/suggest.ts';
import { VERSION } from '../util/version.ts';
import { type Command, UsageError } from './command.ts';
import { COMMANDS } from './commands.ts';

export const command: Command = {
  usage: 'help [command | config]',
  description: 'Shows all commands, one command, or (help config) every setting with its default.',
  async run([topic, ...rest], { out }) {
    if (rest.length > 0) throw new UsageError('help takes one command');
    if (topic === undefined) out(overview());
    else if (topic === 'config') out((await import('./help-config.ts')).configHelp());
    else if (Object.hasOwn(COMMANDS, topic)) out(commandHelp((await COMMANDS[topic]!.load()).command));
    else
      throw new UsageError(`there is no help for ${topic}${didYouMean(topic, [...Object.keys(COMMANDS), 'config'])}`);
    return 0;
  },
};

/** Returns rows as two columns, the second one aligned. */
export function columns(rows: readonly (readonly [string, string])[], indent = '  '): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `${indent}${left.padEnd(width)}  ${right}`.trimEnd()).join('\n');
}

function overview(): string {
  const rows = Object.entries(COMMANDS).map(([name, { summary }]) => [name, summary] as const);
  return `obverse ${VERSION}: a full node for Bitcoin-family chains with address index, REST, JSON-RPC and WebSocket

Usage: obverse <command> [options]

Commands:
${columns(rows)}

Common options:
${columns(COMMON_OPTIONS)}

obverse help <command> describes a command; obverse help config lists every setting.
`;
}

function commandHelp({ usage, description, options, examples }: Command): string {
  let text = `Usage: obverse ${usage}\n\n${description}\n`;
  if (options) text += `\nOptions:\n${columns(options)}\n`;
  if (examples) text += `\nExamples:\n${examples.map((line) => `  ${line}`).join('\n')}\n`;
  return text;
}

/** The options that nearly every command accepts. */
export const COMMON_OPTIONS = [
  ['--network NAME', 'main, testnet4, signet or regtest (default main)'],
  ['--datadir PATH', 'data directory (default $XDG_DATA_HOME/obverse, else ~/.local/share/obverse)'],
  ['--config FILE', 'TOML file with settings'],
  ['--KEY=VALUE', 'any setting, as --http.listen=127.0.0.1:8332'],
] as const;
