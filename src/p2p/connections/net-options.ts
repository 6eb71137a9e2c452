import type { NetworkParams } from '../../params/network-params.ts';
import type { BanStore } from '../../storage/ban-store.ts';
import type { PeerStore } from '../../storage/peer-store.ts';
import type { Log } from '../../util/log.ts';
import type { RandomBelow } from '../../util/random.ts';
import type { Asmap } from '../address/asmap.ts';
import type { NetService } from '../address/net-address.ts';
import type { Dial, DialTarget, Lookup } from './dial.ts';
import type { CaptureOptions } from './message-capture.ts';
import type { RouteOptions } from './network-routes.ts';
import type { PermissionRule } from './permissions.ts';
import type { Timing } from './timing.ts';

const FULL_RELAY = 8;
const BLOCK_RELAY = 2;
const FEELERS = 1;
/** Number of connections to added nodes. */
export const MANUAL_SLOTS = 8;

/** Maximum number of connections by kind. */
export interface Slots {
  readonly maxAutomatic: number;
  readonly fullRelay: number;
  readonly blockRelay: number;
  /** Automatic outbound connections, including short-lived ones. */
  readonly automatic: number;
  readonly inbound: number;
}

/** Divides -maxconnections as Core does: outbound connections first, the rest for inbound ones. */
export function connectionSlots(maxConnections: number): Slots {
  const fullRelay = Math.min(FULL_RELAY, maxConnections);
  const blockRelay = Math.min(BLOCK_RELAY, maxConnections - fullRelay);
  const outbound = fullRelay + blockRelay + FEELERS;
  return {
    maxAutomatic: maxConnections,
    fullRelay,
    blockRelay,
    automatic: Math.min(outbound, maxConnections),
    inbound: Math.max(0, maxConnections - outbound),
  };
}

/** An address that listens for peers. */
export interface ListenTarget extends DialTarget {
  /** Whether Tor forwards the connections of an onion service to it. */
  readonly isOnion?: boolean;
}

/** An onion service that Tor makes for this node. */
interface OnionServiceSettings {
  /** Tor's control port. */
  readonly control: DialTarget;
  readonly password: string | null;
  /** File of the service's private key. */
  readonly keyFile: string;
}

/** Configuration of the connections. */
export interface NetOptions extends RouteOptions {
  readonly params: Pick<NetworkParams, 'name' | 'magic' | 'dnsSeeds' | 'ports'>;
  /** Whether network activity is enabled at the start. */
  readonly networkActive: boolean;
  /** Without any, inbound connections are disabled. */
  readonly listen: readonly ListenTarget[];
  /** Null for none. Peers of the service come to the first of the listeners for onion services. */
  readonly onionService: OnionServiceSettings | null;
  /** File of the key of the lasting address on I2P, at which peers are accepted; null to accept none. */
  readonly i2pKeyFile: string | null;
  /** Maximum number of automatic connections in both directions. Manual ones are additional, as in Core. */
  readonly maxConnections: number;
  /** Whether to look for peers where `connect` is empty. */
  readonly autoConnect: boolean;
  /** If not empty, only these peers are connected to: `host` or `host:port`. */
  readonly connect: readonly string[];
  readonly v2: boolean;
  readonly permissions: readonly PermissionRule[];
  /** Nodes that are requested for addresses while there are too few peers: `host` or `host:port`. */
  readonly seedNodes: readonly string[];
  readonly dnsSeeds: boolean;
  /** Whether all DNS seeds are queried at the start, whatever is known. */
  readonly forceDnsSeeds: boolean;
  readonly fixedSeeds: boolean;
  /** Upload target in MiB per day; 0 for no limit. */
  readonly maxUpload: number;
  readonly externalAddresses: readonly NetService[];
  /** Whether to discover our own addresses. */
  readonly discover: boolean;
  /** Share of the inbound slots for peers that want transactions, which cost the most. Core's -inboundrelaypercent. */
  readonly inboundRelayPercent: number;
  /** Time limit for the first bytes and the handshakes, seconds. Core's -peertimeout. */
  readonly peerTimeout: number;
  /** Whether transactions of clients are broadcast privately. */
  readonly privateBroadcast: boolean;
  /** Where messages of peers are captured; null for nowhere. */
  readonly capture: CaptureOptions | null;
  /** Default duration of a ban, seconds. */
  readonly banTime: number;
  /** Map of autonomous systems, by which addresses are grouped; null to group them by prefix. */
  readonly asmap: Asmap | null;
  /** The tables of addresses are checked in one of this many operations; 0 for never. */
  readonly checkAddresses: number;
}

/** External dependencies of the connections, replaceable in tests. */
export interface NetDependencies {
  readonly peerStore: PeerStore;
  readonly banStore: BanStore;
  readonly log: Log;
  readonly timing?: Timing;
  readonly random?: RandomBelow;
  readonly dial?: Dial;
  readonly lookup?: Lookup;
  /** Returns the numeric addresses of this machine. */
  readonly interfaces?: () => readonly string[];
  /** Returns whether a node with these services is suitable for an automatic connection. */
  readonly isDesirable?: (services: bigint) => boolean;
}
