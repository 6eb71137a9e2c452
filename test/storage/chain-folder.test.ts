import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chainDataMoves, moveChainData } from '../../src/storage/chain-folder.ts';

let root: string;
let networkDir: string;
let chainDir: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'obverse-folder-'));
  networkDir = join(root, 'regtest');
  chainDir = join(networkDir, 'chain');
  mkdirSync(networkDir);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const FILES = {
  'blocks/blk00000.dat': 'a block',
  'blocks/rev00000.dat': 'its undo data',
  'filters/flt00000.dat': 'a filter',
  'chain.db': 'rows',
  'chain.db-wal': 'a log',
  'chain.db-shm': 'an index of it',
};
/** Files that must not be moved. */
const OTHERS = ['wallets', 'auth.db', 'auth.db-wal', 'node.db', 'watches.db', 'initial.key', 'lock', '.cookie'];

/** A data directory of the old layout, with the chain beside the wallets. */
function makeOldLayout(without: readonly string[] = []): void {
  for (const [name, text] of Object.entries(FILES)) {
    if (without.includes(name.split('/')[0]!)) continue;
    mkdirSync(join(networkDir, name, '..'), { recursive: true });
    writeFileSync(join(networkDir, name), text);
  }
  for (const name of OTHERS) writeFileSync(join(networkDir, name), name);
}

function expectMoved(without: readonly string[] = []): void {
  expect(readdirSync(networkDir).sort()).toEqual(['chain', ...OTHERS].sort());
  for (const name of OTHERS) expect(readFileSync(join(networkDir, name), 'utf8')).toBe(name);
  for (const [name, text] of Object.entries(FILES))
    if (!without.includes(name.split('/')[0]!)) expect(readFileSync(join(chainDir, name), 'utf8')).toBe(text);
}

describe('chain data of the old layout', () => {
  test.each([[[]], [['filters']], [['filters', 'chain.db-wal', 'chain.db-shm']]] as [string[]][])(
    'is the only data that is moved into the folder of the chain (without %p)',
    (without) => {
      makeOldLayout(without);
      moveChainData(chainDir);
      expectMoved(without);
      expect(lstatSync(chainDir).mode & 0o777).toBe(0o700);
      moveChainData(chainDir);
      expectMoved(without);
    },
  );

  // Steps: blocks, filters, three database files, and the folder before and after.
  test.each([1, 2, 3, 4, 5, 6, 7])('is moved completely after a crash at step %d', (steps) => {
    makeOldLayout();
    const moves = chainDataMoves(chainDir);
    for (let done = 0; done < steps; done++) expect(moves.next().done).toBe(false);
    // Under its final name the folder is always complete.
    if (steps < 7) expect(existsSync(chainDir)).toBe(false);
    else expect(moves.next().done).toBe(true);
    moveChainData(chainDir);
    expectMoved();
  });

  test.each([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])('keeps relative links to other disks after a crash at step %d', (steps) => {
    makeOldLayout();
    mkdirSync(join(root, 'disk'));
    for (const folder of ['blocks', 'filters']) {
      const elsewhere = join(root, 'disk', folder);
      mkdirSync(elsewhere);
      for (const [name, text] of Object.entries(FILES))
        if (name.startsWith(`${folder}/`)) writeFileSync(join(root, 'disk', name), text);
      rmSync(join(networkDir, folder), { recursive: true });
      symlinkSync(folder === 'blocks' ? '../disk/blocks' : elsewhere, join(networkDir, folder));
    }
    const moves = chainDataMoves(chainDir);
    for (let done = 0; done < steps; done++) moves.next();
    moveChainData(chainDir);
    expectMoved();
    expect(lstatSync(join(chainDir, 'blocks')).isSymbolicLink()).toBe(true);
  });

  test('stays where one folder is a link to the other', () => {
    const blocks = join(networkDir, 'blocks');
    mkdirSync(blocks, { recursive: true });
    mkdirSync(chainDir);
    symlinkSync(blocks, join(chainDir, 'blocks'));
    moveChainData(chainDir);
    expect(lstatSync(blocks).isDirectory()).toBe(true);
    expect(lstatSync(join(chainDir, 'blocks')).isSymbolicLink()).toBe(true);
  });

  test('is not moved if the new folder contains a chain', () => {
    makeOldLayout();
    mkdirSync(chainDir);
    writeFileSync(join(chainDir, 'chain.db'), 'newer rows');
    expect(() => moveChainData(chainDir)).toThrow(
      `chain data is in ${chainDir} and, left by an earlier version, beside it (blocks, filters, chain.db-wal, chain.db-shm, chain.db): move one of the two away`,
    );
    expect(readFileSync(join(networkDir, 'chain.db'), 'utf8')).toBe('rows');
    expect(readFileSync(join(chainDir, 'chain.db'), 'utf8')).toBe('newer rows');
  });
});

test('an empty directory and one of the new layout are not changed', () => {
  moveChainData(chainDir);
  expect(readdirSync(networkDir)).toEqual([]);
  mkdirSync(chainDir);
  writeFileSync(join(chainDir, 'chain.db'), 'rows');
  moveChainData(chainDir);
  expect(readdirSync(networkDir)).toEqual(['chain']);
});
