import { isMessageType } from '../messages/messages.ts';
import type { Traffic } from './peer-link.ts';

/** Where bytes of unknown types are counted, so that a peer cannot make the list long. In Core's spelling. */
export const OTHER_MESSAGES = '*other*';

export function newTraffic(): Traffic {
  return {
    sent: 0,
    received: 0,
    sentByType: new Map(),
    receivedByType: new Map(),
    lastSentAt: 0,
    lastReceivedAt: 0,
  };
}

/** Adds bytes of a type to a counter. */
export function countBytes(counter: Map<string, number>, type: string, bytes: number): void {
  const name = isMessageType(type) ? type : OTHER_MESSAGES;
  counter.set(name, (counter.get(name) ?? 0) + bytes);
}
