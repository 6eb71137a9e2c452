import { closeSync, fsyncSync, linkSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { OperatorError } from '../util/operator-error.ts';
import { syncDirectory } from '../util/sync-directory.ts';

const KEY_FILE = 'wallet-mac.key';
const KEY_SIZE = 32;

/** The data about encrypted wallets that a node keeps outside of their files. */
export interface NodeVoucher {
  /** Key of the MACs that this node computes over the rows of encrypted wallets. */
  readonly key: Uint8Array;
  /** Names of the encrypted wallets that this node vouches for. */
  readonly encrypted: { has(name: string): boolean; set(name: string, encrypted: boolean): void };
}

/** Reads the node's MAC key, or creates it. Throws OperatorError where its file cannot be used. */
export function openMacKey(networkDir: string): Uint8Array {
  const path = join(networkDir, KEY_FILE);
  const known = readIfThere(path);
  if (known?.length === KEY_SIZE) return known;
  if (known)
    throw new OperatorError(
      `${path} is damaged: it must hold ${KEY_SIZE} bytes. Restore it, or remove it: without it each encrypted wallet must be unlocked once before it gives addresses`,
    );
  // Linked once it is complete: a power failure leaves no partial key, and an existing key is never replaced.
  const part = `${path}.part`;
  rmSync(part, { force: true });
  writeDurably(part, crypto.getRandomValues(new Uint8Array(KEY_SIZE)));
  try {
    linkSync(part, path);
  } finally {
    rmSync(part, { force: true });
  }
  syncDirectory(dirname(path));
  return new Uint8Array(readFileSync(path));
}

function readIfThere(path: string): Uint8Array | null {
  try {
    return new Uint8Array(readFileSync(path));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new OperatorError(`${path} cannot be read: ${(error as Error).message}`);
  }
}

function writeDurably(path: string, bytes: Uint8Array): void {
  const file = openSync(path, 'wx', 0o600);
  try {
    writeSync(file, bytes);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
