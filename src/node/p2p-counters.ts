import type { NetworkClass } from '../p2p/address/net-group.ts';
import type { ConnectionManager } from '../p2p/connections/connection-manager.ts';
import type { Peer } from '../p2p/peer/peer.ts';
import type { P2pCounters } from '../port/node-port.ts';

/** Counters of messages by direction and type. */
const NETWORKS: readonly NetworkClass[] = ['ipv4', 'ipv6', 'onion', 'i2p', 'cjdns', 'unroutable'];

/** The name by which clients know a network. */
export function networkName(network: NetworkClass): string {
  return network === 'unroutable' ? 'not_publicly_routable' : network;
}

/** Returns counters of peers and connections. */
export function p2pCounters(
  { totals, bans }: Pick<ConnectionManager, 'totals' | 'bans'>,
  peers: Iterable<Peer>,
  rejected: ReadonlyMap<string, number>,
): P2pCounters {
  const none = () => Object.fromEntries(NETWORKS.map((network) => [networkName(network), 0]));
  const counts = { inbound: none(), outbound: none() };
  for (const { negotiated, inbound, link } of peers) {
    if (!negotiated.established) continue;
    const direction = counts[inbound ? 'inbound' : 'outbound'];
    const name = networkName(link.network);
    direction[name] = (direction[name] ?? 0) + 1;
  }
  return {
    ...counts,
    bytesSent: totals.sent,
    bytesReceived: totals.received,
    messagesSent: Object.fromEntries(totals.messages.sent),
    messagesReceived: Object.fromEntries(totals.messages.received),
    disconnects: byReason(totals.closeReasons),
    bans: bans.size,
    rejected: Object.fromEntries(rejected),
  };
}

const MESSAGE_REASONS: readonly (readonly [RegExp, string])[] = [
  [/^malformed \w+$/, 'malformed message'],
  [/^\w+ after verack$/, 'option after verack'],
  [/^\w+ without the service$/, 'requested without the service'],
];

/**
 * Reasons as labels: `words_like_these`. Details, such as which message was malformed, are dropped to bound the number
 * of labels.
 */
function byReason(counts: ReadonlyMap<string, number>): Record<string, number> {
  const labels: Record<string, number> = {};
  for (const [reason, count] of counts) {
    const kind = MESSAGE_REASONS.find(([pattern]) => pattern.test(reason))?.[1] ?? reason;
    const label = kind.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_');
    labels[label] = (labels[label] ?? 0) + count;
  }
  return labels;
}
