import { COMMIT, VERSION } from '../util/build-version.ts';
import type { Command } from './command.ts';

export const command: Command = {
  usage: 'version',
  description: 'Shows the version, the commit it was built from, and the runtime.',
  async run(_args, { out }) {
    out(`obverse ${VERSION} (${COMMIT ? `commit ${COMMIT}, ` : ''}Bun ${Bun.version})\n`);
    return 0;
  },
};
