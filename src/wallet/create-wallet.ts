import { closeSync, constants, copyFileSync, fsyncSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { withDescriptors } from '../util/descriptors.ts';
import { syncDirectory } from '../util/sync-directory.ts';
import { publishFile } from './publish-file.ts';
import { addSignerDescriptors, type SignerDescriptor } from './signer/signer-descriptors.ts';
import { Wallet } from './wallet.ts';
import { walletFail } from './wallet-error.ts';
import { PART_SUFFIX, removeDatabase } from './wallet-files.ts';
import type { NewWallet, WalletDeps } from './wallet-options.ts';

/**
 * Creates the file of a wallet with unencrypted keys, or without keys and with the descriptors of an external signer, and
 * opens it. Throws where the file exists.
 */
export function createWallet(
  path: string,
  name: string,
  options: Omit<NewWallet, 'passphrase'>,
  deps: WalletDeps,
  signers: readonly SignerDescriptor[] = [],
): Wallet {
  const created = startPart(path, name, options, deps);
  try {
    created.createDefaultDescriptors();
    addSignerDescriptors(created, signers);
    return complete(created, path, deps);
  } catch (error) {
    discard(created);
    throw error;
  }
}

/**
 * Creates the file of a wallet whose keys are sealed with a passphrase and opens it locked. Throws where the file
 * exists.
 */
export async function createSealedWallet(
  path: string,
  name: string,
  options: NewWallet,
  deps: WalletDeps,
): Promise<Wallet> {
  const created = startPart(path, name, options, deps);
  try {
    await created.encrypt(options.passphrase, options.caller);
    return complete(created, path, deps);
  } catch (error) {
    discard(created);
    throw error;
  }
}

/** The file has a temporary name until it is complete, so that a crash leaves no wallet without its keys. */
function startPart(path: string, name: string, options: Omit<NewWallet, 'passphrase'>, deps: WalletDeps): Wallet {
  return Wallet.create(partOf(path), name, options, deps);
}

function complete(created: Wallet, path: string, deps: WalletDeps): Wallet {
  const { path: source } = created.store;
  created.close();
  const { size } = statSync(`${source}-wal`, { throwIfNoEntry: false }) ?? { size: 0 };
  if (size > 0) throw new Error(`the log of ${source} could not be written into it`);
  // Copied, not renamed: SQLite may keep the file open until its statements are collected, and would use its index for
  // both names.
  const part = partOf(path);
  try {
    copyDurably(source, part);
    if (!publishFile(part, path)) walletFail('wallet', 'Wallet file verification failed. Database already exists.');
  } catch (error) {
    removeDatabase(part);
    throw error;
  }
  removeDatabase(source);
  syncDirectory(dirname(path));
  const wallet = Wallet.open(path, created.name, deps);
  // This process has just written every row of it.
  wallet.integrity.trust();
  return wallet;
}

function partOf(path: string): string {
  return `${path}.${crypto.randomUUID()}${PART_SUFFIX}`;
}

function copyDurably(from: string, to: string): void {
  withDescriptors(() => copyFileSync(from, to, constants.COPYFILE_EXCL));
  const file = withDescriptors(() => openSync(to, 'r+'));
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function discard(created: Wallet): void {
  created.close();
  removeDatabase(created.store.path);
}
