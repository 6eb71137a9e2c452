import { backups } from './backups.ts';
import { deliveries } from './deliveries.ts';
import { fairReads } from './fair-reads.ts';
import { faults } from './faults.ts';
import { forks } from './forks.ts';
import { importKills } from './import-kills.ts';
import { nodeKills } from './node-kills.ts';
import { packages } from './packages.ts';
import { passwordGuesses } from './password-guesses.ts';
import type { Proofs } from './proof.ts';
import { signatures } from './signatures.ts';
import { sink } from './sink.ts';
import { sinkChain } from './sink-chain.ts';
import { sinkReplies } from './sink-replies.ts';

/** All proofs by name, in alphabetical order. */
export const PROOFS: Proofs = {
  backups,
  deliveries,
  'fair-reads': fairReads,
  faults,
  forks,
  'import-kills': importKills,
  'node-kills': nodeKills,
  packages,
  'password-guesses': passwordGuesses,
  signatures,
  sink,
  'sink-chain': sinkChain,
  'sink-replies': sinkReplies,
};
