import type { NodeStatus } from '../../../port/node-port.ts';

/** What the operator should know of the node and of its wallets; not for those who come without a key. */
export function operatorWarnings({ warnings, wallets = [] }: Pick<NodeStatus, 'warnings' | 'wallets'>): string[] {
  return [...warnings, ...wallets.flatMap(({ name, warnings }) => warnings.map((text) => `Wallet "${name}": ${text}`))];
}
