/** Pause after the first failure, milliseconds. */
const FIRST_PAUSE_MS = 1000;
/** The pause doubles with each failure; more doublings than this are beyond every maximum. */
const MAX_DOUBLINGS = 20;

/**
 * Returns the pause before the next attempt, milliseconds. It doubles with each failure up to `maxMs`, and is a random
 * part of that between a half and the whole, so that hooks of one receiver do not retry at the same moment. `chance` is
 * from 0 to 1.
 */
export function retryPauseMs(failures: number, maxMs: number, chance: number): number {
  const whole = Math.min(maxMs, FIRST_PAUSE_MS * 2 ** Math.min(failures - 1, MAX_DOUBLINGS));
  return Math.round(whole * (0.5 + chance / 2));
}
