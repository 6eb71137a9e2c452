import type { Call } from './call.ts';
import { limitKey } from './ip.ts';

/** To whom work and replies are counted: the credential, or the address where there was none. */
export type Owner = string;

/** Of work that the node does for itself. */
export const NODE: Owner = 'node';

export function ownerOf({ principal, ip }: Pick<Call, 'principal' | 'ip'>): Owner {
  return principal.kind === 'anonymous' ? `ip ${limitKey(ip)}` : `key ${principal.id}`;
}
