import { dlopen, type FFIFunction } from 'bun:ffi';

// glibc first, then musl under the names that its distributions use.
const NAMES = ['libc.so.6', 'libc.so', 'libc.musl-x86_64.so.1', 'libc.musl-aarch64.so.1'];

/** Opens the named functions of the C library; null if no library of a known name exists. Linux only. */
export function openLibc<const F extends Record<string, FFIFunction>>(functions: F) {
  if (process.platform !== 'linux') return null;
  for (const name of NAMES) {
    try {
      return dlopen(name, functions).symbols;
    } catch {
      // Try the next name.
    }
  }
  return null;
}
