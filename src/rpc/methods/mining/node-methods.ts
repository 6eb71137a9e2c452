import { retargetInterval } from '../../../consensus/consensus-params.ts';
import { nextWorkRequired } from '../../../consensus/difficulty.ts';
import { targetToHex } from '../../../consensus/work.ts';
import { coins, double } from '../../../http/core-number.ts';
import { minimumTime } from '../../../mining/minimum-time.ts';
import type { NodeStatus } from '../../../port/node-port.ts';
import { hashToHex } from '../../../primitives/hash.ts';
import { headerBits, headerTime, medianTime, workFields } from '../../../queries/block-facts.ts';
import { blockFileBytes } from '../../../queries/block-file-bytes.ts';
import { mempoolTotals } from '../../../queries/mempool-totals.ts';
import { networkHashrate } from '../../../queries/network-hashrate.ts';
import { StoredEntry } from '../../../queries/stored-entry.ts';
import { systemClock, unixSeconds } from '../../../util/clock.ts';
import { example } from '../../engine/example.ts';
import { nodeMethod, type RpcMethod, rpcMethod } from '../../engine/method.ts';
import { integerParam, optional } from '../../engine/params.ts';
import { rpcFail } from '../../engine/rpc-error.ts';
import { bool, coinAmount, hashStr, hexStr, int, maybe, num, obj, str, unixTime } from '../../engine/schema.ts';
import { operatorWarnings } from '../network/operator-warnings.ts';
import { warnings } from '../schemas.ts';

const HASHRATE_BLOCKS = 120;

const getblockchaininfo = nodeMethod({
  name: 'getblockchaininfo',
  category: 'blockchain',
  help: 'Returns the state of the chain.',
  params: [],
  result: obj({
    chain: str('main, testnet4, signet or regtest'),
    blocks: int('height of the tip'),
    headers: int('height of the best header'),
    bestblockhash: hashStr('hash of the tip'),
    bits: hexStr('target in compact form'),
    target: hashStr('the highest valid hash'),
    difficulty: num('difficulty'),
    time: unixTime('time of the tip'),
    mediantime: unixTime('median time of the last eleven blocks'),
    verificationprogress: num('estimated share of the verified transactions, 0 to 1'),
    initialblockdownload: bool('whether the node is in initial block download'),
    backgroundvalidation: maybe(
      obj(
        {
          snapshotheight: int('height of the block of the set'),
          blocks: int('height of the last validated block'),
          bestblockhash: hashStr('hash of that block'),
          mediantime: unixTime('median time of the last eleven blocks'),
          verificationprogress: num('estimated share of the verified transactions, 0 to 1'),
          chainwork: hashStr('expected number of hashes for that chain'),
        },
        'while the chain behind a loaded UTXO set is validated',
      ),
    ),
    chainwork: hashStr('expected number of hashes for the active chain'),
    size_on_disk: int('bytes of block and undo files'),
    pruned: bool('whether block files are pruned'),
    pruneheight: maybe(int('if blocks are pruned: height from which on all blocks are stored')),
    automatic_pruning: maybe(bool('if blocks are pruned: whether a target is kept')),
    prune_target_size: maybe(int('if a target is kept: size of block and undo files, bytes')),
    signet_challenge: maybe(hexStr('on signets')),
    warnings,
  }),
  scope: 'read',
  async run({ ctx, read }) {
    const size_on_disk = await blockFileBytes(ctx.options.chainDir);
    const status = ctx.node().status();
    return read(({ reads, tip, params, settings: { prune } }) => {
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
        ...backgroundValidation(status),
        chainwork: targetToHex(tip.chainwork),
        size_on_disk,
        pruned: prune !== null,
        ...(prune && {
          pruneheight: reads.pruneHeight() ?? 0,
          automatic_pruning: prune.target !== null,
          ...(prune.target !== null && { prune_target_size: prune.target }),
        }),
        ...signetChallenge(params.consensus.signetChallenge),
        warnings: operatorWarnings(status),
      };
    });
  },
});

