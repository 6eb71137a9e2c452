import type { NetworkParams } from '../../params/network-params.ts';
import type { BanStore } from '../../storage/ban-store.ts';
import type { PeerStore } from '../../storage/peer-store.ts';
import type { Log } from '../../util/log.ts';
import type { RandomBelow } from '../../util/random.ts';
import type { NetService } from '../address/net-address.ts';
import type { Dial, Endpoint } from './dial.ts';
import type { Lookup } from './lookup.ts';
import type { PermissionRule } from './permissions.ts';
import type { RouteOptions } from './routes.ts';
import type { Timing } from './timing.ts';

/** What an operator may choose of connections. */
export interface NetOptions extends RouteOptions {
  readonly params: Pick<NetworkParams, 'name' | 'magic' | 'dnsSeeds' | 'ports'>;
  /** Null to take no connections. */
  readonly listen: Endpoint | null;
  /** Automatic connections of both directions. Manual ones come on top, as in Core. */
  readonly maxConnections: number;
  /** Where there are any, only these are dialled: `host`, or `host:port`. */
  readonly connect: readonly string[];
  readonly v2: boolean;
  readonly permissions: readonly PermissionRule[];
  readonly dnsSeeds: boolean;
  readonly fixedSeeds: boolean;
  /** MiB a day, 0 for no limit. */
  readonly maxUpload: number;
  readonly externalAddresses: readonly NetService[];
  /** Whether to find out our addresses. */
  readonly discover: boolean;
  /** Seconds. */
  readonly banTime: number;
}

/** What connections are made of; all of it can be put in place by tests. */
export interface NetDependencies {
  readonly peerStore: PeerStore;
  readonly banStore: BanStore;
  readonly log: Log;
  readonly timing?: Timing;
  readonly random?: RandomBelow;
  readonly dial?: Dial;
  readonly lookup?: Lookup;
  /** Numeric addresses of this machine. */
  readonly interfaces?: () => readonly string[];
  /** Whether a node with such services is good enough for an automatic connection. */
  readonly isDesirable?: (services: bigint) => boolean;
}
