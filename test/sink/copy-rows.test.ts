import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { CopyRows } from '../../src/sink/copy-rows.ts';

type Value = string | number | null | { readonly bytes: Uint8Array; readonly reversed: boolean };

const value: fc.Arbitrary<Value> = fc.oneof(
  fc.maxSafeInteger(),
  fc.constant(null),
  fc.json(),
  fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll(/[\t\n\r\0]/g, '')),
  fc.record({ bytes: fc.uint8Array({ maxLength: 300 }), reversed: fc.boolean() }),
);

/** The text format of COPY: tabs between columns, a line end behind each row, \N for NULL, and backslashes doubled. */
function textOf(of: Value): string {
  if (of === null) return '\\N';
  if (typeof of === 'number') return String(of);
  if (typeof of === 'string') return of.replaceAll('\\', '\\\\');
  return `\\\\x${(of.reversed ? of.bytes.toReversed() : of.bytes).toHex()}`;
}

function addRow(rows: CopyRows, row: readonly Value[]): void {
  for (const of of row) {
    if (of === null) rows.addNull();
    else if (typeof of === 'number') rows.addNumber(of);
    else if (typeof of === 'string') rows.addText(of);
    else rows.addBytes(of.bytes, of.reversed);
  }
  rows.endRow();
}

test('rows of any values are the text that COPY reads', () =>
  fc.assert(
    fc.property(fc.array(fc.array(value, { minLength: 1, maxLength: 5 }), { maxLength: 50 }), (all) => {
      const rows = new CopyRows();
      for (const row of all) addRow(rows, row);
      expect(rows.count).toBe(all.length);
      const text = all.map((row) => `${row.map(textOf).join('\t')}\n`).join('');
      expect(Buffer.from(rows.encodedRows()).toString()).toBe(text);
    }),
  ));

test.each([0, 9, 10, 99, 100, 999_999_999_999_999, 2_100_000_000_000_000, Number.MAX_SAFE_INTEGER, -1, -10])(
  'the number %d',
  (number) => {
    const rows = new CopyRows();
    rows.addNumber(number).endRow();
    expect(Buffer.from(rows.encodedRows()).toString()).toBe(`${number}\n`);
  },
);

test('rows that are cleared leave nothing to the next ones', () => {
  const rows = new CopyRows();
  rows.addBytes(new Uint8Array(200_000)).endRow();
  for (const expected of ['1\t\\\\xab\n', '2\t\\\\xab\n']) {
    rows.clear();
    expect(rows.encodedRows()).toHaveLength(0);
    rows.addNumber(Number(expected[0])).addBytes(Uint8Array.of(0xab)).endRow();
    expect(Buffer.from(rows.encodedRows()).toString()).toBe(expected);
    expect(rows.count).toBe(1);
  }
});