function backgroundValidation({ background }: NodeStatus) {
  if (background === null || background.validated) return null;
  return {
    backgroundvalidation: {
      snapshotheight: background.baseHeight,
      blocks: background.height,
      bestblockhash: background.hash,
      mediantime: background.medianTime,
      verificationprogress: double(background.verificationProgress),
      chainwork: targetToHex(background.chainwork),
    },
  };
}

function signetChallenge(challenge: Uint8Array | null) {
  return challenge && { signet_challenge: challenge.toHex() };
}

const MINING = obj({
  blocks: int('height of the tip'),
  currentblockweight: maybe(int('weight of the last block template')),
  currentblocktx: maybe(int('transactions of the last block template, without the coinbase')),
  bits: hexStr('target in compact form'),
  difficulty: num('difficulty'),
  target: hashStr('the highest valid hash'),
  networkhashps: num('estimated hashes per second'),
  pooledtx: int('transactions in the mempool'),
  blockmintxfee: coinAmount('lowest feerate in a template, per 1,000 virtual bytes'),
  chain: str('name of the network'),
  signet_challenge: maybe(hexStr('on signets')),
  next: obj(
    {
      height: int('height of the next block'),
      bits: hexStr('target in compact form'),
      difficulty: num('difficulty'),
      target: hashStr('the highest valid hash'),
    },
    'the next block',
  ),
  warnings,
});

const getmininginfo = nodeMethod({
  name: 'getmininginfo',
  category: 'mining',
  help: 'Returns the state of the chain and of the mempool as far as it concerns mining.',
  params: [],
  result: MINING,
  scope: 'read',
  async run({ ctx, read, settings }) {
    const last = await ctx.node().call('lastAssembled');
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
        blockmintxfee: coins(settings.blockMinFeerate),
        chain: params.name,
        ...signetChallenge(params.consensus.signetChallenge),
        next: { height: tip.height + 1, bits: next.bits, difficulty: next.difficulty, target: next.target },
        warnings: operatorWarnings(ctx.node().status()),
      };
    });
  },
});

const getnetworkhashps = rpcMethod({
  name: 'getnetworkhashps',
  category: 'mining',
  help: 'Estimates the hashrate of the network from the work and the times of blocks.',
  params: [
    optional(
      integerParam('nblocks', {
        note: 'Number of blocks to use; -1 for those since the last change of the difficulty.',
      }),
      HASHRATE_BLOCKS,
    ),
    optional(integerParam('height', { note: 'Height of the last block to use; -1 for the tip.' }), -1),
  ],
  result: num('hashes per second'),
  examples: [example([]), example([144, 100])],
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

const getmempoolinfo = nodeMethod({
  name: 'getmempoolinfo',
  category: 'blockchain',
  help: 'Returns the state of the mempool and its limits.',
  params: [],
  result: obj({
    loaded: bool('whether the saved mempool of the last run was imported'),
    size: int('transactions'),
    bytes: int('virtual bytes'),
    usage: int('bytes of memory'),
    total_fee: coinAmount('base fees of all transactions'),
    maxmempool: int('limit of usage, bytes'),
    mempoolminfee: coinAmount('lowest accepted feerate at present, per 1,000 virtual bytes'),
    minrelaytxfee: coinAmount('minimum relay feerate, per 1,000 virtual bytes'),
    incrementalrelayfee: coinAmount('feerate that a replacement must add, per 1,000 virtual bytes'),
    unbroadcastcount: int('transactions that no peer has requested yet'),
    permitbaremultisig: bool('whether bare multisig outputs are accepted'),
    maxdatacarriersize: int('bytes of OP_RETURN outputs that are accepted'),
    limitclustercount: int('transactions per cluster'),
    limitclustersize: int('virtual bytes per cluster'),
    optimal: bool('whether every cluster has its best linearization'),
    fullrbf: maybe(bool('true: any transaction can be replaced; only with rpc.deprecated = "fullrbf"')),
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
      // Every cluster is linearized when it changes.
      optimal: true,
      ...(env.settings.deprecated.includes('fullrbf') && { fullrbf: true }),
    };
  },
});

export const nodeMethods: readonly RpcMethod[] = [getblockchaininfo, getmininginfo, getnetworkhashps, getmempoolinfo];
