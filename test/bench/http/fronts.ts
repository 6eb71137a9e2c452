import { grouped, percentile, printGrid } from '../report.ts';

/** Rows of the comparison of fronts: kinds of requests that clients repeat, some of a few microseconds. */
export const FRONT_ROWS: readonly string[] = ['healthz', 'info', 'tx', 'address', 'mempool', 'rpc getblockcount'];

/** Measurements of one kind of request, one value per round. */
export interface FrontSeries {
  readonly perSecond: readonly number[];
  readonly processorUs: readonly number[];
}

export interface FrontRow {
  readonly name: string;
  /** With several fronts, and with one. */
  readonly several: FrontSeries;
  readonly one: FrontSeries;
  /** A bare Bun.serve with as many threads, and with one. */
  readonly bareSeveral: FrontSeries;
  readonly bareOne: FrontSeries;
}

/**
 * Prints what `count` fronts on one core lose against one: in requests a second, and in requests for a second of processor
 * time of the whole process. A ratio is the median of the rounds, in each of which both met the same load of the machine.
 * What a bare Bun.serve loses with as many threads stands beside it: the ratio of the node divided by that of the bare server
 * is the share that is left to the node's own code.
 */
export function reportFronts(rows: readonly FrontRow[], count: number): void {
  console.log(
    `the fronts share one core, and the client has another; ratios of ${count} fronts to one are medians of the rounds\n`,
  );
  const found = rows.map(({ name, several, one, bareSeveral, bareOne }) => {
    const perSecond = ratios(several.perSecond, one.perSecond);
    // Requests for a second are the inverse of the time of each.
    const perProcessorSecond = ratios(one.processorUs, several.processorUs);
    const barePerSecond = ratios(bareSeveral.perSecond, bareOne.perSecond);
    const barePerProcessorSecond = ratios(bareOne.processorUs, bareSeveral.processorUs);
    return { name, several, one, perSecond, perProcessorSecond, barePerSecond, barePerProcessorSecond };
  });
  printGrid(
    [
      '',
      'req/s of 1',
      `of ${count}`,
      'ratio',
      'quartiles',
      'bare',
      'req per CPU s of 1',
      `of ${count}`,
      'ratio',
      'bare',
    ],
    found.map(({ name, several, one, perSecond, perProcessorSecond, barePerSecond, barePerProcessorSecond }) => [
      name,
      grouped(median(one.perSecond)),
      grouped(median(several.perSecond)),
      median(perSecond).toFixed(3),
      `${quantile(perSecond, 0.25).toFixed(3)} … ${quantile(perSecond, 0.75).toFixed(3)}`,
      median(barePerSecond).toFixed(3),
      grouped(1e6 / median(one.processorUs)),
      grouped(1e6 / median(several.processorUs)),
      median(perProcessorSecond).toFixed(3),
      median(barePerProcessorSecond).toFixed(3),
    ]),
  );
  const all = (key: 'perSecond' | 'perProcessorSecond' | 'barePerSecond' | 'barePerProcessorSecond') =>
    found.map((row) => median(row[key]));
  const line = (values: readonly number[]) => [median(values).toFixed(3), Math.min(...values).toFixed(3)];
  printGrid(
    [`${count} fronts to one`, 'median of the rows', 'least'],
    [
      ['requests a second', ...line(all('perSecond'))],
      ['requests a second, bare Bun.serve', ...line(all('barePerSecond'))],
      ['requests per CPU second', ...line(all('perProcessorSecond'))],
      ['requests per CPU second, bare Bun.serve', ...line(all('barePerProcessorSecond'))],
    ],
  );
}

function ratios(values: readonly number[], others: readonly number[]): number[] {
  return values.map((value, round) => value / others[round]!);
}

function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

function quantile(values: readonly number[], share: number): number {
  return percentile(
    values.toSorted((a, b) => a - b),
    share,
  );
}
