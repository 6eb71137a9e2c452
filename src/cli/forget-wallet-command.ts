import { loadConfig } from '../config/load.ts';
import { type Command, UsageError } from './command.ts';
import { COMMON_OPTIONS } from './help-text.ts';

export const command: Command = {
  usage: 'forget-wallet NAME… [options]',
  description: `Accepts that the files of these wallets are lost, so that the node starts without them. It removes no file and
refuses a wallet whose file exists. The node must not be running on the same data directory.`,
  options: COMMON_OPTIONS,
  examples: ['obverse forget-wallet hot', 'obverse forget-wallet --network regtest --datadir /tmp/obverse default'],
  async run(args, { out }) {
    const { config, positionals } = loadConfig(args);
    if (positionals.length === 0) throw new UsageError('forget-wallet needs the name of a wallet');
    const { forgetWallets } = await import('../node/forget-wallets.ts');
    forgetWallets(config, positionals);
    out(`forgotten: ${positionals.join(', ')}\n`);
    return 0;
  },
};
