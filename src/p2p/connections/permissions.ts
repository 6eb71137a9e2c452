import type { NetAddress } from '../address/net-address.ts';
import type { Permission } from './peer-link.ts';
import { isInSubnet, parseSubnet, type Subnet } from './subnet.ts';

/** What peers of a subnet are allowed, and on connections of which direction. */
export interface PermissionRule {
  readonly subnet: Subnet;
  readonly permissions: readonly Permission[];
  readonly inbound: boolean;
  readonly outbound: boolean;
}

/** A word of a setting, and the permissions it stands for: some imply others. */
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

/** What a subnet alone stands for. */
const IMPLICIT: readonly Permission[] = ['noban', 'download', 'relay', 'mempool'];

/**
 * Reads `words@subnet`, or a subnet alone. Words are permissions, `all`, and the directions `in` and `out`; without a
 * direction a rule is for inbound connections. Returns what is wrong as text.
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

/** All that the rules allow an address on inbound, or on manual outbound connections. */
export function permissionsOf(
  address: NetAddress,
  direction: 'inbound' | 'outbound',
  rules: readonly PermissionRule[],
): ReadonlySet<Permission> {
  const matching = rules.filter((rule) => rule[direction] && isInSubnet(address, rule.subnet));
  return new Set(matching.flatMap(({ permissions }) => permissions));
}
