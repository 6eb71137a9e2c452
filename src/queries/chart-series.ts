import { difficultyOf } from '../consensus/work.ts';
import { double } from '../http/core-number.ts';
import type { BlockSums } from '../storage/block-sum-pages.ts';
import type { HeaderRecord } from '../storage/header-store.ts';
import type { StateSample } from '../storage/sample-store.ts';
import { headerBits, headerTime, medianTime } from './block-facts.ts';
import type { ReadEnv } from './read-env.ts';

/** Time to read the header at the end of a point, and to add up its blocks outside of known pages, microseconds. */
const HEADER_US = 15;
const ENDS_US = 80;

/** Consecutive blocks of the active chain, which become one point. */
interface Blocks {
  /** The block before the first one. */
  readonly before: HeaderRecord;
  readonly last: HeaderRecord;
}

/** Returns the value of a point; null where the node does not have the data. */
type ReadValue = (env: ReadEnv, blocks: Blocks) => number | null;

interface Series {
  readonly unit: string;
  readonly meaning: string;
  readonly read: ReadValue;
  /** Whether the value is made of the sums of the blocks. */
  readonly isSummed?: boolean;
}

/** Returns the value that `mean` makes of the sums of the blocks of a point. */
const ofSums =
  (mean: (sums: BlockSums) => number | null): ReadValue =>
  ({ reads }, { before, last }) =>
    mean(reads.headers.sumPages.sums(before.height + 1, last.height));

const quotient = (sum: number | null, count: number) => (sum === null || count === 0 ? null : sum / count);
const seconds = ({ before, last }: Blocks) => headerTime(last) - headerTime(before);

/** The series over the active chain by name. */
const SERIES = {
  difficulty: {
    unit: 'ratio',
    meaning: 'difficulty of the last block',
    read: (_, { last }) => difficultyOf(headerBits(last)),
  },
  hashrate: {
    unit: 'hash/s',
    meaning: 'work of the blocks divided by their time',
    read: (_, blocks) =>
      // The times are those of the miners, and two blocks may have the same one.
      seconds(blocks) > 0 ? Number(blocks.last.chainwork - blocks.before.chainwork) / seconds(blocks) : null,
  },
  blockInterval: {
    unit: 's',
    meaning: 'mean time between two blocks',
    read: (_, blocks) => seconds(blocks) / (blocks.last.height - blocks.before.height),
  },
  blockSize: {
    unit: 'B',
    isSummed: true,
    meaning: 'mean size of the blocks',
    read: ofSums(({ size, received }) => quotient(size, received)),
  },
  blockWeight: {
    unit: 'WU',
    isSummed: true,
    meaning: 'mean weight of the blocks (BIP-141)',
    read: ofSums(({ size, strippedSize, received }) =>
      size === null || strippedSize === null ? null : quotient(strippedSize * 3 + size, received),
    ),
  },
  txCount: {
    unit: 'tx',
    isSummed: true,
    meaning: 'mean number of transactions of the blocks',
    read: ofSums(({ txCount, received }) => quotient(txCount, received)),
  },
  fees: {
    unit: 'sat',
    isSummed: true,
    meaning: 'mean sum of the fees of a block',
    read: ofSums(({ fees, connected }) => quotient(fees, connected)),
  },
  feeRate: {
    unit: 'sat/vB',
    isSummed: true,
    meaning: 'fees of the blocks divided by their virtual size',
    read: ofSums(({ fees, connectedWeight }) => (fees === null ? null : quotient(fees * 4, connectedWeight ?? 0))),
  },
  supply: {
    unit: 'sat',
    meaning: 'value of the UTXO set after the last block',
    read: ({ reads }, { last }) => reads.headers.totals(last.height)?.circulating ?? null,
  },
} as const satisfies Readonly<Record<string, Series>>;

