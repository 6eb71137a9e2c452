import { closeSync, mkdtempSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLibc } from '../util/libc.ts';

const MFD_CLOEXEC = 1;
const MFD_ALLOW_SEALING = 2;
const F_ADD_SEALS = 1033;
/** Forbids further seals, changes of the size and writes. */
const ALL_SEALS = 0b1111;
const STICKY = 0o1000;
const WRITABLE_BY_OTHERS = 0o022;

/** Loads a file. It must not keep the path: the file is gone after it returns. */
type Load<T> = (path: string) => T;

/**
 * Loads from a sealed file in memory. It needs no directory that another user could have prepared, and leaves nothing
 * behind. Linux only; null if the system does not support it. Throws the error of `load`.
 */
export function withMemoryFile<T>(bytes: Uint8Array, load: Load<T>): { readonly loaded: T } | null {
  const libc = openLibc({
    memfd_create: { args: ['ptr', 'u32'], returns: 'i32' },
    fcntl: { args: ['i32', 'i32', 'i32'], returns: 'i32' },
  });
  if (libc === null) return null;
  const fd = libc.memfd_create(Buffer.from('secp256k1\0'), MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return null;
  try {
    for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done);
    if (libc.fcntl(fd, F_ADD_SEALS, ALL_SEALS) !== 0) return null;
    return { loaded: load(`/proc/self/fd/${fd}`) };
  } finally {
    closeSync(fd);
  }
}

/**
 * Loads from a file in a new directory that only this user can enter. Null if other users could rename entries of the
 * directory of temporary files. Throws the error of `load`.
 */
export function withPrivateDirectory<T>(
  bytes: Uint8Array,
  load: Load<T>,
  parent = tmpdir(),
): { readonly loaded: T } | null {
  const { mode } = statSync(parent);
  if ((mode & WRITABLE_BY_OTHERS) !== 0 && (mode & STICKY) === 0) return null;
  const directory = mkdtempSync(join(parent, 'obverse-'));
  try {
    const path = join(directory, 'secp256k1.node');
    writeFileSync(path, bytes, { mode: 0o500, flag: 'wx' });
    return { loaded: load(path) };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
