import { coins } from '../../../http/core-number.ts';
import type { FeerateRange } from '../../../mempool/fees/confirmation-stats.ts';
import type { Estimate, EstimateRequest, RawEstimate } from '../../../mempool/fees/fee-estimator.ts';
import { MAX_CONFIRM_TARGET } from '../../../policy/relay-options.ts';
import { example } from '../../engine/example.ts';
import { member, type RpcObject } from '../../engine/json.ts';
import { type MainThreadEnv, nodeMethod, type RpcMethod } from '../../engine/method.ts';
import {
  checkMembers,
  integerParam,
  numberParam,
  optional,
  options,
  readInteger,
  textParam,
} from '../../engine/params.ts';
import { rpcFail } from '../../engine/rpc-error.ts';
import { arr, bool, coinAmount, int, maybe, noted, num, obj, str } from '../../engine/schema.ts';

const ESTIMATE_MODES = ['unset', 'economical', 'conservative'];
const ESTIMATORS = ['none', 'block_policy', 'mempool_policy'] as const;
const NO_RAW_ESTIMATE = 'Insufficient data or no feerate found which meets threshold';

const RANGE = obj({
  startrange: int('lowest feerate, satoshis per 1,000 virtual bytes'),
  endrange: int('highest feerate, satoshis per 1,000 virtual bytes'),
  withintarget: num('transactions confirmed within the target'),
  totalconfirmed: num('transactions confirmed at any time'),
  inmempool: num('transactions unconfirmed for at least the target'),
  leftmempool: num('transactions that left the mempool unconfirmed'),
});
const HORIZON = obj({
  feerate: maybe(coinAmount('per 1,000 virtual bytes')),
  decay: num('factor per block by which older data counts less'),
  scale: int('resolution of targets in blocks'),
  pass: maybe(noted(RANGE, 'the lowest range that meets the threshold')),
  fail: maybe(noted(RANGE, 'the highest range that does not')),
  errors: maybe(arr(str(), 'reason for which there is no feerate')),
});

const estimatesmartfee = nodeMethod({
  name: 'estimatesmartfee',
  category: 'util',
  help: 'Estimates the feerate at which a transaction confirms within a number of blocks. Without enough data the result is the minimum relay feerate with a warning, unless strict or fees.fallback=false forbids that.',
  params: [
    optional(integerParam('conf_target', { note: 'Blocks until the confirmation, 1 to 1008.' }), 6),
    optional(
      textParam('estimate_mode', {
        note: 'economical, conservative or unset, in any case. conservative uses a longer history; unset means economical.',
      }),
      'economical',
    ),
    optional(
      options(
        'options',
        {
          fee_rate_estimator: str('block_policy, mempool_policy, or none, the default, for the lower of both'),
          verbosity: int('2 adds mempool_health_statistics; 1 by default'),
          strict: bool('whether the call fails rather than return the minimum relay feerate; false by default'),
        },
        {
          oneline: '{"fee_rate_estimator":"str","verbosity":n,"strict":bool}',
          note: 'Choice of the estimator and of the detail.',
        },
      ),
      {},
    ),
  ],
  result: obj({
    feerate: maybe(coinAmount('per 1,000 virtual bytes; absent without an estimate')),
    estimator: maybe(str('block_policy, mempool_policy, or floor for the minimum relay feerate')),
    errors: maybe(arr(str(), 'reason for which there is no estimate')),
    blocks: int('target for which the estimate holds; 0 without an estimate'),
    warnings: maybe(arr(str(), 'reason for which the minimum relay feerate is returned')),
    mempool_health_statistics: maybe(
      arr(
        obj({
          block_height: int('height of the block'),
          block_weight: int('weight of the block'),
          mempool_txs_weight: int('weight of the transactions that were in the mempool before the block'),
        }),
        'latest blocks, from which the estimator decides whether to trust the mempool; verbosity 2',
      ),
    ),
  }),
  examples: [example([6]), example([2, 'conservative']), example({ conf_target: 6, strict: true })],
  scope: 'read',
  async run(env, target, mode, given: RpcObject) {
    checkTarget(target);
    checkMode(mode);
    checkMembers(given, { fee_rate_estimator: 'string', verbosity: 'number', strict: 'bool' });
    const estimator = readEstimator((member(given, 'fee_rate_estimator') as string | null) ?? 'none');
    const level = member(given, 'verbosity');
    const found = await estimate(env, {
      target,
      conservative: mode.toLowerCase() === 'conservative',
      estimator,
      strict: member(given, 'strict') === true,
    });
    return {
      ...estimateView(found, estimator === 'none'),
      ...(level !== null && readInteger(level) >= 2 && { mempool_health_statistics: await coverage(env) }),
    };
  },
});

