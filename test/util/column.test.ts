import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { grown, grownRows } from '../../src/util/column.ts';

describe('columns', () => {
  test('keep their content when they grow, followed by zeros', () => {
    fc.assert(
      fc.property(fc.uint32Array(), fc.nat(100), (values, more) => {
        const larger = grown(values as Uint32Array<ArrayBuffer>, values.length + more);
        expect([...larger]).toEqual([...values, ...new Array<number>(more).fill(0)]);
      }),
    );
  });

  test('keep their type when they grow', () => {
    expect(grown(Float64Array.of(0.5), 2)).toEqual(Float64Array.of(0.5, 0));
    expect(grown(Int32Array.of(-1), 2)).toEqual(Int32Array.of(-1, 0));
  });

  test('have at most an eighth of unused rows when they are large', () => {
    let rows = 0;
    while (rows < 1_000_000) {
      const next = grownRows(rows);
      expect(next).toBeGreaterThan(rows);
      expect(next - rows).toBeLessThanOrEqual(Math.max(1, rows < 20_000 ? rows / 2 : rows / 8));
      rows = next;
    }
  });
});
