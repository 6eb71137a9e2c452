import { printService } from '../p2p/address/address-text.ts';
import type { NetGroups } from '../p2p/address/net-groups.ts';
import type { Peer } from '../p2p/peer/peer.ts';
import { SERVICES } from '../p2p/services.ts';
import type { PeerView } from '../port/peer-view.ts';
import { networkName } from './p2p-counters.ts';

/** Core's names of service bits, by bit. */
const SERVICE_NAMES: readonly (readonly [bigint, string])[] = [
  [SERVICES.network, 'NETWORK'],
  [SERVICES.bloom, 'BLOOM'],
  [SERVICES.witness, 'WITNESS'],
  [SERVICES.compactFilters, 'COMPACT_FILTERS'],
  [SERVICES.networkLimited, 'NETWORK_LIMITED'],
  [SERVICES.p2pV2, 'P2P_V2'],
];
const BITS = 64;

/** Returns `NETWORK`, `WITNESS` and so on; a bit without a name is shown as its number. */
export function serviceNames(services: bigint): string[] {
  const names: string[] = [];
  for (let bit = 0; bit < BITS; bit++) {
    const mask = 1n << BigInt(bit);
    if ((services & mask) === 0n) continue;
    names.push(SERVICE_NAMES.find(([known]) => known === mask)?.[1] ?? `UNKNOWN[2^${bit}]`);
  }
  return names;
}

/** Returns 16 hex digits. */
export function servicesHex(services: bigint): string {
  return services.toString(16).padStart(16, '0');
}

/** Rounds milliseconds to whole microseconds. */
function toMicroseconds(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}

/** Returns the public view of a peer; unknown values are zero. */
export function peerView(peer: Peer, nowMs: number, groups: NetGroups): PeerView {
  const { link, negotiated, ping, sync, tx, addr } = peer;
  const { version } = negotiated;
  const waited = ping.nonce === 0n ? null : nowMs - ping.sentAt;
  return {
    id: peer.id,
    address: link.name,
    network: networkName(link.network),
    inbound: peer.inbound,
    connectionType: link.type,
    transport: link.protocol,
    services: servicesHex(peer.services),
    servicesNames: serviceNames(peer.services),
    version: version?.version ?? 0,
    userAgent: version?.userAgent ?? '',
    connectedAt: link.openedAt,
    lastSend: link.traffic.lastSentAt,
    lastRecv: link.traffic.lastReceivedAt,
    bytesSent: link.traffic.sent,
    bytesRecv: link.traffic.received,
    pingMs: ping.last && toMicroseconds(ping.last),
    minPingMs: Number.isFinite(link.standing.minPing) ? toMicroseconds(link.standing.minPing) : null,
    timeOffset: peer.timeOffset,
    startingHeight: version?.startHeight ?? -1,
    syncedHeaders: sync.bestKnown?.height ?? -1,
    syncedBlocks: sync.lastCommon?.height ?? -1,
    relayTxs: tx?.wanted ?? false,
    minFeeFilter: (tx?.feeFilter ?? 0) / 1000,
    permissions: [...link.permissions],
    details: {
      established: negotiated.established,
      addressBind: link.localService && printService(link.localService),
      addressLocal: peer.seesUsAt && peer.seesUsAt.port !== 0 ? printService(peer.seesUsAt) : null,
      sessionId: link.sessionId,
      lastTransaction: link.standing.lastTransactionAt,
      lastBlock: link.standing.lastBlockAt,
      bytesSentByType: Object.fromEntries(link.traffic.sentByType),
      bytesRecvByType: Object.fromEntries(link.traffic.receivedByType),
      pingWaitMs: waited && toMicroseconds(waited),
      presyncedHeaders: sync.presync?.phase === 'presync' ? sync.presync.height : -1,
      inFlight: sync.inFlight.map(({ entry }) => entry.height),
      lastInvSequence: tx?.mempoolSequence ?? 0,
      invToSend: tx?.queue.size ?? 0,
      compactBlocksTo: peer.sendsCompactBlocks,
      compactBlocksFrom: negotiated.wantsCompactBlocks,
      addrRelay: addr !== null,
      addrProcessed: addr?.processed ?? 0,
      addrRateLimited: addr?.rateLimited ?? 0,
      mappedAs: groups.mappedAs(link.service.address),
    },
  };
}
