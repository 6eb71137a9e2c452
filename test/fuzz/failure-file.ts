import { readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sha256 } from '../../src/crypto/hash-functions.ts';
import { hexToBytes } from '../../src/util/bytes.ts';

/** Writes an input as `target hex` to a file, and returns the command that runs it again. */
export function writeFailure(target: string, input: Uint8Array): string {
  const path = join(tmpdir(), `obverse-fuzz-${target}-${sha256(input).toHex().slice(0, 12)}.txt`);
  writeFileSync(path, `${target} ${input.toHex()}\n`);
  return `again with: npm run fuzz -- --replay ${path}`;
}

/** Throws DecodeError where the file is none. */
export function readFailure(path: string): { target: string; input: Uint8Array } {
  const [target = '', hex = ''] = readFileSync(path, 'utf8').trim().split(' ');
  return { target, input: hexToBytes(hex) };
}
