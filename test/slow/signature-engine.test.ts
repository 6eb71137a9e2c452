import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { signatureEngine } from '../../src/crypto/secp256k1.ts';
import { cleanUpAfterTests, runProgram, tempDir } from '../lib/node-process.ts';

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

test('all workers use the library that the environment names', () => {
  for (const name of ['addon', 'noble']) {
    const env = { ...process.env, OBVERSE_SIGNATURE_LIBRARY: name };
    const { stdout, stderr } = Bun.spawnSync([process.execPath, program], { env });
    expect([stdout.toString(), stderr.toString()]).toEqual([`${Array(4).fill(name).join(' ')}\n`, '']);
  }
});

test('a start with a wrong library ends with the allowed names', async () => {
  const args = ['start', '--network', 'regtest', '--http.listen', '127.0.0.1:0', '--datadir', tempDir('wrong')];
  const { status, stderr } = await runProgram(args, { env: { OBVERSE_SIGNATURE_LIBRARY: 'openssl' } });
  expect(status).toBe(2);
  expect(stderr).toContain('OBVERSE_SIGNATURE_LIBRARY: openssl is not allowed: must be system, addon or noble');
});
