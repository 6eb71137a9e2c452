import { didYouMean } from '../util/suggest.ts';
import { type Command, type CommandTable, UsageError } from './command.ts';

/** The command that prints completion scripts for all `commands`. */
export const completionCommand = (commands: CommandTable): Command => ({
  usage: 'completion bash|zsh|fish',
  description: `Prints the completion script of a shell. It knows all commands, flags, settings with their values, and the
methods of JSON-RPC.`,
  examples: [
    'obverse completion bash > /etc/bash_completion.d/obverse',
    'obverse completion fish > ~/.config/fish/completions/obverse.fish',
  ],
  async run([name = '', ...rest], { out }) {
    const { completionScript, SHELLS } = await import('./completion-scripts.ts');
    const shell = SHELLS.find((each) => each === name);
    if (shell === undefined || rest.length > 0)
      throw new UsageError(`completion takes one of ${SHELLS.join(', ')}${didYouMean(name, SHELLS)}`);
    const { commandFacts, settingFlags } = await import('./command-facts.ts');
    const { RPC_METHODS } = await import('../rpc/methods/methods.ts');
    const methods = [...RPC_METHODS.values()].filter(({ hidden, removed }) => !hidden && !removed);
    out(
      completionScript(shell, {
        commands: await commandFacts(commands),
        settings: settingFlags(),
        methods: methods.map((method) => method.name).sort(),
      }),
    );
    return 0;
  },
});
