import { VERSION } from '../util/build-version.ts';
import { didYouMean } from '../util/suggest.ts';
import { type Command, type CommandTable, UsageError } from './command.ts';
import { COMMON_OPTIONS, columns } from './help-text.ts';

/** The command that describes all `commands`. */
export const helpCommand = (commands: CommandTable): Command => ({
  usage: 'help [command | config]',
  description: 'Shows all commands, one command, or (help config) every setting with its default.',
  async run([topic, ...rest], { out }) {
    if (rest.length > 0) throw new UsageError('help takes one command');
    if (topic === undefined) out(overview(commands));
    else if (topic === 'config') out((await import('./help-config.ts')).configHelp());
    else if (Object.hasOwn(commands, topic)) out(commandHelp((await commands[topic]!.load()).command));
    else
      throw new UsageError(`there is no help for ${topic}${didYouMean(topic, [...Object.keys(commands), 'config'])}`);
    return 0;
  },
});

function overview(commands: CommandTable): string {
  const rows = Object.entries(commands).map(([name, { summary }]) => [name, summary] as const);
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
