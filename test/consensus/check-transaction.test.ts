import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { checkTransaction } from '../../src/consensus/check-transaction.ts';
import { parseTransaction } from '../../src/primitives/block.ts';
import type { Txid } from '../../src/primitives/hash.ts';
import { hexToBytes } from '../../src/util/bytes.ts';
import { hasVectors, readVectorJson } from '../lib/vectors.ts';
import { coinbaseInput, coinbaseOf, input, output, someTxid, txOf } from './block-fixture.ts';

const MAX_MONEY = 2_100_000_000_000_000n;

function reasonOf(tx: Parameters<typeof checkTransaction>[0], strippedSize = 100): string | null {
  const rejection = checkTransaction(tx, strippedSize);
  if (rejection) expect(rejection.kind).toBe('consensus');
  return rejection?.reason ?? null;
}

describe('reject reasons', () => {
  test('a valid transaction has none', () => expect(reasonOf(txOf())).toBeNull());

  test('bad-txns-vin-empty', () => expect(reasonOf(txOf({ inputs: [], outputs: [] }))).toBe('bad-txns-vin-empty'));

  test('bad-txns-vout-empty', () => expect(reasonOf(txOf({ outputs: [] }))).toBe('bad-txns-vout-empty'));

  test('bad-txns-oversize, for which the witness does not count', () => {
    expect(reasonOf(txOf(), 1_000_000)).toBeNull();
    expect(reasonOf(txOf(), 1_000_001)).toBe('bad-txns-oversize');
  });

  test('the size is measured if it is not given', () => expect(checkTransaction(txOf())).toBeNull());

  // CVE-2010-5139.
  test('bad-txns-vout-negative', () => {
    expect(reasonOf(txOf({ outputs: [output(-1n)] }))).toBe('bad-txns-vout-negative');
    expect(reasonOf(txOf({ outputs: [output(-(1n << 63n))] }))).toBe('bad-txns-vout-negative');
  });

  test('bad-txns-vout-toolarge', () => {
    expect(reasonOf(txOf({ outputs: [output(MAX_MONEY)] }))).toBeNull();
    expect(reasonOf(txOf({ outputs: [output(MAX_MONEY + 1n)] }))).toBe('bad-txns-vout-toolarge');
    expect(reasonOf(txOf({ outputs: [output((1n << 63n) - 1n)] }))).toBe('bad-txns-vout-toolarge');
  });

  test('bad-txns-txouttotal-toolarge', () => {
    expect(reasonOf(txOf({ outputs: [output(MAX_MONEY - 1n), output(1n)] }))).toBeNull();
    expect(reasonOf(txOf({ outputs: [output(MAX_MONEY), output(1n)] }))).toBe('bad-txns-txouttotal-toolarge');
    const twice = [output(MAX_MONEY), output(MAX_MONEY)];
    expect(reasonOf(txOf({ outputs: twice }))).toBe('bad-txns-txouttotal-toolarge');
  });

  // CVE-2018-17144: the coin look-up does not detect an outpoint that is listed twice, and spending it twice creates
  // money.
  test('bad-txns-inputs-duplicate, also among many inputs', () => {
    for (const count of [2, 3, 12, 13, 500]) {
      const inputs = Array.from({ length: count }, (_, i) => input(i));
      expect(reasonOf(txOf({ inputs }))).toBeNull();
      for (const at of [0, count - 2])
        expect(reasonOf(txOf({ inputs: inputs.with(count - 1, input(at)) }))).toBe('bad-txns-inputs-duplicate');
    }
  });

  test('two outputs of one transaction are not duplicates', () => {
    const inputs = [0, 1].map((vout) => input(0, { prevout: { txid: someTxid(7), vout } }));
    expect(reasonOf(txOf({ inputs }))).toBeNull();
  });

  test('bad-cb-length', () => {
    for (const [length, reason] of [
      [1, 'bad-cb-length'],
      [2, null],
      [100, null],
      [101, 'bad-cb-length'],
    ] as const)
      expect(reasonOf(coinbaseOf({ inputs: [coinbaseInput({ scriptSig: new Uint8Array(length) })] }))).toBe(reason);
  });

  test('bad-txns-prevout-null', () => {
    expect(reasonOf(txOf({ inputs: [input(1), coinbaseInput()] }))).toBe('bad-txns-prevout-null');
    // The null hash with another index refers to an output that does not exist.
    const prevout = { txid: new Uint8Array(32) as Txid, vout: 0 };
    expect(reasonOf(txOf({ inputs: [input(1), input(2, { prevout })] }))).toBeNull();
  });

  test('a repeated outpoint is detected among any number of inputs', () => {
    const index = fc.integer({ min: 0, max: 30 });
    fc.assert(
      fc.property(fc.array(index, { minLength: 1, maxLength: 25 }), (seeds) => {
        const inputs = seeds.map((seed) => input(seed));
        const expected = new Set(seeds).size < seeds.length ? 'bad-txns-inputs-duplicate' : null;
        expect(reasonOf(txOf({ inputs }))).toBe(expected);
      }),
    );
  });
});

type Row = [string] | [unknown[], string, string];

function rowsOf(name: string): { hex: string; flags: string }[] {
  const rows = readVectorJson<Row[]>(name).filter((row) => row.length === 3);
  return rows.map(([, hex, flags]) => ({ hex: hex as string, flags: flags as string }));
}

describe.skipIf(!hasVectors)('vectors of Core', () => {
  const check = (hex: string) => {
    const { tx, strippedSize } = parseTransaction(hexToBytes(hex));
    return checkTransaction(tx, strippedSize);
  };

  // Rows flagged BADTX must fail on the transaction alone, before any script runs; all others must not.
  test('tx_invalid', () => {
    const rows = rowsOf('core/tx_invalid.json');
    const bad = rows.filter(({ flags }) => flags === 'BADTX');
    expect(bad.length).toBeGreaterThan(5);
    for (const { hex, flags } of rows) expect([hex, check(hex) !== null]).toEqual([hex, flags === 'BADTX']);
  });

  test('tx_valid', () => {
    const rows = rowsOf('core/tx_valid.json');
    expect(rows.length).toBeGreaterThan(100);
    for (const { hex } of rows) expect([hex, check(hex)]).toEqual([hex, null]);
  });
});
