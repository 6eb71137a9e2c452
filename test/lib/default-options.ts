import { loadConfig, thisHost } from '../../src/config/load.ts';
import type { Config } from '../../src/config/settings.ts';
import type { ApiOptions, ListenAddress } from '../../src/http/options.ts';
import { apiOptionsOf, readSourcesOf } from '../../src/node/api-options.ts';
import { relayOptionsOf } from '../../src/node/relay-settings.ts';
import type { NetworkParams } from '../../src/params/network-params.ts';
import type { ListingSettings, ReadSettings, ReadSources } from '../../src/queries/read-settings.ts';

/** Other values for single options, by group. */
export type ApiOverrides = {
  readonly [K in keyof ApiOptions]?: ApiOptions[K] extends readonly unknown[] | string | ListenAddress | null
    ? ApiOptions[K]
    : Partial<ApiOptions[K]>;
};

type ReadOverrides = Partial<Omit<ReadSettings, 'listing'>> & { readonly listing?: Partial<ListingSettings> };

/** Returns the settings of a network with their defaults, whatever the environment of the tests. */
export function defaultConfig(network: string): Config {
  return loadConfig([`--network=${network}`], { ...thisHost(), env: {} }).config;
}

/** The relay policy that the defaults of the settings give. */
export const DEFAULT_RELAY_OPTIONS = relayOptionsOf(defaultConfig('regtest'));

/** Returns the options of the API that the defaults of the settings give, on any free port, with `overrides` applied. */
export function defaultApiOptions(
  identity: Pick<ApiOptions, 'network' | 'networkDir' | 'chainDir'>,
  overrides: ApiOverrides = {},
): ApiOptions {
  const options = apiOptionsOf(defaultConfig(identity.network), null);
  const listen = [{ host: '127.0.0.1', port: 0 }];
  return {
    ...options,
    ...identity,
    extraCookieFiles: overrides.extraCookieFiles ?? [],
    service: overrides.service ?? options.service,
    http: { ...options.http, listen, ...overrides.http },
    auth: { ...options.auth, ...overrides.auth },
    limits: { ...options.limits, ...overrides.limits },
    pages: { ...options.pages, ...overrides.pages },
    ws: { ...options.ws, ...overrides.ws },
    webhooks: { ...options.webhooks, ...overrides.webhooks },
    opsListen: overrides.opsListen ?? options.opsListen,
    ready: { ...options.ready, ...overrides.ready },
    descriptors: { ...options.descriptors, ...overrides.descriptors },
    cache: { ...options.cache, ...overrides.cache },
    audit: { ...options.audit, ...overrides.audit },
    metrics: { ...options.metrics, ...overrides.metrics },
  };
}

/** Returns the inputs of replies that the defaults of the settings give, with `overrides` applied. */
export function defaultReadSources(params: NetworkParams, { listing, ...overrides }: ReadOverrides = {}): ReadSources {
  const { settings } = readSourcesOf(defaultConfig(params.name), params);
  return { params, settings: { ...settings, ...overrides, listing: { ...settings.listing, ...listing } } };
}
