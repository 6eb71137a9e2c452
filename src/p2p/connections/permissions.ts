import type { NetAddress } from '../address/net-address.ts';
import type { Permission } from './peer-link.ts';
import { isInSubnet, parseSubnet, type Subnet } from './subnet.ts';

/** Permissions granted to peers of a subnet, by direction of the connection. */
export interface PermissionRule {
  readonly subnet: Subnet;
  readonly permissions: readonly Permission[];
  readonly inbound: boolean;
  readonly outbound: boolean;
}

/** Words of the setting with the permissions they grant, including implied ones. */
const WORDS: Readonly<Record<string, readonly Permission[]>> = {
  bloomfilter: ['bloomfilter'],
  bloom: ['bloomfilter'],
  noban: ['noban', 'download'],
  forcerelay: ['forcerelay', 'relay'],
  relay: ['relay'],
  mempool: ['mempool'],
  download: ['download'],
  addr: ['addr'],
  all: ['bloomfilter', 'noban', 'forcerelay', 'relay', 'mempool', 'download', 'addr'],
};

/** Permissions of a rule without words. */
const IMPLICIT: readonly Permission[] = ['noban', 'download', 'relay', 'mempool'];

/**
 * Parses `words@subnet`, or a subnet alone. Words are permissions, `all`, and the directions `in` and `out`; without a
 * direction the rule applies to inbound connections. Returns an error text if it is invalid.
 */
export function parsePermissionRule(text: string): PermissionRule | string {
  const separator = text.indexOf('@');
  const words =
    separator < 0
      ? []
      : text
          .slice(0, separator)
          .split(',')
          .filter((word) => word !== '');
  const permissions = new Set<Permission>(separator < 0 ? IMPLICIT : []);
  for (const word of words) {
    if (word === 'in' || word === 'out') continue;
    if (!Object.hasOwn(WORDS, word)) return `unknown permission ${word}`;
    for (const permission of WORDS[word]!) permissions.add(permission);
  }
  const outbound = words.includes('out');
  if ((outbound || words.includes('in')) && permissions.size === 0) return 'a direction but no permission';
  const subnet = parseSubnet(text.slice(separator + 1));
  if (subnet === null) return 'not an address or subnet';
  return { subnet, permissions: [...permissions], inbound: words.includes('in') || !outbound, outbound };
}

/** Returns the permissions that the rules grant to an address on inbound or on manual outbound connections. */
export function permissionsOf(
  address: NetAddress,
  direction: 'inbound' | 'outbound',
  rules: readonly PermissionRule[],
): ReadonlySet<Permission> {
  const matching = rules.filter((rule) => rule[direction] && isInSubnet(address, rule.subnet));
  return new Set(matching.flatMap(({ permissions }) => permissions));
}