const estimatefee = nodeMethod({
  name: 'estimatefee',
  category: 'util',
  help: 'Returns the feerate of estimatesmartfee as a number.',
  params: [optional(integerParam('nblocks', { note: 'Blocks until the confirmation, 1 to 1008.' }), 6)],
  result: num('coins per 1,000 virtual bytes; -1 without an estimate'),
  examples: [example([6])],
  scope: 'read',
  async run(env, target) {
    checkTarget(target);
    const { feerate } = await estimate(env, { target, conservative: false, estimator: 'none', strict: false });
    return feerate === null ? -1 : coins(feerate);
  },
});

const estimaterawfee = nodeMethod({
  name: 'estimaterawfee',
  hidden: true,
  category: 'util',
  help: 'Returns the data behind the block policy estimate of a target, for each horizon that covers it.',
  params: [
    integerParam('conf_target', { note: 'Blocks until the confirmation, 1 to 1008.' }),
    optional(
      numberParam('threshold', {
        note: 'Share of the transactions of a feerate range that must have confirmed within the target, 0 to 1.',
      }),
      0.95,
    ),
  ],
  result: obj({
    short: maybe(noted(HORIZON, 'short horizon; only for targets up to 12')),
    medium: maybe(noted(HORIZON, 'medium horizon; only for targets up to 48')),
    long: maybe(noted(HORIZON, 'long horizon')),
  }),
  examples: [example([6]), example([6, 0.9])],
  scope: 'read',
  async run({ ctx }, target, threshold) {
    checkTarget(target);
    if (threshold < 0 || threshold > 1) return rpcFail('invalidParameter', 'Invalid threshold');
    const found = await ctx.node().call('estimateRawFee', target, threshold);
    return Object.fromEntries(found.map((raw) => [raw.horizon, rawView(raw)]));
  },
});

export function checkTarget(target: number): void {
  if (target < 1 || target > MAX_CONFIRM_TARGET)
    rpcFail('invalidParameter', `Invalid conf_target, must be between 1 and ${MAX_CONFIRM_TARGET}`);
}

export function checkMode(mode: string): void {
  if (ESTIMATE_MODES.includes(mode.toLowerCase())) return;
  const known = ESTIMATE_MODES.map((name) => `"${name}"`).join(', ');
  rpcFail('invalidParameter', `Invalid estimate_mode parameter, must be one of: ${known}`);
}

/** An unknown name means none, as in Core. */
function readEstimator(name: string): EstimateRequest['estimator'] {
  return ESTIMATORS.find((known) => known === name.toLowerCase()) ?? 'none';
}

function estimate({ ctx, settings }: MainThreadEnv, question: EstimateRequest): Promise<Estimate> {
  return ctx.node().call('estimateFee', { ...question, strict: question.strict || !settings.feeFallback });
}

function estimateView(found: Estimate, withName: boolean) {
  if (found.feerate === null) return { errors: [found.error], blocks: found.blocks };
  const { feerate, estimator, blocks, warnings } = found;
  return {
    feerate: coins(feerate),
    ...(withName && { estimator }),
    blocks,
    ...(warnings.length > 0 && { warnings }),
  };
}

async function coverage({ ctx }: MainThreadEnv) {
  const blocks = await ctx.node().call('mempoolCoverage');
  return blocks.toReversed().map(({ height, weight, knownWeight }) => ({
    block_height: height,
    block_weight: weight,
    mempool_txs_weight: knownWeight,
  }));
}

function rawView({ feerate, pass, fail, decay, scale }: RawEstimate) {
  if (feerate === null) return { decay, scale, ...(fail && { fail: rangeView(fail) }), errors: [NO_RAW_ESTIMATE] };
  return {
    feerate: coins(Math.round(feerate)),
    decay,
    scale,
    ...(pass && { pass: rangeView(pass) }),
    ...(fail && { fail: rangeView(fail) }),
  };
}

function rangeView({ start, end, withinTarget, totalConfirmed, inMempool, leftMempool }: FeerateRange) {
  const hundredths = (value: number) => Math.round(value * 100) / 100;
  return {
    startrange: Math.round(start),
    endrange: Math.round(end),
    withintarget: hundredths(withinTarget),
    totalconfirmed: hundredths(totalConfirmed),
    inmempool: hundredths(inMempool),
    leftmempool: hundredths(leftMempool),
  };
}

export const feeMethods: readonly RpcMethod[] = [estimatesmartfee, estimatefee, estimaterawfee];