/** The series of samples of the state of the node by name. */
const STATE_SERIES: Readonly<Record<keyof StateSample, Pick<Series, 'unit' | 'meaning'>>> = {
  mempoolCount: { unit: 'tx', meaning: 'mean number of transactions in the mempool' },
  mempoolVsize: { unit: 'vB', meaning: 'mean virtual size of the mempool' },
  peers: { unit: 'peer', meaning: 'mean number of connected peers' },
};

export type ChainSeriesName = keyof typeof SERIES;
export const CHAIN_SERIES_NAMES = Object.keys(SERIES) as readonly ChainSeriesName[];
export type StateSeriesName = keyof StateSample;
export const STATE_SERIES_NAMES = Object.keys(STATE_SERIES) as readonly StateSeriesName[];
export const SERIES_NAMES: readonly (ChainSeriesName | StateSeriesName)[] = [
  ...CHAIN_SERIES_NAMES,
  ...STATE_SERIES_NAMES,
];
export const SERIES_UNITS = [
  ...new Set([...Object.values(SERIES), ...Object.values(STATE_SERIES)].map(({ unit }) => unit)),
];

/** Meanings of the series, as sentences of the documentation. */
const meaningOf = ([name, { meaning, unit }]: [string, Pick<Series, 'unit' | 'meaning'>]) =>
  `\`${name}\`: ${meaning} (${unit})`;
export const CHAIN_SERIES_MEANINGS = Object.entries(SERIES).map(meaningOf);
export const STATE_SERIES_MEANINGS = Object.entries(STATE_SERIES).map(meaningOf);

export function unitOfState(series: StateSeriesName): string {
  return STATE_SERIES[series].unit;
}

/** Lengths of the charts, seconds; null for the whole chain. */
export const CHART_RANGES = { all: null, '1y': 31_536_000, '30d': 2_592_000, '7d': 604_800, '24h': 86_400 } as const;
export type ChartRange = keyof typeof CHART_RANGES;

export interface ChartInput {
  readonly series: ChainSeriesName;
  readonly range: ChartRange;
  /** Maximum number of points. */
  readonly points: number;
}

/** A series over the active chain. Each point stands for consecutive blocks, and has the time of the last of them. */
export interface Chart {
  readonly unit: string;
  /** Heights of the first and the last block; null without a block behind the genesis block. */
  readonly fromHeight: number | null;
  readonly toHeight: number | null;
  readonly points: readonly (readonly [time: number, value: number])[];
}

/** Returns a chart with points for equal numbers of blocks; those without data are left out. */
export function chartOf(env: ReadEnv, { series, range, points }: ChartInput): Chart {
  const { unit, read, isSummed = false }: Series = SERIES[series];
  const { headers } = env.reads;
  const toHeight = env.tip.height;
  const fromHeight = firstHeight(env, CHART_RANGES[range]);
  const blocks = toHeight - fromHeight + 1;
  if (blocks <= 0) return { unit, fromHeight: null, toHeight: null, points: [] };
  const count = Math.min(points, blocks);
  env.expectWork(count * HEADER_US);
  if (isSummed) env.expectWork(Math.min(blocks, count * ENDS_US));
  if (isSummed) headers.sumPages.readPages(fromHeight, toHeight, env.expectWork);
  const heightAt = (i: number) => fromHeight - 1 + Math.round((i * blocks) / count);
  env.reads.expectRows({ heights: Array.from({ length: count + 1 }, (_, i) => heightAt(i)) });
  const found: [number, number][] = [];
  for (let [i, before] = [1, headers.byHeight(heightAt(0))!]; i <= count; i++) {
    env.expectWork(0);
    const last = headers.byHeight(heightAt(i))!;
    const value = read(env, { before, last });
    if (value !== null) found.push([headerTime(last), double(value)]);
    before = last;
  }
  return { unit, fromHeight, toHeight, points: found };
}

/**
 * Returns the height of the first block of a chart: the lowest one whose median time is within `length` seconds of that
 * of the tip, but not the genesis block.
 */
function firstHeight({ reads, tip }: ReadEnv, length: number | null): number {
  return length === null ? 1 : reads.firstHeightSince(medianTime(reads, tip) - length);
}
