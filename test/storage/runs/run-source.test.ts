import { expect, test } from 'bun:test';
import { existsSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FileSource } from '../../../src/storage/runs/run-source.ts';

const MEMORY = '/dev/shm';
const TMPFS = 0x0102_1994;

test.if(existsSync(MEMORY) && statfsSync(MEMORY).type === TMPFS)(
  'a file in memory is read at once, where the system has no reads that return at once',
  () => {
    const dir = mkdtempSync(join(MEMORY, 'obverse-source-'));
    try {
      const bytes = crypto.getRandomValues(new Uint8Array(20_000));
      writeFileSync(join(dir, 'run'), bytes);
      const source = new FileSource(join(dir, 'run'));
      for (const [at, length] of [
        [0, 4096],
        [100, 15_000],
        [19_000, 1000],
      ] as const)
        expect(source.readIfCached(at, length)?.toHex()).toBe(bytes.subarray(at, at + length).toHex());
      expect(() => source.readIfCached(19_000, 1001)).toThrow('it ends at 20000 bytes');
      source.close();
    } finally {
      rmSync(dir, { recursive: true });
    }
  },
);
