import { DecodeError } from '../../src/util/bytes.ts';
import type { Random } from './random.ts';

/** One piece of code and what must hold for whatever bytes it gets. */
export interface FuzzTarget {
  readonly name: string;
  readonly help: string;
  /** Well-formed inputs, to be changed a little. */
  corpus(): readonly Uint8Array[];
  /** An input that is made from the inside, so that it gets past the first checks. */
  generate?(random: Random): Uint8Array;
  /** Throws where something does not hold. Nothing but the input decides what it does. */
  run(input: Uint8Array): void | Promise<void>;
}

export function hold(condition: unknown, what: string): asserts condition {
  if (!condition) throw new Error(`does not hold: ${what}`);
}

/** Returns the value of `decode`, or null where it throws DecodeError; every other error is thrown on. */
export function decoded<T>(decode: () => T): T | null {
  try {
    return decode();
  } catch (error) {
    if (error instanceof DecodeError) return null;
    throw error;
  }
}

/** Texts of every kind: what is not UTF-8 becomes the replacement character. */
export function textOf(input: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(input);
}

export function bytesOfText(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
