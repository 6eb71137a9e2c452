import { readFileSync } from 'node:fs';
import { isExecutable } from '../util/executable.ts';
import { OperatorError } from '../util/operator-error.ts';
import { sha256 } from './hash-functions.ts';

/**
 * SHA-256 of each addon that may be loaded, by its path among the prebuilt files of the npm package `secp256k1`. After
 * a change of its version in package.json: run `npm ci`, compare the package's integrity in package-lock.json with the
 * registry's, and copy the hashes from `sha256sum node_modules/secp256k1/prebuilds/linux-x64/*` and the other
 * platforms.
 */
const PINNED: Readonly<Record<string, string>> = {
  'darwin-arm64/secp256k1.node': '9193f1e80547127dfa32e80324513d26454557dc2b3dfa8e962d6b6898e0f30d',
  'linux-x64/secp256k1.glibc.node': 'd93a107b99002110e1bfcc2c427d5cd3e3b89dce278631285557d76fd42497ad',
  'linux-x64/secp256k1.musl.node': 'd788fdbfb539b60d7e48901013d6e93df0c8a0ddc6e34b30a5221ce018ae1676',
};

/** The addons that a platform may be able to load, the likeliest first. */
const CANDIDATES: Readonly<Record<string, readonly string[]>> = {
  'darwin-arm64': ['darwin-arm64/secp256k1.node'],
  // Each of the two loads only with its C library.
  'linux-x64': ['linux-x64/secp256k1.glibc.node', 'linux-x64/secp256k1.musl.node'],
};

/**
 * Returns the installed addons for this platform. Throws OperatorError if one does not have the pinned hash: another
 * library could accept or make any signature, so there is no fallback.
 */
export function readAddons(): Uint8Array[] {
  const names = CANDIDATES[`${process.platform}-${process.arch}`] ?? [];
  return names.flatMap((name) => {
    const path = addonPath(name);
    if (path === null) return [];
    const bytes = readFileSync(path);
    checkAddon(path, bytes, PINNED[name]!);
    return [bytes];
  });
}

/** Throws OperatorError if the file does not have the pinned hash. */
function checkAddon(path: string, bytes: Uint8Array, pinned: string): void {
  const found = sha256(bytes).toHex();
  if (found !== pinned)
    throw new OperatorError(
      `the signature library ${path} was changed: its SHA-256 is ${found} instead of ${pinned}; install the program again`,
    );
}

/** Returns the path of an addon; null if it is not installed. */
function addonPath(name: string): string | null {
  if (isExecutable()) {
    const { EMBEDDED_ADDONS } = require('./embedded-addons.ts') as typeof import('./embedded-addons.ts');
    return EMBEDDED_ADDONS[name] ?? null;
  }
  try {
    return Bun.resolveSync(`secp256k1/prebuilds/${name}`, import.meta.dir);
  } catch {
    return null;
  }
}
