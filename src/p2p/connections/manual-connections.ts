import type { AddedNodes } from './added-nodes.ts';
import type { ConnectionTable } from './connection-table.ts';
import type { Dialer } from './dialer.ts';
import { MANUAL_SLOTS } from './slots.ts';
import type { Timing } from './timing.ts';

const PAUSE_MS = 500;
/** Maximum factor of the pause between two attempts. */
const MAX_PAUSES = 10;
const IDLE_MS = 2000;
const RETRY_MS = 60_000;

export interface ManualParts {
  readonly dialer: Dialer;
  readonly table: ConnectionTable;
  readonly added: AddedNodes;
  readonly timing: Timing;
  readonly v2: boolean;
}

/**
 * Connects to each name of a list whenever it is not connected, with growing pauses. Rejects with the signal's reason.
 */
export async function keepConnected(
  names: readonly string[],
  { dialer, timing, v2 }: ManualParts,
  signal: AbortSignal,
): Promise<never> {
  for (let round = 0; ; round++) {
    for (const to of names) {
      await dialer.open({ type: 'manual', to, v2, countFailure: false }, signal);
      await timing.sleep(PAUSE_MS * Math.min(round, MAX_PAUSES), signal);
    }
    await timing.sleep(PAUSE_MS, signal);
  }
}

/** Connects to added nodes that are not connected, once per minute. Rejects with the signal's reason. */
export async function keepAdded({ dialer, table, added, timing }: ManualParts, signal: AbortSignal): Promise<never> {
  for (;;) {
    const states = added.states(table);
    let free = MANUAL_SLOTS - states.filter(({ connected }) => connected?.inbound === false).length;
    let tried = false;
    for (const { text, v2, connected } of states) {
      if (connected !== null || free <= 0) continue;
      tried = true;
      const link = await dialer.open({ type: 'manual', to: text, v2, countFailure: false }, signal);
      if (link !== null) free--;
      await timing.sleep(PAUSE_MS, signal);
    }
    await timing.sleep(tried ? RETRY_MS : IDLE_MS, signal);
  }
}
