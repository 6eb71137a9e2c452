import { OperatorError } from '../util/operator-error.ts';
import { selfTestFailure } from './engine-self-test.ts';
import type { KeyOperations } from './key-operations.ts';
import { openAddon } from './secp256k1-addon.ts';
import { nobleEngine } from './secp256k1-noble.ts';
import { SystemEngine } from './secp256k1-system.ts';
import type { SignatureEngine } from './signature-engine.ts';
import { SystemKeyOperations } from './system-key-operations.ts';
import { openSystemLibrary, systemLibraryFiles } from './system-library.ts';

/** Names the only library that may be used, for tests and comparisons: `system`, `addon` or `noble`. */
const VARIABLE = 'OBVERSE_SIGNATURE_LIBRARY';

/** The library that this thread verifies and signs with. */
export interface SignatureLibrary {
  readonly engine: SignatureEngine;
  /** Null where BigInts compute on keys. */
  readonly keys: KeyOperations | null;
  /** The file or the package, for the operator. */
  readonly source: string;
  /** Libraries that were preferred and cannot be used, with the reasons. */
  readonly refused: readonly RefusedLibrary[];
}

interface RefusedLibrary {
  readonly source: string;
  readonly reason: string;
}

/** A library that may be present. */
export interface LibraryCandidate {
  readonly name: SignatureEngine['name'];
  readonly source: string;
  /** Throws if it cannot be used. */
  open(): Pick<SignatureLibrary, 'engine' | 'keys'>;
}

let chosen: SignatureLibrary | null = null;

/**
 * Returns the library of this thread, the same object at every call. Each thread chooses for itself, by the files that are
 * there when it starts. Throws OperatorError if the environment names a library that cannot be used.
 */
export function signatureLibrary(): SignatureLibrary {
  chosen ??= chooseLibrary(presentLibraries(), process.env[VARIABLE]);
  return chosen;
}

/** Returns the verification of this thread's library. */
export function signatureEngine(): SignatureEngine {
  return signatureLibrary().engine;
}

/** Returns the key operations of this thread's library; null where there are none. */
export function keyOperations(): KeyOperations | null {
  return signatureLibrary().keys;
}

/** Returns what can be tried, the fastest first. The last one always works. */
function presentLibraries(): LibraryCandidate[] {
  const system = systemLibraryFiles().map(systemLibrary);
  return [...system, ADDON, NOBLE];
}

/** A libsecp256k1 in a file. */
export function systemLibrary(file: string): LibraryCandidate {
  return {
    name: 'system',
    source: file,
    open: () => {
      const library = openSystemLibrary(file);
      return { engine: new SystemEngine(library), keys: new SystemKeyOperations(library) };
    },
  };
}

const ADDON: LibraryCandidate = {
  name: 'addon',
  source: 'npm package secp256k1',
  open: () => {
    const addon = openAddon();
    if (addon === null)
      throw new Error(
        'it cannot be loaded: it needs a supported platform, and files in memory (memfd_create) or a TMPDIR that may be executed from',
      );
    return addon;
  },
};

const NOBLE: LibraryCandidate = {
  name: 'noble',
  source: 'npm package @noble/secp256k1',
  open: () => ({ engine: nobleEngine(), keys: null }),
};

/** Opens the first candidate that loads and computes correctly. `only` excludes all others. */
export function chooseLibrary(candidates: readonly LibraryCandidate[], only?: string): SignatureLibrary {
  if (only && !candidates.some(({ name }) => name === only))
    throw new OperatorError(
      only === 'system'
        ? `${VARIABLE}: no libsecp256k1 of the system was found`
        : `${VARIABLE}: ${only} is not allowed: must be system, addon or noble`,
      { isOfSettings: true },
    );
  const refused: RefusedLibrary[] = [];
  for (const { name, source, open } of candidates) {
    if (only && name !== only) continue;
    try {
      const { engine, keys } = open();
      const failure = keys && selfTestFailure(engine, keys);
      if (!failure) return { engine, keys, source, refused };
      refused.push({ source, reason: `its self-test failed: ${failure}` });
    } catch (error) {
      // A file that was changed is no reason for another library.
      if (error instanceof OperatorError) throw error;
      refused.push({ source, reason: error instanceof Error ? error.message : String(error) });
    }
  }
  const reasons = refused.map(({ source, reason }) => `${source}: ${reason}`).join('; ');
  throw new OperatorError(`no signature library can be used: ${reasons}`);
}
