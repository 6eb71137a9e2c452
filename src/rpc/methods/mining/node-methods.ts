import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { retargetInterval } from '../../../consensus/consensus-params.ts';
import { nextWorkRequired } from '../../../consensus/difficulty.ts';
import { targetToHex } from '../../../consensus/work.ts';
import { coins, double } from '../../../http/core-number.ts';
import { minimumTime } from '../../../mining/minimum-time.ts';
import { BLOCK_MIN_FEERATE } from '../../../policy/relay-options.ts';
import { hashToHex } from '../../../primitives/hash.ts';
import { headerBits, headerTime, medianTime, workFields } from '../../../queries/block-facts.ts';
import { mempoolTotals } from '../../../queries/mempool-totals.ts';
import { networkHashrate } from '../../../queries/network-hashrate.ts';
import { StoredEntry } from '../../../queries/stored-entry.ts';
import { systemClock, unixSeconds } from '../../../util/clock.ts';
import { nodeMethod, rpcMethod } from '../../engine/method.ts';
import { integer, optional } from '../../engine/params.ts';
import { rpcFail } from '../../engine/rpc-error.ts';
import { bool, coinAmount, hashStr, hexStr, int, maybe, num, obj, str, unixTime } from '../../engine/schema.ts';
import { operatorWarnings } from '../network/operator-warnings.ts';
import { warnings } from '../shapes.ts';

const DISK_USAGE_AGE_MS = 30_000;
const HASHRATE_BLOCKS = 120;

export const getblockchaininfo = nodeMethod({
  name: 'getblockchaininfo',
  category: 'blockchain',
  help: 'The state of the chain.',
  params: [],
  result: obj({
    chain: str('main, testnet4, signet, or regtest'),
    blocks: int('height of the tip'),
    headers: int('height of the best header'),
    bestblockhash: hashStr(),
    bits: hexStr(),
    target: hashStr(),
    difficulty: num(),
    time: unixTime('of the tip'),
    mediantime: unixTime('median of the last eleven'),
    verificationprogress: num('0 to 1, estimated'),
    initialblockdownload: bool(),
    chainwork: hashStr(),
    size_on_disk: int('bytes of block and undo files'),
    pruned: bool(),
    signet_challenge: maybe(hexStr('on signets')),
    warnings,
  }),
  scope: 'read',
  async run({ ctx, read }) {
    const size_on_disk = await blockBytes(ctx.options.chainDir);
    const status = ctx.node().status();
    return read(({ reads, tip, params }) => {
      const { bits, target, difficulty } = workFields(headerBits(tip));
      return {
        chain: params.name,
        blocks: tip.height,
        headers: status.headers,
        bestblockhash: hashToHex(tip.hash),
        bits,
        target,
        difficulty,
        time: headerTime(tip),
        mediantime: medianTime(reads, tip, true),
        verificationprogress: double(status.verificationProgress),
        initialblockdownload: status.initialBlockDownload,
        chainwork: targetToHex(tip.chainwork),
        size_on_disk,
        pruned: false,
        ...signetChallenge(params.consensus.signetChallenge),
        warnings: operatorWarnings(status),
      };
    });
  },
});

function signetChallenge(challenge: Uint8Array | null) {
  return challenge && { signet_challenge: challenge.toHex() };
}

const usages = new Map<string, { at: number; bytes: Promise<number> }>();

/** Bytes of the block and undo files; looked at no more than twice a minute. */
function blockBytes(chainDir: string): Promise<number> {
  const now = systemClock.monotonicMs();
  const known = usages.get(chainDir);
  if (known && now - known.at < DISK_USAGE_AGE_MS) return known.bytes;
  const bytes = sumFiles(join(chainDir, 'blocks'));
  usages.set(chainDir, { at: now, bytes });
  return bytes;
}

async function sumFiles(dir: string): Promise<number> {
  let total = 0;
  for (const name of await readdir(dir).catch(() => []))
    total += (await stat(join(dir, name)).catch(() => null))?.size ?? 0;
  return total;
}

const MINING = obj({
  blocks: int('height of the tip'),
  currentblockweight: maybe(int('of the block that was put together last')),
  currentblocktx: maybe(int('its transactions, without the coinbase')),
  bits: hexStr(),
  difficulty: num(),
  target: hashStr(),
  networkhashps: num(),
  pooledtx: int('unconfirmed transactions'),
  blockmintxfee: coinAmount('per 1,000 virtual bytes, to be in a block'),
  chain: str(),
  signet_challenge: maybe(hexStr('on signets')),
  next: obj({ height: int(), bits: hexStr(), difficulty: num(), target: hashStr() }),
  warnings,
});

