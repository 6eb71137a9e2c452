import { MAX_CONFIRM_TARGET } from '../../policy/relay-options.ts';
import { parseAddress } from '../../script/address.ts';
import { systemClock, unixSeconds } from '../../util/clock.ts';
import { listingRecord } from '../readers/listing.ts';
import { mempoolTotals } from '../readers/mempool-totals.ts';
import { isSynced } from '../synced.ts';
import { coins } from '../views/core-number.ts';
import { member, type RpcObject } from './json.ts';
import { type FrontEnv, nodeMethod, rpcMethod } from './method.ts';
import { checkMembers, integer, optional, options, readInteger, text } from './params.ts';
import { rpcFail } from './rpc-error.ts';

const ESTIMATE_MODES = ['unset', 'economical', 'conservative'];
const NO_ESTIMATE = 'Insufficient data or no feerate found';

export const getlistingmetadata = nodeMethod({
  name: 'getlistingmetadata',
  category: 'util',
  help: 'The listing record of the coin, the same as GET /api/listing.',
  params: [],
  result: 'an object',
  scope: 'read',
  run: ({ ctx, read }) => read((env) => listingRecord(env, { synced: isSynced(ctx, env) })),
});

export const validateaddress = rpcMethod({
  name: 'validateaddress',
  category: 'util',
  help: 'Whether an address is valid, and what it stands for.',
  params: [text('address')],
  result: 'an object',
  scope: 'read',
  run({ params }, given) {
    const parsed = parseAddress(given, params.address);
    if (!parsed.ok) return { isvalid: false, error_locations: parsed.errorLocations, error: parsed.error };
    const { address, script, type, witnessVersion, witnessProgram } = parsed;
    const keyHash = type === 'pubkeyhash' || type === 'witness_v0_keyhash';
    return {
      isvalid: true,
      address,
      scriptPubKey: script.toHex(),
      ...(type !== 'witness_unknown' && { isscript: !keyHash }),
      iswitness: witnessVersion !== null,
      ...(type !== 'anchor' &&
        witnessVersion !== null && { witness_version: witnessVersion, witness_program: witnessProgram!.toHex() }),
    };
  },
});

/**
 * There is no mempool and no history to estimate from, so the answer is the least rate that is relayed; or Core's
 * failure, where that was asked for or the node is not in sync.
 */
function estimate(env: FrontEnv, target: number, core: boolean) {
  if (target < 1 || target > MAX_CONFIRM_TARGET)
    return rpcFail('invalidParameter', `Invalid conf_target, must be between 1 and ${MAX_CONFIRM_TARGET}`);
  const { params, node } = env.ctx;
  const syncing = node().status().initialBlockDownload && params.name !== 'regtest';
  return core || syncing ? null : mempoolTotals(env).minFeerate;
}

function readMode(mode: string): void {
  if (ESTIMATE_MODES.includes(mode.toLowerCase())) return;
  const known = ESTIMATE_MODES.map((name) => `"${name}"`).join(', ');
  rpcFail('invalidParameter', `Invalid estimate_mode parameter, must be one of: ${known}`);
}

export const estimatesmartfee = nodeMethod({
  name: 'estimatesmartfee',
  category: 'util',
  help: 'The fee rate, coins per 1,000 virtual bytes, for a confirmation within a number of blocks.',
  params: [
    optional(integer('conf_target'), 6),
    optional(text('estimate_mode'), 'economical'),
    optional(
      options('options', ['fee_rate_estimator', 'verbosity', 'strict'], {
        oneline: '{"fee_rate_estimator":"str","verbosity":n,"strict":bool}',
      }),
      {},
    ),
  ],
  result: 'an object',
  scope: 'read',
  run(env, target, mode, given: RpcObject) {
    if (target >= 1 && target <= MAX_CONFIRM_TARGET) readMode(mode);
    checkMembers(given, { fee_rate_estimator: 'string', verbosity: 'number', strict: 'bool' });
    const estimator = member(given, 'fee_rate_estimator') ?? 'none';
    const named = estimator === 'block_policy' || estimator === 'mempool_policy';
    const level = member(given, 'verbosity');
    const detailed = level !== null && readInteger(level) >= 2;
    const feerate = estimate(env, target, named || member(given, 'strict') === true);
    return {
      ...(feerate === null
        ? { errors: [NO_ESTIMATE], blocks: 0 }
        : {
            feerate: coins(feerate),
            estimator: 'floor',
            blocks: target,
            warnings: ['insufficient data, minimum relay rate returned'],
          }),
      ...(detailed && { mempool_health_statistics: [] }),
    };
  },
});

export const estimatefee = nodeMethod({
  name: 'estimatefee',
  category: 'util',
  help: 'The fee rate of estimatesmartfee as a bare number; -1 where there is none.',
  params: [optional(integer('nblocks'), 6)],
  result: 'a number',
  scope: 'read',
  run(env, target) {
    const feerate = estimate(env, target, false);
    return feerate === null ? -1 : coins(feerate);
  },
});

export const uptime = nodeMethod({
  name: 'uptime',
  category: 'control',
  help: 'Seconds since the node was started.',
  params: [],
  result: 'a number',
  scope: 'read',
  run: ({ ctx }) => Math.max(0, unixSeconds(systemClock) - ctx.startedAt),
});
