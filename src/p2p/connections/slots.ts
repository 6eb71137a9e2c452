const FULL_RELAY = 8;
const BLOCK_RELAY = 2;
const FEELERS = 1;
/** Connections to nodes that an operator has added. */
export const MANUAL_SLOTS = 8;

/** How many connections there may be of each kind. */
export interface Slots {
  readonly maxAutomatic: number;
  readonly fullRelay: number;
  readonly blockRelay: number;
  /** All outbound ones that are not manual, those included that are for a moment. */
  readonly automatic: number;
  readonly inbound: number;
}

/** Core's division of -maxconnections: outbound first, the rest is for others. */
export function slotsOf(maxConnections: number): Slots {
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
