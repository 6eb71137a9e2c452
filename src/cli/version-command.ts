import { COMMIT, VERSION } from '../util/build-version.ts';
import type { Command } from './command.ts';

export const command: Command = {
  usage: 'version',
  description:
    'Shows the version, the commit it was built from, the runtime, and the library that verifies signatures.',
  async run(_args, { out }) {
    out(`obverse ${VERSION} (${COMMIT ? `commit ${COMMIT}, ` : ''}Bun ${Bun.version})\n`);
    const { signatureLibrary } = await import('../crypto/secp256k1.ts');
    const { engine, source, refused } = signatureLibrary();
    out(`signature library: ${source} (${engine.name})\n`);
    for (const library of refused) out(`refused: ${library.source}: ${library.reason}\n`);
    return 0;
  },
};
