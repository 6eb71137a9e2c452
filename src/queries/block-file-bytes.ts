import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../util/clock.ts';

/** Age at which a sum is made again, milliseconds. */
const AGE_MS = 5_000;

const sums = new Map<string, { at: number; bytes: Promise<number> }>();

/** Returns the bytes of the block and undo files in the folder of a chain, at most five seconds old. */
export function blockFileBytes(chainDir: string): Promise<number> {
  const now = systemClock.monotonicMs();
  const known = sums.get(chainDir);
  if (known && now - known.at < AGE_MS) return known.bytes;
  const bytes = sumFiles(join(chainDir, 'blocks'));
  sums.set(chainDir, { at: now, bytes });
  return bytes;
}

async function sumFiles(dir: string): Promise<number> {
  let total = 0;
  for (const name of await readdir(dir).catch(() => []))
    total += (await stat(join(dir, name)).catch(() => null))?.size ?? 0;
  return total;
}
