import { VerifyPool } from '../../../src/node/verify/verify-pool.ts';

/**
 * Closes verify workers at many moments of their start. It is a program of its own, because a failure ends the process.
 */
const FIRST_MS = 35;
const LAST_MS = 75;
/** The four threads of a pool are at different moments of their start anyway. */
const STEP_MS = 4;

for (let ms = FIRST_MS; ms <= LAST_MS; ms += STEP_MS) {
  const pool = new VerifyPool(4, {
    onError(error) {
      throw error;
    },
  });
  pool.start();
  await Bun.sleep(ms);
  await pool.close();
}
console.log('closed');
process.exit(0);
