/** Bit of the index of a hardened step (BIP-32). */
export const HARDENED = 0x8000_0000;

/** Steps from a master key, hardened ones with the HARDENED bit (as an unsigned number). */
export type KeyPath = readonly number[];

/** Origin of a key: fingerprint of the master key, and the steps from there. */
export interface KeyOrigin {
  readonly fingerprint: Uint8Array;
  readonly path: KeyPath;
}

export interface KeyPathStep {
  readonly ok: true;
  readonly child: number;
  readonly hardened: boolean;
}

/** Parses one step such as `0`, `0'` or `0h`. The error is Core's. */
export function parseKeyPathStep(text: string): KeyPathStep | { readonly ok: false; readonly error: string } {
  if (text === '') return { ok: false, error: "Key path value '' is not valid" };
  const hardened = text.endsWith("'") || text.endsWith('h');
  const digits = hardened ? text.slice(0, -1) : text;
  const index = parseUint32(digits);
  if (index === null) return { ok: false, error: `Key path value '${text}' is not a valid uint32` };
  if (index >= HARDENED) return { ok: false, error: `Key path value ${index} is out of range` };
  return { ok: true, child: hardened ? index + HARDENED : index, hardened };
}

/** Parses a decimal unsigned 32-bit number, with leading zeros allowed; null for anything else. */
export function parseUint32(digits: string): number | null {
  if (!/^\d+$/.test(digits)) return null;
  const value = Number(digits);
  return value <= 0xffff_ffff ? value : null;
}

/** Parses `m/84h/0'/0` with or without the `m`; null if a step is invalid. Core's ParseHDKeypath. */
export function parseKeyPath(text: string): KeyPath | null {
  const path: number[] = [];
  if (text === '') return path;
  const items = text.split('/');
  // Core splits with std::getline, which returns no empty item at the end.
  if (items.at(-1) === '') items.pop();
  for (const [i, item] of items.entries()) {
    if (item === 'm' && i === 0) continue;
    const step = parseKeyPathStep(item);
    if (!step.ok) return null;
    path.push(step.child);
  }
  return path;
}

/** Formats `/84h/0h/0`, with `'` instead of `h` on request; empty without steps. */
export function formatKeyPath(path: KeyPath, apostrophe = false): string {
  let text = '';
  for (const child of path) text += child >= HARDENED ? `/${child - HARDENED}${apostrophe ? "'" : 'h'}` : `/${child}`;
  return text;
}

export function hasHardenedStep(path: KeyPath): boolean {
  return path.some((child) => child >= HARDENED);
}
