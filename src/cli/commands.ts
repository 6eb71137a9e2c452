import type { CommandTable } from './command.ts';

/** Every command, in the order help shows them. */
export const COMMANDS: CommandTable = {
  start: { summary: 'run the node', load: () => import('./start-command.ts') },
  serve: { summary: 'run an API server from the database of a sink', load: () => import('./serve-command.ts') },
  import: { summary: 'import block files, then stop', load: () => import('./import-command.ts') },
  reindex: {
    summary: 'build database and indexes again from the block files, then stop',
    load: () => import('./reindex-command.ts'),
  },
  verify: {
    summary: 'check the data of a stopped node, or a backup, for damage',
    load: () => import('./verify-command.ts'),
  },
  call: { summary: 'call a JSON-RPC method of the running node', load: () => import('./call-command.ts') },
  settings: {
    summary: 'check the settings, and show where each is given',
    load: () => import('./settings-command.ts'),
  },
  status: { summary: 'show the state of the running node', load: () => import('./status-command.ts') },
  stop: { summary: 'stop the running node and wait for its end', load: () => import('./stop-command.ts') },
  backup: {
    summary: 'write a backup of wallets, keys, watches and settings, and of the chain',
    load: () => import('./backup-command.ts'),
  },
  restore: {
    summary: 'restore a backup into an empty data directory',
    load: () => import('./restore-command.ts'),
  },
  snapshot: {
    summary: 'move the chain to object storage, and from there to a new node',
    load: () => import('./snapshot-command.ts'),
  },
  export: {
    summary: 'write blocks, coins or histories to a CSV or Parquet file',
    load: () => import('./export-command.ts'),
  },
  logs: { summary: 'show the log of the node by level and category', load: () => import('./logs-command.ts') },
  probe: { summary: 'check whether a running node is live or ready', load: () => import('./probe-command.ts') },
  login: { summary: 'print a code with which a browser logs in', load: () => import('./login-command.ts') },
  key: { summary: 'create, list, restrict, rotate and revoke API keys', load: () => import('./key-command.ts') },
  audit: { summary: 'show and verify the audit log', load: () => import('./audit-command.ts') },
  dev: {
    summary: 'simulate reorgs, double spends and floods in developer mode',
    load: () => import('./dev-command.ts'),
  },
  'forget-wallet': { summary: 'accept that a wallet file is lost', load: () => import('./forget-wallet-command.ts') },
  help: { summary: 'show this text, a command, or every setting', load: loadHelp },
  completion: { summary: 'print the completion script of a shell', load: loadCompletion },
  man: { summary: 'print or install the manual pages', load: loadMan },
  version: { summary: 'show the version', load: () => import('./version-command.ts') },
};

async function loadHelp() {
  const { helpCommand } = await import('./help-command.ts');
  return { command: helpCommand(COMMANDS) };
}

async function loadCompletion() {
  const { completionCommand } = await import('./completion-command.ts');
  return { command: completionCommand(COMMANDS) };
}

async function loadMan() {
  const { manCommand } = await import('./man-command.ts');
  return { command: manCommand(COMMANDS) };
}
