import type { Config } from '../config/settings.ts';

/** Whether this system spreads the connections of a port over several listeners, as only Linux does. */
export function canShareFronts(): boolean {
  return process.platform === 'linux';
}

/** Returns the number of fronts that the node runs, which may be fewer than the configuration says. */
export function frontCount({ workers }: Pick<Config, 'workers'>): number {
  return canShareFronts() ? workers.front : 1;
}
