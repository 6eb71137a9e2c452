import { describe, expect, test } from 'bun:test';
import {
  assertSnapshotOf,
  readSnapshotManifest,
  type SnapshotManifest,
  snapshotText,
} from '../../../src/storage/snapshot/snapshot-manifest.ts';

const HASH = 'ab'.repeat(32);
const FILE = { path: 'chain.db', bytes: 5000, sha256: HASH, parts: [HASH, HASH] };
const MANIFEST: SnapshotManifest = {
  format: 1,
  version: '9.8.7',
  network: 'regtest',
  genesis: HASH,
  schema: 3,
  createdAt: 1_790_000_000,
  tip: { height: 160, hash: HASH },
  partBytes: 4096,
  files: [FILE, { path: 'blocks/blk00000.dat', bytes: 0, sha256: HASH, parts: [] }],
};
const NAME = 's3://snapshots/a/manifest.json';

const read = (manifest: unknown) => readSnapshotManifest(snapshotText(manifest as SnapshotManifest), NAME, 3);
const withFile = (changes: object) => ({ ...MANIFEST, files: [{ ...FILE, ...changes }] });
const withPath = (path: unknown) => ({ ...MANIFEST, files: [FILE, { ...FILE, path }] });

describe('a manifest', () => {
  test('is read as it was written', () => {
    expect(read(MANIFEST)).toEqual(MANIFEST);
  });

  test('with another content than its checksum is damaged', () => {
    const text = snapshotText(MANIFEST).replace('"height": 160', '"height": 161');
    expect(() => readSnapshotManifest(text, NAME, 3)).toThrow(
      `${NAME} is damaged: its content does not match its checksum; push the snapshot again`,
    );
    for (const broken of ['', '{', 'null', '[]', '7', '"text"'])
      expect(() => readSnapshotManifest(broken, NAME, 3)).toThrow(NAME);
  });

  test('of another format or a newer schema is refused, and the reason names both numbers', () => {
    expect(() => read({ ...MANIFEST, format: 2 })).toThrow(`${NAME} has format 2; this version reads format 1`);
    expect(() => read({ ...MANIFEST, schema: 4 })).toThrow(
      `${NAME} has schema 4, made by version 9.8.7; this version reads up to 3: run the newer one`,
    );
  });

  test('of another machine writes no control characters into an error', () => {
    const network = '\u001b[2Jmain\nobverse: all is well';
    const assertForeign = () =>
      assertSnapshotOf({ ...MANIFEST, network }, { network: 'main', genesisHash: HASH }, NAME);
    expect(assertForeign).toThrow(
      `${NAME} is a snapshot of the network that cannot be shown, and the settings name main`,
    );
    expect(() => read({ ...MANIFEST, schema: 4, version: network })).toThrow('made by version that cannot be shown;');
    expect(() => read(withPath(network))).toThrow('it names the file "\\u001b[2Jmain\\nobverse: all is well"');
  });

  test.each([
    '../node.db',
    '/etc/passwd',
    'blocks/../../wallets/a.db',
    'blocks/blk00000.dat/..',
    'runs/../coins-00000001.run',
    'node.db',
    'auth.db',
    'wallets/default.db',
    'chain.db-wal',
    'events.mark',
    'reindex',
    'chain.db\n',
    'blocks\\blk00000.dat',
    '',
    7,
    null,
    ['chain.db'],
    'chain.db',
  ])('that names the file %j beside chain.db is refused', (path) => {
    expect(() => read(withPath(path))).toThrow(/is damaged: it names the file/);
  });

  test.each([
    ['without chain.db', { ...MANIFEST, files: [] }, 'it has no chain.db'],
    ['with a size below zero', withFile({ bytes: -1 }), 'the size of chain.db is wrong'],
    ['with a size that is no whole number', withFile({ bytes: 0.5 }), 'the size of chain.db is wrong'],
    ['with a file above 4 TiB', withFile({ bytes: 2 ** 42 + 1 }), 'the size of chain.db is wrong'],
    ['with fewer parts than the size needs', withFile({ parts: [HASH] }), 'the parts of chain.db are wrong'],
    ['with more parts than the size needs', withFile({ bytes: 4096 }), 'the parts of chain.db are wrong'],
    ['with a hash that would be another key', withFile({ parts: [HASH, '../../x'] }), 'a hash of chain.db is wrong'],
    ['with parts of a gigabyte', { ...MANIFEST, partBytes: 2 ** 30 }, 'the size of its parts is wrong'],
    ['with parts of zero bytes', { ...MANIFEST, partBytes: 0 }, 'the size of its parts is wrong'],
    ['without a list of files', { ...MANIFEST, files: {} }, 'its list of files is wrong'],
    ['without a tip', { ...MANIFEST, tip: null }, 'its tip is wrong'],
  ])('%s is refused', (_, manifest, problem) => {
    expect(() => read(manifest)).toThrow(`${NAME} is damaged: ${problem}; push the snapshot again`);
  });

  test('of another network or genesis block is refused', () => {
    const other = { network: 'signet', genesisHash: HASH };
    expect(() => assertSnapshotOf(MANIFEST, other, NAME)).toThrow(
      `${NAME} is a snapshot of the network regtest, and the settings name signet`,
    );
    const fork = { network: 'regtest', genesisHash: 'cd'.repeat(32) };
    expect(() => assertSnapshotOf(MANIFEST, fork, NAME)).toThrow(
      `with the genesis block ${HASH}, not ${'cd'.repeat(32)}`,
    );
    assertSnapshotOf(MANIFEST, { network: 'regtest', genesisHash: HASH }, NAME);
  });
});
