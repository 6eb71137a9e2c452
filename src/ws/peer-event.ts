import type { PeerChange } from '../port/node-port.ts';

/** Returns the type and the data, as JSON, of the event about a connected or disconnected peer. */
export function peerEvent(change: PeerChange): ['peerConnected' | 'peerDisconnected', string] {
  const { kind, time, reason } = change;
  const { id, address, network, inbound, connectionType, transport, userAgent } = change.peer;
  const who = { time, id, address, network, inbound, connectionType, transport, userAgent };
  if (kind === 'connected') {
    const { version, services, servicesNames, startingHeight, timeOffset, relayTxs, permissions } = change.peer;
    const said = { version, services, servicesNames, startingHeight, timeOffset, relayTxs, permissions };
    return ['peerConnected', JSON.stringify({ ...who, ...said })];
  }
  const { connectedAt, bytesSent, bytesRecv } = change.peer;
  return ['peerDisconnected', JSON.stringify({ ...who, reason, connectedAt, bytesSent, bytesRecv })];
}
