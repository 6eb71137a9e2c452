import type { KeyOrigin } from '../keys/key-path.ts';
import type { PrivateKey } from '../keys/private-key.ts';
import type { SigningProvider, TaprootSpendData } from '../keys/signing-data.ts';

/** Asks one provider after the other. */
export class MultiProvider implements SigningProvider {
  readonly #providers: readonly SigningProvider[];

  constructor(providers: readonly SigningProvider[]) {
    this.#providers = providers;
  }

  script(id: Uint8Array): Uint8Array | null {
    return this.#first((provider) => provider.script(id));
  }

  publicKey(id: Uint8Array): Uint8Array | null {
    return this.#first((provider) => provider.publicKey(id));
  }

  privateKey(id: Uint8Array): PrivateKey | null {
    return this.#first((provider) => provider.privateKey(id));
  }

  keyOrigin(id: Uint8Array): KeyOrigin | null {
    return this.#first((provider) => provider.keyOrigin(id));
  }

  taproot(outputKey32: Uint8Array): TaprootSpendData | null {
    return this.#first((provider) => provider.taproot(outputKey32));
  }

  #first<T>(ask: (provider: SigningProvider) => T | null): T | null {
    for (const provider of this.#providers) {
      const found = ask(provider);
      if (found !== null) return found;
    }
    return null;
  }
}

/** What may not be told of a provider. */
export interface Hidden {
  readonly privateKeys?: boolean;
  readonly origins?: boolean;
}

/** The same provider without its private keys, key origins, or both: for who only fills in what others sign. */
export function hideFrom(provider: SigningProvider, { privateKeys, origins }: Hidden): SigningProvider {
  return {
    script: (id) => provider.script(id),
    publicKey: (id) => provider.publicKey(id),
    privateKey: (id) => (privateKeys ? null : provider.privateKey(id)),
    keyOrigin: (id) => (origins ? null : provider.keyOrigin(id)),
    taproot: (outputKey32) => provider.taproot(outputKey32),
  };
}
