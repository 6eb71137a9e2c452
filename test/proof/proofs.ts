import { deposits } from './deposits.ts';
import { passwordGuesses } from './password-guesses.ts';
import type { Proofs } from './proof.ts';

/** All proofs by name, in alphabetical order. */
export const PROOFS: Proofs = {
  deposits,
  'password-guesses': passwordGuesses,
};
