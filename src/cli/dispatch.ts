import { didYouMean } from '../util/suggest.ts';
import { type CommandContext, UsageError } from './command.ts';
import { COMMANDS } from './commands.ts';

/** Runs the command that an argument list names and returns its exit status. */
export async function dispatch(args: readonly string[], context: CommandContext): Promise<number> {
  const [first = 'help', ...rest] = args;
  const name =
    first === '--version' || first === '-v' ? 'version' : first === '--help' || first === '-h' ? 'help' : first;
  if (!Object.hasOwn(COMMANDS, name)) {
    if (name.startsWith('-')) throw new UsageError(`a command comes before its flags: obverse start ${name}`);
    throw new UsageError(`unknown command ${name}${didYouMean(name, Object.keys(COMMANDS))}`);
  }
  if (name !== 'help' && rest.some((arg) => arg === '--help' || arg === '-h')) {
    const { command } = await COMMANDS.help!.load();
    return command.run([name], context);
  }
  const { command } = await COMMANDS[name]!.load();
  return command.run(rest, context);
}
