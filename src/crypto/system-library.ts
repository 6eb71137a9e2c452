import { dlopen, type FFIFunction, type Pointer, ptr } from 'bun:ffi';
import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { assert } from '../util/assert.ts';
import { secretBytes } from '../util/secret-bytes.ts';
import { randomSecretBytes } from './random-secret.ts';

/**
 * ABI versions of libsecp256k1, newest first: releases 0.8, 0.7, 0.6, 0.3 to 0.5, and 0.2. The functions below have the
 * same declarations in all of them. Version 0 is older than the first release, and its Schnorr functions differ.
 */
export const ABI_VERSIONS = [7, 6, 5, 2, 1];

/** Folders of a distribution and of its administrator, by the processor. No others, whatever the environment names. */
const FOLDERS: Readonly<Record<string, readonly string[]>> = {
  x64: ['/usr/lib/x86_64-linux-gnu', '/usr/lib64', '/usr/lib', '/usr/local/lib'],
  arm64: ['/usr/lib/aarch64-linux-gnu', '/usr/lib64', '/usr/lib', '/usr/local/lib'],
};

const CONTEXT_NONE = 1;

/** A function that returns a C int: 1 is success. */
function call(...args: readonly ('ptr' | 'u64' | 'u32' | 'i32')[]) {
  return { args, returns: 'i32' } as const;
}

const FUNCTIONS = {
  secp256k1_context_create: { args: ['u32'], returns: 'ptr' },
  secp256k1_context_randomize: call('ptr', 'ptr'),
  secp256k1_ec_pubkey_parse: call('ptr', 'ptr', 'ptr', 'u64'),
  secp256k1_ec_pubkey_serialize: call('ptr', 'ptr', 'ptr', 'ptr', 'u32'),
  secp256k1_ec_pubkey_create: call('ptr', 'ptr', 'ptr'),
  secp256k1_ec_pubkey_tweak_add: call('ptr', 'ptr', 'ptr'),
  secp256k1_ec_seckey_negate: call('ptr', 'ptr'),
  secp256k1_ec_seckey_tweak_add: call('ptr', 'ptr', 'ptr'),
  secp256k1_ec_seckey_tweak_mul: call('ptr', 'ptr', 'ptr'),
  secp256k1_ecdsa_signature_parse_compact: call('ptr', 'ptr', 'ptr'),
  secp256k1_ecdsa_signature_normalize: call('ptr', 'ptr', 'ptr'),
  secp256k1_ecdsa_verify: call('ptr', 'ptr', 'ptr', 'ptr'),
  secp256k1_ecdsa_sign_recoverable: call('ptr', 'ptr', 'ptr', 'ptr', 'ptr', 'ptr'),
  secp256k1_ecdsa_recoverable_signature_serialize_compact: call('ptr', 'ptr', 'ptr', 'ptr'),
  secp256k1_ecdsa_recoverable_signature_parse_compact: call('ptr', 'ptr', 'ptr', 'i32'),
  secp256k1_ecdsa_recover: call('ptr', 'ptr', 'ptr', 'ptr'),
  secp256k1_xonly_pubkey_parse: call('ptr', 'ptr', 'ptr'),
  secp256k1_xonly_pubkey_tweak_add_check: call('ptr', 'ptr', 'i32', 'ptr', 'ptr'),
  secp256k1_schnorrsig_verify: call('ptr', 'ptr', 'ptr', 'u64', 'ptr'),
} as const satisfies Record<string, FFIFunction>;

/** An opened library with the context of this thread, which is blinded for signing. */
export interface SystemLibrary {
  readonly functions: ReturnType<typeof openFunctions>;
  readonly context: Pointer;
}

/**
 * Memory of fixed size that C functions read and write. They receive no other memory: callers' bytes are copied, with
 * their length checked, so neither a wrong length nor another thread that writes to them can affect C code.
 */
export class NativeBytes {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Never changes: the engine does not move the contents of an ArrayBuffer. */
  readonly address: Pointer;

  constructor(size: number) {
    this.bytes = secretBytes(size);
    this.address = ptr(this.bytes) as Pointer;
  }

  /** Copies bytes of exactly this size. */
  copy(bytes: Uint8Array): void {
    if (bytes.length !== this.bytes.length)
      throw new RangeError(`${bytes.length} bytes instead of ${this.bytes.length} for libsecp256k1`);
    this.bytes.set(bytes);
  }

  wipe(): void {
    this.bytes.fill(0);
  }
}

/** Returns the files of the libraries that a distribution has installed, the newest first. Linux only. */
export function systemLibraryFiles(): string[] {
  if (process.platform !== 'linux') return [];
  const folders = FOLDERS[process.arch] ?? [];
  const paths = ABI_VERSIONS.flatMap((version) => folders.map((folder) => join(folder, `libsecp256k1.so.${version}`)));
  // Two folders may be one, by a link. The name of the file itself shows the release.
  return [...new Set(paths.filter((path) => existsSync(path)).map((path) => realpathSync(path)))];
}

/**
 * Opens a library for this thread. Throws if it cannot be loaded or lacks a function: the modules recovery, extrakeys
 * and schnorrsig are optional parts of a build.
 */
export function openSystemLibrary(file: string): SystemLibrary {
  const functions = openFunctions(file);
  // Creating a context runs the library's own self-test, which ends the process if it fails.
  const context = functions.secp256k1_context_create(CONTEXT_NONE) as Pointer | null;
  assert(context !== null, 'memory for a context');
  const seed = new NativeBytes(32);
  seed.copy(randomSecretBytes(32));
  // Blinds signing and key derivation against side channels; verification does not use it.
  const blinded = functions.secp256k1_context_randomize(context, seed.address) === 1;
  seed.wipe();
  assert(blinded, 'a randomized context');
  return { functions, context };
}

/** Libraries stay open: the functions of a closed one would be unmapped memory. */
const opened: unknown[] = [];

function openFunctions(file: string) {
  const library = dlopen(file, FUNCTIONS);
  opened.push(library);
  return library.symbols;
}
