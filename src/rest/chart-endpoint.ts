import { t } from 'elysia';
import { invalid, numberInput, type Query } from '../http/input.ts';
import { json } from '../http/route-description.ts';
import { jsonAnswer } from '../queries/answer.ts';
import { tipView } from '../queries/block-facts.ts';
import {
  CHAIN_SERIES_MEANINGS,
  CHAIN_SERIES_NAMES,
  CHART_RANGES,
  type ChartInput,
  type ChartRange,
  chartOf,
  SERIES_NAMES,
  STATE_SERIES_MEANINGS,
  STATE_SERIES_NAMES,
  type StateSeriesName,
  unitOfState,
} from '../queries/chart-series.ts';
import { UNITS_PER_CALL } from './call-costs.ts';
import { type Endpoint, readEndpoint } from './endpoint.ts';
import { choice, wholeNumber } from './parameters.ts';
import type { RestContext } from './rest-context.ts';
import { CHART } from './schemas/chain-schemas.ts';

const MAX_POINTS = 500;
const DEFAULT_POINTS = 100;
const RANGES = Object.keys(CHART_RANGES) as [ChartRange, ...ChartRange[]];

const chainChart = readEndpoint({
  name: 'chart',
  path: '/api/chart/:series',
  tag: 'chain',
  summary: 'A series over the active chain, or of the state of the node',
  description:
    'In a series over the chain each point stands for the same number of blocks, and has the time of the last of them. ' +
    `${CHAIN_SERIES_MEANINGS.join('; ')}. A series of the state of the node has one sample a minute; each point is their ` +
    'mean over `interval` seconds, and has the time at which these begin. Minutes are kept for a day, ten minutes for 30 ' +
    `days, two hours for 366 days, days for ten years. ${STATE_SERIES_MEANINGS.join('; ')}. Points without data are left ` +
    'out, so a gap shows when the node was not running. A hundred points cost one call.',
  params: {
    series: t.String({
      description: 'name of the series',
      documented: { type: 'string', enum: [...SERIES_NAMES], examples: ['difficulty'] },
    }),
  },
  query: {
    range: choice(RANGES, 'the time before the tip, or before now for the state of the node'),
    points: wholeNumber('maximum number of points', { minimum: 1, maximum: MAX_POINTS, default: DEFAULT_POINTS }),
  },
  response: json(CHART),
  input({ params, query }, { charge }): ChartInput {
    const series = CHAIN_SERIES_NAMES.find((name) => name === params.series);
    if (!series) return invalid('series', `must be one of ${SERIES_NAMES.join(', ')}`);
    const points = pointsOf(query);
    charge(extraCost(points));
    return { series, range: query.range ?? RANGES[0], points };
  },
  run(env, input) {
    const { unit, fromHeight, toHeight, points } = chartOf(env, input);
    const { series } = input;
    return jsonAnswer({ series, unit, fromHeight, toHeight, interval: null, points, tip: tipView(env.tip) });
  },
});

/** A series over the active chain, or of the samples of the state of the node, which the node thread has. */
export const chartEndpoint: typeof chainChart = {
  ...chainChart,
  serve(ctx, service) {
    const serveChain = chainChart.serve(ctx, service);
    return (asked) => {
      const series = STATE_SERIES_NAMES.find((name) => name === asked.params.series);
      return series ? stateChart(ctx, service, series, asked) : serveChain(asked);
    };
  },
};

type ChartRequest = Parameters<ReturnType<Endpoint['serve']>>[0];

async function stateChart(
  ctx: RestContext,
  service: Parameters<Endpoint['serve']>[1],
  series: StateSeriesName,
  { query, request }: ChartRequest,
): Promise<object> {
  const points = pointsOf(query as Query);
  ctx.call(request).charge(extraCost(points));
  const length = CHART_RANGES[(query.range as ChartRange | undefined) ?? RANGES[0]];
  const sampled = await ctx.node().call('sampledSeries', { series, length, points });
  const figures = { series, unit: unitOfState(series), fromHeight: null, toHeight: null, ...sampled };
  return service.reply((env) => ({ ...jsonAnswer({ ...figures, tip: tipView(env.tip) }), freshness: 'body' }), request);
}

function pointsOf(query: Query): number {
  return numberInput(query, 'points', { min: 1, max: MAX_POINTS, fallback: DEFAULT_POINTS });
}

function extraCost(points: number): number {
  return Math.ceil(points / UNITS_PER_CALL.chartPoints) - 1;
}
