import { join } from 'node:path';
import { openWriter } from '../../src/storage/chain-database.ts';
import { chainDataMoves } from '../../src/storage/chain-folder.ts';
import { closeDatabase } from '../../src/storage/database.ts';

// Opens chain.db in the folder given as the first argument, for the chain with the genesis block given as the second,
// which moves data of the old layout and converts a database of an earlier version. Ends itself with SIGKILL at the step
// given as the third argument; otherwise prints the number of steps.
const [chainDir, genesisHash, end] = process.argv.slice(2);
let steps = 0;
const step = () => {
  if (++steps === Number(end)) process.kill(process.pid, 'SIGKILL');
};

step();
for (const _ of chainDataMoves(chainDir!)) step();
const isStopping = () => {
  step();
  return false;
};
closeDatabase(
  openWriter(join(chainDir!, 'chain.db'), { network: 'regtest', genesisHash: genesisHash! }, 16, { isStopping }),
);
step();
console.log(steps);
