import { isExecutable } from '../util/executable.ts';
import type { CommandContext } from './command.ts';
import { dispatch } from './dispatch.ts';
import { refusedVariables } from './runtime-variables.ts';

/** Runs a command, and prints why it fails. Returns the exit status: 0 done, 1 failed, 2 the command line or the configuration is wrong. */
export async function runCommandLine(args: readonly string[], context: CommandContext): Promise<number> {
  const { err } = context;
  const refused = isExecutable() ? refusedVariables(process.env) : [];
  if (refused.length > 0) {
    err(`obverse: ${refused.join(', ')} would make this executable run other code; remove it from the environment\n`);
    return 2;
  }
  try {
    return await dispatch(args, context);
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
