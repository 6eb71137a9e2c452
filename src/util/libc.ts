import { dlopen, type FFIFunction } from 'bun:ffi';

// glibc first, then musl under the names its distributions give it.
const NAMES = ['libc.so.6', 'libc.so', 'libc.musl-x86_64.so.1', 'libc.musl-aarch64.so.1'];

/** The named functions of the C library, or null where there is none of a known name. Linux only. */
export function openLibc<const F extends Record<string, FFIFunction>>(functions: F) {
  if (process.platform !== 'linux') return null;
  for (const name of NAMES) {
    try {
      return dlopen(name, functions).symbols;
    } catch {
      // The next name may be there.
    }
  }
  return null;
}
