import { passwordGuesses } from './password-guesses.ts';
import type { Proofs } from './proof.ts';

/** All proofs by name, in alphabetical order. */
export const PROOFS: Proofs = {
  'password-guesses': passwordGuesses,
};
