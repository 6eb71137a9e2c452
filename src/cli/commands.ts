import type { CommandTable } from './command.ts';

/** Every command, in the order help shows them. */
export const COMMANDS: CommandTable = {
  start: { summary: 'run the node', load: () => import('./start.ts') },
  import: { summary: 'import block files, then stop', load: () => import('./import.ts') },
  probe: { summary: 'check whether a running node is live or ready', load: () => import('./probe.ts') },
  key: { summary: 'create, list, restrict, rotate and revoke API keys', load: () => import('./key.ts') },
  audit: { summary: 'show and verify the audit log', load: () => import('./audit.ts') },
  dev: { summary: 'simulate reorgs, double spends and floods in developer mode', load: () => import('./dev.ts') },
  'forget-wallet': { summary: 'accept that a wallet file is lost', load: () => import('./forget-wallet.ts') },
  help: { summary: 'show this text, a command, or every setting', load: loadHelp },
  version: { summary: 'show the version', load: () => import('./version.ts') },
};

async function loadHelp() {
  const { helpCommand } = await import('./help.ts');
  return { command: helpCommand(COMMANDS) };
}