export const getmininginfo = nodeMethod({
  name: 'getmininginfo',
  category: 'mining',
  help: 'What a miner wants to know.',
  params: [],
  result: MINING,
  scope: 'read',
  async run({ ctx, read }) {
    const last = await ctx.node().act('lastAssembled');
    return read((env) => {
      const { reads, tip, params } = env;
      const { bits, target, difficulty } = workFields(headerBits(tip));
      const entry = new StoredEntry(reads, tip);
      const time = Math.max(minimumTime(entry, params.consensus), unixSeconds(systemClock));
      const next = workFields(nextWorkRequired(entry, time, params.consensus));
      return {
        blocks: tip.height,
        ...(last && { currentblockweight: last.weight, currentblocktx: last.txs }),
        bits,
        difficulty,
        target,
        networkhashps: double(networkHashrate(env, tip, HASHRATE_BLOCKS)),
        pooledtx: ctx.mempool.mirror.entries.count,
        blockmintxfee: coins(BLOCK_MIN_FEERATE),
        chain: params.name,
        ...signetChallenge(params.consensus.signetChallenge),
        next: { height: tip.height + 1, bits: next.bits, difficulty: next.difficulty, target: next.target },
        warnings: operatorWarnings(ctx.node().status()),
      };
    });
  },
});

export const getnetworkhashps = rpcMethod({
  name: 'getnetworkhashps',
  category: 'mining',
  help: 'Hashes a second, estimated from the last blocks up to a height.',
  params: [optional(integer('nblocks'), HASHRATE_BLOCKS), optional(integer('height'), -1)],
  result: num('hashes a second'),
  scope: 'read',
  run(env, nblocks, height) {
    const { reads, tip, params } = env;
    if (nblocks < -1 || nblocks === 0)
      return rpcFail('invalidParameter', 'Invalid nblocks. Must be a positive number or -1.');
    if (height < -1 || height > tip.height)
      return rpcFail('invalidParameter', 'Block does not exist at specified height');
    const end = height >= 0 ? reads.headers.byHeight(height)! : tip;
    const lookup = nblocks === -1 ? (end.height % retargetInterval(params.consensus)) + 1 : nblocks;
    env.expectWork(Math.min(lookup, end.height) * 8);
    return double(networkHashrate(env, end, lookup));
  },
});

export const getmempoolinfo = nodeMethod({
  name: 'getmempoolinfo',
  category: 'blockchain',
  help: 'The state of the mempool.',
  params: [],
  result: obj({
    loaded: bool('the mempool of the last run was read'),
    size: int('transactions'),
    bytes: int('virtual bytes'),
    usage: int('bytes of memory'),
    total_fee: coinAmount(),
    maxmempool: int('bytes of memory'),
    mempoolminfee: coinAmount('per 1,000 virtual bytes, to come in'),
    minrelaytxfee: coinAmount('per 1,000 virtual bytes'),
    incrementalrelayfee: coinAmount('per 1,000 virtual bytes, to replace'),
    unbroadcastcount: int('that no peer has asked for yet'),
    permitbaremultisig: bool(),
    maxdatacarriersize: int('bytes'),
    limitclustercount: int('transactions'),
    limitclustersize: int('virtual bytes'),
    optimal: bool('all is in the best order'),
  }),
  scope: 'read',
  run(env) {
    const { relay } = env.settings;
    const totals = mempoolTotals(env);
    return {
      loaded: totals.loaded,
      size: totals.count,
      bytes: totals.vsize,
      usage: totals.usage,
      total_fee: coins(totals.totalFee),
      maxmempool: totals.maxUsage,
      mempoolminfee: coins(totals.minFeerate),
      minrelaytxfee: coins(totals.minRelayFeerate),
      incrementalrelayfee: coins(totals.incrementalFeerate),
      unbroadcastcount: totals.unbroadcast,
      permitbaremultisig: relay.permitBareMultisig,
      maxdatacarriersize: relay.datacarrier ?? 0,
      limitclustercount: relay.clusterCount,
      limitclustersize: relay.clusterVsize,
      // A cluster is put in order as soon as it changes.
      optimal: true,
    };
  },
});
