import { join } from 'node:path';
import { openWriter } from '../../src/storage/chain-database.ts';
import { chainDataMoves } from '../../src/storage/chain-folder.ts';
import { closeDatabase } from '../../src/storage/database.ts';

/**
 * Opens chain.db in a folder, for the chain of regtest with this genesis block, which moves data of the old layout and
 * converts a database of an earlier version. Calls `onStep` with the number of each step. Returns the number of steps.
 */
export function openChain(chainDir: string, genesisHash: string, onStep: (step: number) => void): number {
  let steps = 0;
  const step = () => onStep(++steps);
  step();
  for (const _ of chainDataMoves(chainDir)) step();
  const isStopping = () => {
    step();
    return false;
  };
  closeDatabase(openWriter(join(chainDir, 'chain.db'), { network: 'regtest', genesisHash }, 16, { isStopping }));
  step();
  return steps;
}

/** Ends the process at the step given as the third argument, without any notice to it. */
if (import.meta.main) {
  const [chainDir, genesisHash, end] = process.argv.slice(2);
  openChain(chainDir!, genesisHash!, (step) => {
    if (step === Number(end)) process.kill(process.pid, 'SIGKILL');
  });
}
