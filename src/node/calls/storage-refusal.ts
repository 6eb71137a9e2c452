import type { Chain } from '../../chain/chain.ts';
import type { Refusal } from '../../port/refusal.ts';
import { diskProblem } from '../../util/disk-problem.ts';

/**
 * Resolves with the result of `work`, which submits blocks, or with a refusal that names the reason where the disk is full or
 * fails. `text` begins its message.
 */
export async function orDiskRefusal<T>(
  chain: Pick<Chain, 'stopped'>,
  text: string,
  work: () => Promise<T>,
): Promise<T | Refusal> {
  try {
    return await work();
  } catch (error) {
    // After the first failure the chain refuses all blocks.
    const problem = diskProblem(error) ?? diskProblem(chain.stopped);
    if (problem === null) throw error;
    return { refused: 'internal', message: `${text}: ${problem}` };
  }
}
