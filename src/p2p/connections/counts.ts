import type { NetworkClass } from '../address/net-group.ts';
import type { ConnectionTable } from './connection-table.ts';
import type { ConnectionType } from './peer-link.ts';

export interface ConnectionCounts {
  readonly inbound: number;
  readonly outbound: number;
  readonly byType: ReadonlyMap<ConnectionType, number>;
  readonly byNetwork: ReadonlyMap<NetworkClass, number>;
}

export function countsOf(table: ConnectionTable): ConnectionCounts {
  const byType = new Map<ConnectionType, number>();
  const byNetwork = new Map<NetworkClass, number>();
  const links = table.all();
  for (const { type, network } of links) {
    byType.set(type, (byType.get(type) ?? 0) + 1);
    byNetwork.set(network, (byNetwork.get(network) ?? 0) + 1);
  }
  const inbound = byType.get('inbound') ?? 0;
  return { inbound, outbound: links.length - inbound, byType, byNetwork };
}
