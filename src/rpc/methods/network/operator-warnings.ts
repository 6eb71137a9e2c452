import type { NodeStatus } from '../../../port/node-port.ts';

/** Returns the warnings of the node and of its wallets. Callers without a key must not see them. */
export function operatorWarnings({ warnings, wallets = [] }: Pick<NodeStatus, 'warnings' | 'wallets'>): string[] {
  return [...warnings, ...wallets.flatMap(({ name, warnings }) => warnings.map((text) => `Wallet "${name}": ${text}`))];
}
