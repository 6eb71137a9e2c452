import type { Command } from './command.ts';

interface Row {
  readonly summary: string;
  readonly load: () => Promise<{ readonly command: Command }>;
}

/** Every command, in the order help shows them. */
export const COMMANDS: Readonly<Record<string, Row>> = {
  start: { summary: 'run the node', load: () => import('./start.ts') },
  import: { summary: 'connect the blocks of block files, then stop', load: () => import('./import.ts') },
  probe: { summary: 'ask a running node whether it is live or ready', load: () => import('./probe.ts') },
  key: { summary: 'make, list, restrict, rotate and revoke API keys', load: () => import('./key.ts') },
  audit: { summary: 'show and check the log of who did what', load: () => import('./audit.ts') },
  dev: { summary: 'play reorgs, double spends and floods in developer mode', load: () => import('./dev.ts') },
  'forget-wallet': { summary: 'accept that the file of a wallet is gone', load: () => import('./forget-wallet.ts') },
  help: { summary: 'show this text, a command, or every setting', load: () => import('./help.ts') },
  version: { summary: 'show the version', load: () => import('./version.ts') },
};
