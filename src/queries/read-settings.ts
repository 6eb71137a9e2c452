import type { NetworkParams } from '../params/network-params.ts';
import type { RelayOptions } from '../policy/relay-options.ts';
import type { IndexSwitches } from '../storage/index-store.ts';
import type { DeprecatedFeature } from '../util/deprecated-features.ts';

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
  /** Least feerate of the transactions of a block template, satoshis per 1,000 virtual bytes. */
  readonly blockMinFeerate: bigint;
  /** Whether the minimum relay fee rate is returned where fees cannot be estimated. */
  readonly feeFallback: boolean;
  /** Whether block filters are indexed. */
  readonly filterIndex: boolean;
  /** Pruning of block and undo files, with the target in bytes or null without one; null if it is off. */
  readonly prune: { readonly target: number | null } | null;
  /** Outdated features of JSON-RPC that are switched on. */
  readonly deprecated: readonly DeprecatedFeature[];
  /** The other indexes that are switched on. */
  readonly indexes: IndexSwitches;
  readonly wallet: {
    /** Whether unconfirmed change of a wallet's own counts as trusted. */
    readonly trustsOwn: boolean;
    /** Whether transactions signal replaceability where the caller makes no choice (BIP-125). */
    readonly replaceable: boolean;
  };
}

/** The configuration of the read side, as plain data. */
export interface ReadSources {
  readonly params: NetworkParams;
  readonly settings: ReadSettings;
}
