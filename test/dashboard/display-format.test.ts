import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  formatAge,
  formatAmount,
  formatBytes,
  formatCount,
  formatFeeRate,
  formatLarge,
  formatSpan,
  formatTime,
  formatUtc,
  shortenHash,
} from '../../src/dashboard/pages/display-format.ts';

const THIN = '\u202f';
const MAX_MONEY = 2_100_000_000_000_000;

describe('formatAmount', () => {
  test.each([
    [0, '0.00000000'],
    [1, '0.00000001'],
    [99_999_999, '0.99999999'],
    [100_000_000, '1.00000000'],
    [123_456_789_012, `1${THIN}234.56789012`],
    [MAX_MONEY - 1, `20${THIN}999${THIN}999.99999999`],
    [MAX_MONEY, `21${THIN}000${THIN}000.00000000`],
    [-1, '\u22120.00000001'],
    [9_223_372_036_854_775_807n, `92${THIN}233${THIN}720${THIN}368.54775807`],
  ])('formats %p satoshis exactly', (satoshis, text) => expect(formatAmount(satoshis)).toBe(text));

  test('a signed amount above 0 begins with a plus sign', () => {
    expect([5, 0, -5].map((satoshis) => formatAmount(satoshis, { signed: true }))).toEqual([
      '+0.00000005',
      '0.00000000',
      '\u22120.00000005',
    ]);
  });

  test('the digits of every amount are those of the integer', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -BigInt(MAX_MONEY), max: BigInt(MAX_MONEY) }), (satoshis) => {
        const plain = formatAmount(satoshis).replaceAll(THIN, '').replace('\u2212', '-');
        expect(plain).toMatch(/^-?\d+\.\d{8}$/);
        expect(BigInt(plain.replace('.', ''))).toBe(satoshis);
        // Replies of the node hold amounts as numbers, which are exact in this range.
        expect(formatAmount(Number(satoshis))).toBe(formatAmount(satoshis));
      }),
    );
  });
});

test('formatCount separates groups of three digits', () => {
  expect([0, 999, 1000, 1_234_567, 21_000_000n].map(formatCount)).toEqual([
    '0',
    '999',
    `1${THIN}000`,
    `1${THIN}234${THIN}567`,
    `21${THIN}000${THIN}000`,
  ]);
});

test('formatFeeRate keeps the decimals that matter', () => {
  expect([0, 0.1, 1, 1.005, 9.994, 12.34, 99.96, 1234.5].map(formatFeeRate)).toEqual([
    ...['0', '0.1', '1', '1', '9.99', '12.3', '100'],
    `1${THIN}235`,
  ]);
});

test('formatBytes selects the unit', () => {
  expect([0, 1023, 1024, 1_500_000, 700 * 2 ** 30, 5 * 2 ** 40].map(formatBytes)).toEqual(
    ['0_B', '1023_B', '1.0_KiB', '1.4_MiB', '700_GiB', '5.0_TiB'].map((text) => text.replace('_', THIN)),
  );
});

test('formatLarge selects the prefix', () => {
  expect([0, 1, 999, 1000, 812.4e18, 126.27e12, 4.656e-10].map(formatLarge)).toEqual([
    ...['0', '1', '999', `1${THIN}k`, `812.4${THIN}E`, `126.3${THIN}T`],
    '4.66e-10',
  ]);
});

test('formatTime shows the time of the local zone, formatUtc that of UTC', () => {
  const seconds = 1_231_006_505;
  const [date, time] = formatTime(seconds).split(' ');
  expect(new Date(`${date}T${time}`).getTime()).toBe(seconds * 1000);
  expect(formatUtc(seconds)).toBe('2009-01-03T18:15:05Z');
});

test('formatSpan shows the two largest units', () => {
  expect([-3, 0, 59, 60, 3599, 3600, 86_399, 86_400, 100_000_000].map(formatSpan)).toEqual([
    ...['0 s', '0 s', '59 s', '1 min', '59 min', '1 h 0 min', '23 h 59 min', '1 d 0 h'],
    `1${THIN}157 d 9 h`,
  ]);
});

test('formatAge does not show negative ages', () => {
  expect([4, 3, -10, -4].map((ago) => formatAge(1000 - ago, 1000))).toEqual(Array(4).fill('just now'));
  expect([formatAge(995, 1000), formatAge(400, 1000)]).toEqual(['5 s ago', '10 min ago']);
});

test('shortenHash keeps both ends, and short texts as they are', () => {
  expect(shortenHash('0123456789abcdef'.repeat(4))).toBe('01234567\u202689abcdef');
  expect(shortenHash('0123456789abcdef'.repeat(4), 4)).toBe('0123\u2026cdef');
  expect(shortenHash('0123456789abcdefg')).toBe('0123456789abcdefg');
});
