import { limitKey } from '../util/ip-address.ts';
import type { Call } from './call.ts';

/** The party that work and replies are counted for: a credential, or an address without one. */
export type Owner = string;

/** The owner of the node's own work. */
export const NODE: Owner = 'node';

export function ownerOf({ principal, ip }: Pick<Call, 'principal' | 'ip'>): Owner {
  return principal.kind === 'anonymous' ? `ip ${limitKey(ip)}` : `key ${principal.id}`;
}
