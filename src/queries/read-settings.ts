import type { NetworkParams } from '../params/network-params.ts';
import { DEFAULT_RELAY_OPTIONS, type RelayOptions } from '../policy/relay-options.ts';
import type { IndexSwitches } from '../storage/index-store.ts';
import { VERSION } from '../util/build-version.ts';

/** The operator's facts about the coin in `GET /api/listing`. */
export interface ListingSettings {
  readonly name: string;
  readonly symbol: string;
  readonly confirmations: { readonly deposit: number; readonly depositLarge: number; readonly withdrawal: number };
  readonly license: string | null;
  readonly links: {
    readonly website: string | null;
    readonly explorer: string | null;
    readonly explorerTx: string | null;
    readonly explorerAddress: string | null;
    readonly source: string | null;
    readonly whitepaper: string | null;
    readonly support: string | null;
  };
}

/** Settings that answers depend on, as plain data for reader workers. */
export interface ReadSettings {
  readonly service: string;
  readonly version: string;
  /** User agent (BIP-14). */
  readonly userAgent: string;
  /** Without a trailing slash. */
  readonly publicUrl: string | null;
  readonly listing: ListingSettings;
  /** The relay policy for unconfirmed transactions. */
  readonly relay: RelayOptions;
  /** Whether the minimum relay fee rate is returned where fees cannot be estimated. */
  readonly feeFallback: boolean;
  /** Whether block filters are indexed. */
  readonly filterIndex: boolean;
  /** Pruning of block and undo files, with the target in bytes or null without one; null if it is off. */
  readonly prune: { readonly target: number | null } | null;
  /** The other indexes that are switched on. */
  readonly indexes: IndexSwitches;
}

/** The configuration of the read side, as plain data. */
export interface ReadSources {
  readonly params: NetworkParams;
  readonly settings: ReadSettings;
}

const DEFAULT_LISTING: ListingSettings = {
  name: 'Bitcoin',
  symbol: 'BTC',
  confirmations: { deposit: 3, depositLarge: 6, withdrawal: 1 },
  license: null,
  links: {
    website: null,
    explorer: null,
    explorerTx: null,
    explorerAddress: null,
    source: null,
    whitepaper: null,
    support: null,
  },
};

/** Returns the settings of a network, with their defaults. */
export function readSources(
  params: NetworkParams,
  { listing, ...overrides }: Partial<Omit<ReadSettings, 'listing'>> & { listing?: Partial<ListingSettings> } = {},
): ReadSources {
  const version = overrides.version ?? VERSION;
  return {
    params,
    settings: {
      service: 'obverse',
      userAgent: `/Obverse:${version}/`,
      publicUrl: null,
      relay: DEFAULT_RELAY_OPTIONS,
      feeFallback: true,
      filterIndex: false,
      prune: null,
      indexes: { tx: true, address: true, spender: false },
      ...overrides,
      version,
      listing: { ...DEFAULT_LISTING, ...listing },
    },
  };
}
