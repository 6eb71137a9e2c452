import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { readTxUndo, writeUndoRecord } from '../../src/primitives/undo.ts';
import { RecordReader, RecordWriter } from '../../src/storage/block-files.ts';
import { ByteReader, ByteWriter } from '../../src/util/bytes.ts';
import { OperatorError } from '../../src/util/operator-error.ts';

const MAGIC = 0xdab5_bffa;
const FILE_LIMIT = 134_217_728;

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'obverse-files-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const START = { file: 0, length: 0 };
const path = (name: string) => join(dir, name);
const emptyFile = (name: string) => {
  writeFileSync(path(name), '');
  return path(name);
};
const filled = (length: number, byte: number) => new Uint8Array(length).fill(byte);

describe('record files', () => {
  test('contain magic, size and bytes of each record', () => {
    const writer = new RecordWriter(dir, 'blk', MAGIC, START);
    expect(writer.append(filled(3, 7))).toEqual({ file: 0, offset: 8, size: 3 });
    expect(writer.append(filled(2, 9))).toEqual({ file: 0, offset: 19, size: 2 });
    expect(writer.end).toEqual({ file: 0, length: 21 });
    writer.sync();
    expect(readFileSync(path('blk00000.dat')).toString('hex')).toBe('fabfb5da03000000070707fabfb5da020000000909');
    expect(statSync(path('blk00000.dat')).mode & 0o777).toBe(0o600);
    writer.close();
  });

  test('can be read in whole and in part once they are flushed', () => {
    const writer = new RecordWriter(dir, 'rev', MAGIC, START);
    const record = Uint8Array.from({ length: 100 }, (_, i) => i);
    writer.append(filled(10, 1));
    const place = writer.append(record);
    const reader = new RecordReader(dir, 'rev');
    expect(() => reader.read(place)).toThrow(/rev00000\.dat ends within a record/);
    writer.flush();
    expect(reader.read(place)).toEqual(record);
    expect(reader.read(place, 40, 3)).toEqual(Uint8Array.of(40, 41, 42));
    expect(reader.read(place, 98)).toEqual(Uint8Array.of(98, 99));
    reader.close();
    writer.close();
  });

  test('store records of every size, larger than the buffer too', () => {
    const writer = new RecordWriter(dir, 'blk', MAGIC, START);
    const sizes = [0, 1, 5_000_000, 4_000_000, 9_000_000, 8 * 1024 * 1024 - 8, 8 * 1024 * 1024 - 7, 3];
    const places = sizes.map((size, i) => writer.append(filled(size, i + 1)));
    writer.sync();
    const reader = new RecordReader(dir, 'blk');
    for (const [i, place] of places.entries()) {
      const bytes = reader.read(place);
      expect([bytes.length, bytes.every((byte) => byte === i + 1)]).toEqual([sizes[i]!, true]);
    }
    reader.close();
    writer.close();
  });

  test('are truncated after the last record that is referred to', () => {
    const writer = new RecordWriter(dir, 'blk', MAGIC, START);
    const first = writer.append(filled(50, 1));
    const { end } = writer;
    writer.append(filled(70, 2));
    writer.sync();
    writer.close();
    appendFileSync(path('blk00000.dat'), 'and half a rec');
    const next = new RecordWriter(dir, 'blk', MAGIC, end);
    expect(statSync(path('blk00000.dat')).size).toBe(58);
    const second = next.append(filled(20, 3));
    expect(second.offset).toBe(66);
    next.sync();
    const reader = new RecordReader(dir, 'blk');
    expect([reader.read(first)[49], reader.read(second)[19]]).toEqual([1, 3]);
    reader.close();
    next.close();
  });

  test('continue in the next file at 128 MiB, which an earlier run may have left behind', () => {
    // Sparse ranges use no disk space.
    truncateSync(emptyFile('blk00003.dat'), FILE_LIMIT - 100);
    writeFileSync(path('blk00004.dat'), filled(1000, 0xff));
    const writer = new RecordWriter(dir, 'blk', MAGIC, { file: 3, length: FILE_LIMIT - 100 });
    expect(writer.append(filled(80, 1))).toEqual({ file: 3, offset: FILE_LIMIT - 92, size: 80 });
    expect(writer.append(filled(5, 2))).toEqual({ file: 4, offset: 8, size: 5 });
    expect(writer.end).toEqual({ file: 4, length: 13 });
    writer.sync();
    expect(statSync(path('blk00003.dat')).size).toBe(FILE_LIMIT - 12);
    expect(statSync(path('blk00004.dat')).size).toBe(13);
    const reader = new RecordReader(dir, 'blk');
    expect(reader.read({ file: 3, offset: FILE_LIMIT - 92, size: 80 })).toEqual(filled(80, 1));
    expect(reader.read({ file: 4, offset: 8, size: 5 })).toEqual(filled(5, 2));
    reader.close();
    writer.close();
  });

  // The descriptor number of a closed file soon belongs to another one, such as a database.
  test('stay open if the next one cannot be created', () => {
    truncateSync(emptyFile('blk00000.dat'), FILE_LIMIT - 100);
    mkdirSync(path('blk00001.dat'));
    const writer = new RecordWriter(dir, 'blk', MAGIC, { file: 0, length: FILE_LIMIT - 100 });
    const files = () => (existsSync('/proc/self/fd') ? readdirSync('/proc/self/fd').length : 0);
    const before = files();
    for (let tries = 0; tries < 3; tries++) expect(() => writer.append(filled(500, 1))).toThrow(/EISDIR/);
    expect(files()).toBe(before);
    expect(writer.append(filled(80, 2))).toEqual({ file: 0, offset: FILE_LIMIT - 92, size: 80 });
    writer.sync();
    rmdirSync(path('blk00001.dat'));
    expect(writer.append(filled(500, 3))).toEqual({ file: 1, offset: 8, size: 500 });
    writer.sync();
    const reader = new RecordReader(dir, 'blk');
    expect(reader.read({ file: 0, offset: FILE_LIMIT - 92, size: 80 })).toEqual(filled(80, 2));
    expect(reader.read({ file: 1, offset: 8, size: 500 })).toEqual(filled(500, 3));
    reader.close();
    writer.close();
  });

  test('use a file up to the last byte', () => {
    truncateSync(emptyFile('blk00000.dat'), FILE_LIMIT - 100);
    const writer = new RecordWriter(dir, 'blk', MAGIC, { file: 0, length: FILE_LIMIT - 100 });
    expect(writer.append(filled(92, 1)).file).toBe(0);
    expect(writer.append(filled(0, 1)).file).toBe(1);
    writer.close();
  });

  test('are refused if they are shorter than the database says', () => {
    expect(() => new RecordWriter(dir, 'blk', MAGIC, { file: 0, length: 100 })).toThrow(
      /blk00000\.dat is shorter than the 100 bytes/,
    );
    writeFileSync(path('rev00000.dat'), filled(99, 0));
    expect(() => new RecordWriter(dir, 'rev', MAGIC, { file: 0, length: 100 })).toThrow(OperatorError);
    expect(statSync(path('rev00000.dat')).size).toBe(99);
  });

  test('are kept open in a small number by readers', () => {
    for (let file = 0; file < 80; file++)
      writeFileSync(path(`blk${String(file).padStart(5, '0')}.dat`), filled(10, file));
    const reader = new RecordReader(dir, 'blk');
    for (let round = 0; round < 2; round++)
      for (let file = 0; file < 80; file++) expect(reader.read({ file, offset: 9, size: 1 })[0]).toBe(file);
    expect(() => reader.read({ file: 80, offset: 0, size: 1 })).toThrow(/ENOENT/);
    expect(existsSync(path('blk00080.dat'))).toBe(false);
    reader.close();
  });
});

test('undo records are read with the content that was written', () => {
  const coin = fc.record({
    position: fc.nat({ max: 2 ** 51 }),
    value: fc.bigInt(0n, 21_000_000_0000_0000n),
    script: fc.uint8Array({ maxLength: 300 }),
  });
  fc.assert(
    fc.property(fc.array(coin, { maxLength: 10 }), (coins) => {
      const w = new ByteWriter(16);
      for (const { position, value, script } of coins) writeUndoRecord(w, position, value, script);
      const r = new ByteReader(w.finish());
      const read = readTxUndo(r, coins.length).map(({ position, output }) => ({
        position,
        value: output.value,
        script: output.scriptPubKey.slice(),
      }));
      expect(read).toEqual(coins.map(({ script, ...rest }) => ({ ...rest, script: Uint8Array.from(script) })));
      expect(r.remaining).toBe(0);
    }),
  );
});
