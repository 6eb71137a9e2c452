import { limitKey } from '../util/ip-address.ts';
import type { Call } from './call.ts';

/** The party that work and replies are counted for: a credential, or an address without one. */
export type Owner = string;

/** The owner of the node's own work. */
export const NODE: Owner = 'node';

export function ownerOf(call: Pick<Call, 'principal' | 'ip'>): Owner {
  const { principal } = call;
  const isAnonymous = principal.kind === 'anonymous';
  const of = isAnonymous ? limitKey(call.ip) : principal.id;
  if (of !== lastOwner.of || isAnonymous !== lastOwner.isAnonymous)
    lastOwner = { of, isAnonymous, owner: isAnonymous ? `ip ${of}` : `key ${of}` };
  return lastOwner.owner;
}

/** The last result of `ownerOf`: one request asks several times, and tables hash one text once. */
let lastOwner = { of: '', isAnonymous: true, owner: 'ip ' };
