import { isMessageType } from '../messages/messages.ts';
import type { Traffic } from './peer-link.ts';

/** Type under which bytes of unknown message types are counted, so that the list stays bounded. Spelled as in Core. */
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

export function countBytes(counter: Map<string, number>, type: string, bytes: number): void {
  const name = isMessageType(type) ? type : OTHER_MESSAGES;
  counter.set(name, (counter.get(name) ?? 0) + bytes);
}
