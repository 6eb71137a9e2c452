import type { SigningProvider } from '../keys/signing-data.ts';

/** Data that is hidden from users of a provider. */
export interface Hidden {
  readonly privateKeys?: boolean;
  readonly origins?: boolean;
}

/** Returns the provider without private keys, key origins, or both, for callers that only add what others sign with. */
export function hideFrom(provider: SigningProvider, { privateKeys, origins }: Hidden): SigningProvider {
  return {
    script: (id) => provider.script(id),
    publicKey: (id) => provider.publicKey(id),
    privateKey: (id) => (privateKeys ? null : provider.privateKey(id)),
    keyOrigin: (id) => (origins ? null : provider.keyOrigin(id)),
    taproot: (outputKey32) => provider.taproot(outputKey32),
    aggregates: provider.aggregates,
    musigNonces: provider.musigNonces,
  };
}
