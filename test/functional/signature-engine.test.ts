import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { signatureEngine } from '../../src/crypto/secp256k1.ts';
import { cleanUpAfterTests } from '../lib/node-process.ts';

cleanUpAfterTests();

const RUNS = 10;
const program = join(import.meta.dir, '../lib/engine-workers.ts');

// A worker that falls back to the slow engine is ten times slower, and nothing else shows it.
test('workers that load the signature engine at the same time all get the same one', () => {
  const wanted = Array(4).fill(signatureEngine().name).join(' ');
  const got = Array.from({ length: RUNS }, () => {
    const { stdout, stderr, exitCode } = Bun.spawnSync([process.execPath, program]);
    return exitCode === 0 ? stdout.toString().trim() : stderr.toString();
  });
  expect(got).toEqual(Array(RUNS).fill(wanted));
});
