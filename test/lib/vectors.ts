import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(process.env.OBVERSE_VECTORS ?? join(import.meta.dir, '../../../shared/vectors'));

/** Whether the outside test data is there; suites that need it skip, and say so, where it is not. */
export const hasVectors = existsSync(root);

if (!hasVectors)
  console.warn(
    `test vectors not found at ${root}: tests that need them are skipped (OBVERSE_VECTORS names another place)`,
  );

/** Absolute path of a file of the outside test data. */
export function vectorPath(name: string): string {
  return join(root, name);
}

export function readVectorJson<T>(name: string): T {
  return JSON.parse(readFileSync(vectorPath(name), 'utf8')) as T;
}

export function readVectorBytes(name: string): Uint8Array {
  return new Uint8Array(readFileSync(vectorPath(name)));
}
