import type { CommandTable } from './command.ts';

/** Every command, in the order help shows them. */
export const COMMANDS: CommandTable = {
  start: { summary: 'run the node', load: () => import('./start-command.ts') },
  import: { summary: 'import block files, then stop', load: () => import('./import-command.ts') },
  reindex: {
    summary: 'build database and indexes again from the block files, then stop',
    load: () => import('./reindex-command.ts'),
  },
  verify: { summary: 'check the data of a stopped node for damage', load: () => import('./verify-command.ts') },
  probe: { summary: 'check whether a running node is live or ready', load: () => import('./probe-command.ts') },
  key: { summary: 'create, list, restrict, rotate and revoke API keys', load: () => import('./key-command.ts') },
  audit: { summary: 'show and verify the audit log', load: () => import('./audit-command.ts') },
  dev: {
    summary: 'simulate reorgs, double spends and floods in developer mode',
    load: () => import('./dev-command.ts'),
  },
  'forget-wallet': { summary: 'accept that a wallet file is lost', load: () => import('./forget-wallet-command.ts') },
  help: { summary: 'show this text, a command, or every setting', load: loadHelp },
  version: { summary: 'show the version', load: () => import('./version-command.ts') },
};

async function loadHelp() {
  const { helpCommand } = await import('./help-command.ts');
  return { command: helpCommand(COMMANDS) };
}
