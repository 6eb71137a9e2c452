import { sha256 } from '../crypto/hash-functions.ts';
import { type AddressFormat, addressOf } from '../script/address.ts';
import type { Descriptor } from '../wallet/descriptor/descriptor.ts';
import { NO_SIGNING_DATA } from '../wallet/keys/signing-data.ts';
import type { ScriptInput } from './script-input.ts';

const MAX_DESCRIPTORS = 64;
/** Limit of the scripts of all descriptors together, some six megabytes. */
const MAX_SCRIPTS = 20_000;

/** An output script of a descriptor. */
export class DerivedScript implements ScriptInput {
  readonly script: Uint8Array;
  /** Number of the branch: of the value in a multipath step, from 0. */
  readonly branch: number;
  readonly index: number;
  readonly #format: AddressFormat;
  #address: string | null = null;

  constructor(script: Uint8Array, branch: number, index: number, format: AddressFormat) {
    this.script = script;
    this.branch = branch;
    this.index = index;
    this.#format = format;
  }

  /** Encoded at the first use, since most scripts are unused and encoding takes a third of the time of deriving. */
  get address(): string {
    this.#address ??= addressOf(this.script, this.#format) ?? `script:${this.script.toHex()}`;
    return this.#address;
  }
}

/** One branch of a descriptor with the scripts that have been derived so far. */
export class DerivedBranch {
  readonly descriptor: Descriptor;
  readonly #number: number;
  readonly #format: AddressFormat;
  readonly #derived: (readonly DerivedScript[])[] = [];

  constructor(descriptor: Descriptor, number: number, format: AddressFormat) {
    this.descriptor = descriptor;
    this.#number = number;
    this.#format = format;
  }

  /** Whether the scripts of an index need no derivation. */
  has(index: number): boolean {
    return index < this.#derived.length;
  }

  /** Returns the scripts at an index; all lower ones have been derived. None for an index without a key (BIP-32). */
  at(index: number): readonly DerivedScript[] {
    if (index === this.#derived.length) {
      const scripts = this.descriptor.expand(index, NO_SIGNING_DATA)?.scripts ?? [];
      this.#derived.push(scripts.map((script) => new DerivedScript(script, this.#number, index, this.#format)));
    }
    return this.#derived[index]!;
  }

  get size(): number {
    return this.#derived.length;
  }
}

/** A descriptor as it was understood, with its branches. */
export interface WatchedDescriptor {
  /** With the checksum. */
  readonly text: string;
  readonly branches: readonly DerivedBranch[];
}

/** The derived scripts of the descriptors that were last in use, by the hash of their text. */
export class DerivedScripts {
  /** The least recently used one is first. */
  readonly #known = new Map<string, WatchedDescriptor>();

  /** Returns a known descriptor, or the one that `parse` makes of the text. Earlier ones are evicted at the bounds. */
  get(text: string, parse: (text: string) => WatchedDescriptor): WatchedDescriptor {
    const key = sha256(new TextEncoder().encode(text)).toHex();
    const watched = this.#known.get(key) ?? parse(text);
    this.#known.delete(key);
    this.#evict();
    this.#known.set(key, watched);
    return watched;
  }

  /** Makes room for one more descriptor. */
  #evict(): void {
    let size = 0;
    for (const watched of this.#known.values()) size += sizeOf(watched);
    for (const [key, watched] of this.#known) {
      if (this.#known.size < MAX_DESCRIPTORS && size <= MAX_SCRIPTS) return;
      this.#known.delete(key);
      size -= sizeOf(watched);
    }
  }
}

function sizeOf({ branches }: WatchedDescriptor): number {
  return branches.reduce((sum, { size }) => sum + size, 0);
}
