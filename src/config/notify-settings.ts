import { optionalString, type Setting } from './setting.ts';

const COMMAND = 'a command of a shell, or empty for none';

/** The commands that the node runs at events. */
export const NOTIFY_SETTINGS = {
  'notify.block': optionalString({
    allowed: COMMAND,
    help: 'command at each block that joins the chain after the initial sync; %s is its hash',
  }),
  'notify.wallet': optionalString({
    allowed: COMMAND,
    help: 'command at each change of a transaction of a wallet; %s txid, %w wallet, %b block hash or unconfirmed, %h height or -1',
  }),
  'notify.alert': optionalString({
    allowed: COMMAND,
    help: 'command at each new warning of the node; %s is its text',
  }),
  'notify.startup': optionalString({ allowed: COMMAND, help: 'command as soon as the node is ready' }),
  'notify.shutdown': optionalString({
    allowed: COMMAND,
    help: 'command at the beginning of the stop, which waits up to 10 s for it',
  }),
} as const satisfies Readonly<Record<string, Setting<unknown>>>;
