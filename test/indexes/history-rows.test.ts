import { describe, expect, test } from 'bun:test';
import { HistoryRows } from '../../src/indexes/history-rows.ts';

type Row = [script: number, position: number, received: number, sent: number];

function rowsOf(rows: HistoryRows): Row[] {
  const list: Row[] = [];
  rows.each((...row) => list.push(row));
  return list;
}

describe('HistoryRows', () => {
  test('has one row for all changes of a script by one transaction', () => {
    const rows = new HistoryRows();
    rows.add(0, 7, 0, 50);
    rows.add(1, 7, 20, 0);
    rows.add(0, 7, 30, 0);
    rows.add(0, 8, 1, 0);
    expect(rowsOf(rows)).toEqual([
      [0, 7, 30, 50],
      [1, 7, 20, 0],
      [0, 8, 1, 0],
    ]);
  });

  test('adds no amounts to rows that were cut off, even for the same script and position', () => {
    const rows = new HistoryRows();
    rows.add(0, 7, 1, 0);
    rows.add(1, 8, 2, 0);
    rows.add(0, 9, 3, 0);
    rows.cutTo(1);
    expect(rowsOf(rows)).toEqual([[0, 7, 1, 0]]);
    rows.add(2, 8, 5, 0);
    rows.add(1, 8, 6, 0);
    rows.add(0, 9, 7, 0);
    rows.add(1, 8, 1, 0);
    expect(rowsOf(rows)).toEqual([
      [0, 7, 1, 0],
      [2, 8, 5, 0],
      [1, 8, 7, 0],
      [0, 9, 7, 0],
    ]);
  });

  test('grows with many rows and with high script numbers', () => {
    const rows = new HistoryRows();
    for (let i = 0; i < 5000; i++) rows.add(i * 3, 2 ** 40 + i, i, 2 ** 50);
    expect(rows.length).toBe(5000);
    expect(rowsOf(rows).at(-1)).toEqual([14_997, 2 ** 40 + 4999, 4999, 2 ** 50]);
    rows.cutTo(0);
    rows.add(14_997, 2 ** 40 + 4999, 1, 1);
    expect(rowsOf(rows)).toEqual([[14_997, 2 ** 40 + 4999, 1, 1]]);
  });
});
