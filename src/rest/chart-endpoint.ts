import { t } from 'elysia';
import { invalid, numberInput } from '../http/input.ts';
import { json } from '../http/route-description.ts';
import { jsonAnswer } from '../queries/answer.ts';
import { tipView } from '../queries/block-facts.ts';
import {
  CHART_RANGES,
  type ChartInput,
  type ChartRange,
  chartOf,
  SERIES_MEANINGS,
  SERIES_NAMES,
  type SeriesName,
} from '../queries/chart-series.ts';
import { readEndpoint } from './endpoint.ts';
import { choice, wholeNumber } from './parameters.ts';
import { CHART } from './schemas/chain-schemas.ts';

const MAX_POINTS = 500;
const DEFAULT_POINTS = 100;
const RANGES = Object.keys(CHART_RANGES) as [ChartRange, ...ChartRange[]];

/** A series over the active chain. */
export const chartEndpoint = readEndpoint({
  name: 'chart',
  path: '/api/chart/:series',
  tag: 'chain',
  summary: 'A series over the active chain',
  description:
    `Each point stands for the same number of blocks, and has the time of the last of them. ${SERIES_MEANINGS.join('; ')}. ` +
    'Points without data are left out.',
  params: {
    series: t.String({
      description: 'name of the series',
      documented: { type: 'string', enum: [...SERIES_NAMES], examples: ['difficulty'] },
    }),
  },
  query: {
    range: choice(RANGES, 'the time before the tip'),
    points: wholeNumber('maximum number of points', { minimum: 1, maximum: MAX_POINTS, default: DEFAULT_POINTS }),
  },
  response: json(CHART),
  input({ params, query }): ChartInput {
    const series = SERIES_NAMES.find((name) => name === params.series);
    return {
      series: series ?? unknownSeries(),
      range: query.range ?? RANGES[0],
      points: numberInput(query, 'points', { min: 1, max: MAX_POINTS, fallback: DEFAULT_POINTS }),
    };
  },
  run(env, input) {
    const { unit, fromHeight, toHeight, points } = chartOf(env, input);
    return jsonAnswer({ series: input.series, unit, fromHeight, toHeight, points, tip: tipView(env.tip) });
  },
});

function unknownSeries(): SeriesName {
  return invalid('series', `must be one of ${SERIES_NAMES.join(', ')}`);
}
