import { unixSeconds } from '../../util/clock.ts';
import { printService } from '../address/address-text.ts';
import { type NetService, UNSPECIFIED } from '../address/net-address.ts';
import { isRoutable } from '../address/ranges.ts';
import { printableAgent, type VersionMessage } from '../messages/version.ts';
import {
  COMPACT_BLOCKS,
  COMPACT_BLOCKS_VERSION,
  desirableServices,
  FEATURE_VERSION,
  MIN_PEER_VERSION,
  missingBlocks,
  PROTOCOL_VERSION,
  servesWhatWeNeed,
  WTXID_RELAY_VERSION,
} from '../p2p-protocol.ts';
import type { Peer } from './peer.ts';
import { claimTxRelaySlot, maySendTransactions, type PeerContext } from './peer-context.ts';

const NOWHERE: NetService = { address: UNSPECIFIED, port: 0 };

/** Observers of the handshake. */
export interface HandshakeEvents {
  /** The peer's `version` was accepted; only handshake messages may be sent before `verack`. */
  versionAccepted(peer: Peer): void;
  established(peer: Peer): void;
}

/** The version handshake: `version`, optional feature negotiation, and `verack`. */
export class Handshake {
  readonly #ctx: PeerContext;
  readonly #events: HandshakeEvents;

  constructor(ctx: PeerContext, events: HandshakeEvents) {
    this.#ctx = ctx;
    this.#events = events;
  }

  opened(peer: Peer): void {
    // The initiator sends its `version` first.
    if (!peer.inbound) this.#sendVersion(peer);
  }

  onVersion(peer: Peer, message: VersionMessage): void {
    const { link, negotiated } = peer;
    if (negotiated.version !== null) {
      this.#ctx.log.debug('message ignored: version was received', { peer: peer.id });
      return;
    }
    const problem = this.#problem(peer, message);
    if (problem !== null) {
      const { version, services } = message;
      const expected = desirableServices(services, this.#missingBlocks());
      link.disconnect(problem, {
        version,
        services: servicesText(services),
        expected: servicesText(expected),
        at: printService(link.service),
      });
      return;
    }
    negotiated.version = { ...message, userAgent: printableAgent(message.userAgent) };
    peer.seesUsAt = message.receiver;
    if (link.type === 'private-broadcast') {
      this.#onPrivateVersion(peer, message);
      return;
    }
    if (peer.inbound) {
      if (isRoutable(message.receiver.address)) this.#ctx.connections.sawLocal(message.receiver);
      this.#sendVersion(peer);
    } else this.#ctx.connections.addresses.setServices(link.service, message.services);
    negotiated.protocol = Math.min(message.version, PROTOCOL_VERSION);
    peer.timeOffset = Number(message.time) - unixSeconds(this.#ctx.clock);
    if (negotiated.protocol >= WTXID_RELAY_VERSION) {
      link.send('wtxidrelay', null);
      link.send('sendaddrv2', null);
    }
    this.#events.versionAccepted(peer);
    if (!claimTxRelaySlot(this.#ctx, link)) return;
    link.send('verack', null);
    if (!peer.inbound) this.#ctx.connections.addresses.good(link.service);
    // A feeler only checks that the address has a node.
    if (link.type === 'feeler') link.disconnect('feeler done');
  }

  onVerack(peer: Peer): void {
    const { link, negotiated } = peer;
    if (negotiated.established) {
      this.#ctx.log.debug('message ignored: verack was received', { peer: peer.id });
      return;
    }
    negotiated.established = true;
    link.standing.established = true;
    if (link.type === 'private-broadcast') {
      this.#events.established(peer);
      return;
    }
    const { userAgent, version, startHeight } = negotiated.version!;
    // Logged at debug level for inbound peers, since an attacker could fill the log.
    const level = peer.inbound ? 'debug' : 'info';
    this.#ctx.log[level]('peer connected', {
      peer: peer.id,
      type: link.type,
      protocol: link.protocol,
      version,
      userAgent,
      height: startHeight,
    });
    if (negotiated.protocol >= COMPACT_BLOCKS_VERSION)
      link.send('sendcmpct', { announce: false, version: COMPACT_BLOCKS });
    this.#events.established(peer);
  }

  /** The peer must relay transactions; nothing else is negotiated, and nothing is remembered of it. */
  #onPrivateVersion({ link, negotiated }: Peer, { version, relay }: VersionMessage): void {
    negotiated.protocol = Math.min(version, WTXID_RELAY_VERSION);
    if (relay) link.send('verack', null);
    else link.disconnect('peer does not relay transactions');
  }

  /** Processes a negotiation message that BIP-339 or BIP-155 requires before `verack`. */
  onNegotiation(peer: Peer, type: 'wtxidrelay' | 'sendaddrv2'): void {
    const { negotiated } = peer;
    if (negotiated.established) {
      peer.link.disconnect(`${type} after verack`);
      return;
    }
    if (type === 'sendaddrv2') negotiated.addrV2 = true;
    else if (negotiated.protocol >= WTXID_RELAY_VERSION) negotiated.wtxidRelay = true;
  }

  /** Processes an optional feature (BIP-434), of which none is known yet. */
  onFeature({ link, negotiated, id }: Peer, name: string): void {
    const { protocol, established } = negotiated;
    if (established) link.disconnect('feature after verack');
    else if (protocol < FEATURE_VERSION) link.disconnect('feature of an earlier protocol', { protocol });
    else this.#ctx.log.debug('feature ignored: it is unknown', { peer: id, name });
  }

  #problem(peer: Peer, { version, services, nonce }: VersionMessage): string | null {
    const { connections } = this.#ctx;
    const { type } = peer.link;
    const expectsServices = type === 'outbound-full-relay' || type === 'block-relay-only' || type === 'addr-fetch';
    if (expectsServices && !servesWhatWeNeed(services, this.#missingBlocks())) {
      connections.addresses.setServices(peer.link.service, services);
      return 'peer does not offer the expected services';
    }
    if (version < MIN_PEER_VERSION) return 'obsolete protocol version';
    if (peer.inbound && connections.isOwnNonce(nonce)) return 'connected to self';
    return null;
  }

  #missingBlocks(): number {
    const { chain, clock, params } = this.#ctx;
    return missingBlocks(chain.tip.time, unixSeconds(clock), params.consensus.powTargetSpacing);
  }

  #sendVersion(peer: Peer): void {
    const { link } = peer;
    if (link.type === 'private-broadcast') {
      link.send('version', anonymousVersion(this.#ctx.connections.nonceOf(link)));
      return;
    }
    const { chain, clock, connections, options } = this.#ctx;
    const receiver = isRoutable(link.service.address) ? link.service : NOWHERE;
    link.send('version', {
      version: PROTOCOL_VERSION,
      services: peer.offered(options.services),
      time: BigInt(unixSeconds(clock)),
      receiverServices: 0n,
      receiver,
      nonce: connections.nonceOf(link),
      userAgent: options.userAgent,
      startHeight: chain.height,
      relay: maySendTransactions(this.#ctx, link),
    });
  }
}

/**
 * Returns a `version` that is the same on all connections of private broadcasts, and as Core sends it there, so that they show
 * neither which node sends it nor which software.
 */
function anonymousVersion(nonce: bigint): VersionMessage {
  return {
    version: WTXID_RELAY_VERSION,
    services: 0n,
    time: 0n,
    receiverServices: 0n,
    receiver: NOWHERE,
    nonce,
    userAgent: '/pynode:0.0.1/',
    startHeight: 0,
    relay: false,
  };
}

function servicesText(services: bigint): string {
  return services.toString(16).padStart(8, '0');
}
