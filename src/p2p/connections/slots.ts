const FULL_RELAY = 8;
const BLOCK_RELAY = 2;
const FEELERS = 1;
/** Number of connections to added nodes. */
export const MANUAL_SLOTS = 8;

/** Maximum number of connections by kind. */
export interface Slots {
  readonly maxAutomatic: number;
  readonly fullRelay: number;
  readonly blockRelay: number;
  /** Automatic outbound connections, including short-lived ones. */
  readonly automatic: number;
  readonly inbound: number;
}

/** Divides -maxconnections as Core does: outbound connections first, the rest for inbound ones. */
export function connectionSlots(maxConnections: number): Slots {
  const fullRelay = Math.min(FULL_RELAY, maxConnections);
  const blockRelay = Math.min(BLOCK_RELAY, maxConnections - fullRelay);
  const outbound = fullRelay + blockRelay + FEELERS;
  return {
    maxAutomatic: maxConnections,
    fullRelay,
    blockRelay,
    automatic: Math.min(outbound, maxConnections),
    inbound: Math.max(0, maxConnections - outbound),
  };
}
