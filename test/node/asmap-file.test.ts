import { afterAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadAsmap } from '../../src/node/asmap-file.ts';
import { silentLog } from '../lib/chain-fixture.ts';

const folder = mkdtempSync(join(tmpdir(), 'asmap-'));
afterAll(() => rmSync(folder, { recursive: true }));
const load = (path: string | null) => loadAsmap(path, silentLog);

test('without a path there is no map', () => expect(load(null)).toBeNull());

test('a file with a map is read', () => {
  const path = join(folder, 'whole');
  // One instruction, which returns 1 for every address.
  writeFileSync(path, new Uint8Array(3));
  expect(load(path)?.lookUp(new Uint8Array(16))).toBe(1);
});

test('a missing file, an empty one, a folder and other bytes are refused with the name of the setting and the path', () => {
  const path = join(folder, 'wrong');
  expect(() => load(path)).toThrow(`p2p.asmap: Could not find asmap file "${path}"`);
  for (const bytes of [new Uint8Array(0), new Uint8Array(40).fill(0xff)]) {
    writeFileSync(path, bytes);
    expect(() => load(path)).toThrow(`p2p.asmap: Could not parse asmap file "${path}": `);
  }
  expect(() => load(folder)).toThrow(`p2p.asmap: Could not parse asmap file "${folder}": it is not a file`);
});
