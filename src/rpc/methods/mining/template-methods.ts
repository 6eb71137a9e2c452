import { isBuriedActive } from '../../../consensus/deployments.ts';
import {
  MAX_BLOCK_SERIALIZED_SIZE,
  MAX_BLOCK_SIGOPS_COST,
  MAX_BLOCK_WEIGHT,
  WITNESS_SCALE_FACTOR,
} from '../../../consensus/limits.ts';
import type { TemplateView } from '../../../port/node-calls.ts';
import type { BlockHash } from '../../../primitives/hash.ts';
import { hashToHex } from '../../../primitives/hash.ts';
import { workFields } from '../../../queries/block-facts.ts';
import { DecodeError, hexToBytes } from '../../../util/bytes.ts';
import { example } from '../../engine/example.ts';
import { member, type RpcObject, type RpcValue } from '../../engine/json.ts';
import { JsonText, type MainThreadEnv, nodeMethod, type RpcMethod } from '../../engine/method.ts';
import { object, readHashValue, readString } from '../../engine/params.ts';
import { orFail, rpcFail } from '../../engine/rpc-error.ts';
import { anyOf, arr, hashStr, hexStr, int, mapOf, maybe, nil, obj, str, unixTime } from '../../engine/schema.ts';
import { newestTip, type Tip, waitForTip } from '../blockchain/tip-waits.ts';

/** Time after which a long poll ends for a changed mempool on the same tip, as in Core. */
const FIRST_MEMPOOL_CHECK_MS = 60_000;
/** Interval of the later checks of the mempool. */
const NEXT_MEMPOOL_CHECK_MS = 10_000;

const TEMPLATE = obj(
  {
    capabilities: arr(str(), 'supported features of BIP-23: proposal'),
    version: int('version of the block'),
    rules: arr(str(), 'active rules; a miner must know those with !'),
    vbavailable: mapOf('rule', int('bit of the version'), 'deployments that can be signalled'),
    vbrequired: int('bits of the version that must be set: none'),
    previousblockhash: hashStr('hash of the tip'),
    transactions: arr(
      obj({
        data: hexStr('bytes of the transaction'),
        txid: hashStr('id of the transaction'),
        hash: hashStr('hash with witnesses (wtxid)'),
        depends: arr(int(), 'parents, as positions in this list from 1'),
        fee: int('satoshis'),
        sigops: int('signature operations in the unit of sigoplimit'),
        weight: int('weight (BIP-141)'),
      }),
      'without the coinbase',
    ),
    coinbaseaux: mapOf('name', hexStr('data'), 'data that the input of the coinbase must contain: none'),
    coinbasevalue: int('subsidy and fees, satoshis'),
    longpollid: str('id for a call that waits for the next template'),
    target: hashStr('the highest valid hash'),
    mintime: unixTime('earliest valid time'),
    mutable: arr(str(), 'parts that the miner may change'),
    noncerange: hexStr('range of valid nonces'),
    sigoplimit: int('maximum cost of signature operations'),
    sizelimit: int('bytes'),
    weightlimit: maybe(int('maximum weight of the block')),
    curtime: unixTime('present time'),
    bits: hexStr('target in compact form'),
    height: int('height of the new block'),
    signet_challenge: maybe(hexStr('on signets')),
    default_witness_commitment: maybe(
      hexStr('output script of the witness commitment for the unchanged list of transactions'),
    ),
  },
  'mode template',
);

const getblocktemplate = nodeMethod({
  name: 'getblocktemplate',
  category: 'mining',
  help: 'Returns a template of the next block, or validates a proposed block (BIP-22, BIP-23, BIP-9, BIP-145).',
  params: [
    object('template_request', {
      oneline: '{"mode":"str","capabilities":["str",...],"rules":["segwit","str",...],"longpollid":"str","data":"hex"}',
      schema: obj({
        mode: maybe(str('template, the default, or proposal')),
        capabilities: maybe(arr(str(), 'accepted without effect')),
        rules: arr(str(), 'rules that the miner knows; segwit is required, and signet on signets'),
        longpollid: maybe(str('longpollid of an earlier template: the call waits until a template would differ')),
        data: maybe(hexStr('serialized block, for mode proposal')),
      }),
      note: 'Kind of the request and the rules that the miner supports.',
    }),
  ],
  result: anyOf(nil('mode proposal, the block is valid'), str('mode proposal: the reject reason'), TEMPLATE),
  examples: [example([{ rules: ['segwit'] }])],
  scope: 'mining',
  long: true,
  async run(env, request) {
    const mode = member(request, 'mode') ?? 'template';
    if (typeof mode !== 'string') return rpcFail('invalidParameter', 'Invalid mode');
    if (mode === 'proposal') return propose(env, request);
    const rules = clientRules(request);
    if (mode !== 'template') return rpcFail('invalidParameter', 'Invalid mode');
    checkReady(env);
    const { ctx } = env;
    const waitsFrom = member(request, 'longpollid');
    if (waitsFrom !== null) await longPoll(env, waitsFrom);
    if (ctx.params.consensus.signetChallenge && !rules.has('signet'))
      return rpcFail('invalidParameter', needsRule('signet', '["segwit", "signet"]'));
    if (!rules.has('segwit')) return rpcFail('invalidParameter', needsRule('segwit', '["segwit"]'));
    return template(env);
  },
});

function needsRule(rule: string, example: string): string {
  return `getblocktemplate must be called with the ${rule} rule set (call with {"rules": ${example}})`;
}

async function propose({ ctx }: MainThreadEnv, request: RpcObject): Promise<string | null> {
  const data = member(request, 'data');
  if (typeof data !== 'string') return rpcFail('type', 'Missing data String key for proposal');
  return orFail(await ctx.node().call('proposeBlock', readBlock(data)));
}

/** Returns the bytes of a block. Throws RpcError if the text is not hex. */
export function readBlock(hex: string): Uint8Array {
  try {
    return hexToBytes(hex);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return rpcFail('deserialization', 'Block decode failed');
  }
}

/** Returns the rules of the request; none if `rules` is not an array, as in Core. */
function clientRules(request: RpcObject): ReadonlySet<string> {
  const given = member(request, 'rules');
  return new Set(Array.isArray(given) ? (given as RpcValue[]).map(readString) : []);
}

/** Throws RpcError without peers or during the initial block download, when a mined block would be wasted; not on test networks. */
function checkReady({ ctx }: MainThreadEnv): void {
  if (ctx.params.isTestnet) return;
  const { peers, initialBlockDownload } = ctx.node().status();
  if (peers.inbound + peers.outbound === 0) rpcFail('clientNotConnected', 'Obverse is not connected!');
  if (initialBlockDownload)
    rpcFail('clientInInitialDownload', 'Obverse is in initial sync and waiting for blocks...', 'syncing');
}

/** Waits until the tip differs from that of an earlier template or the mempool has changed since. */
async function longPoll(env: MainThreadEnv, id: RpcValue): Promise<void> {
  const { ctx, signal } = env;
  // An id that is not a string means the current template, as in Core.
  const text = typeof id === 'string' ? id : newestTip(ctx).hash + (await ctx.node().call('mempoolChanges'));
  const watched = hashToHex(readHashValue<BlockHash>(text.slice(0, 64), 'longpollid'));
  const changes = Number.parseInt(text.slice(64), 10) || 0;
  const moved = (tip: Tip) => tip.hash !== watched;
  for (let ms = FIRST_MEMPOOL_CHECK_MS; !signal.aborted && !ctx.stopping.aborted; ms = NEXT_MEMPOOL_CHECK_MS) {
    if (moved(await waitForTip(env, moved, ms))) return;
    if ((await ctx.node().call('mempoolChanges')) !== changes) return;
  }
  if (ctx.stopping.aborted) rpcFail('clientNotConnected', 'Shutting down');
  signal.throwIfAborted();
}

async function newestTemplate({
  ctx,
  state,
}: MainThreadEnv): Promise<TemplateView & { readonly transactions: Uint8Array }> {
  const known = state.template;
  const made = await ctx.node().call('blockTemplate', known?.id ?? null);
  const transactions = made.transactions ?? known!.transactions;
  state.template = { id: made.id, transactions };
  return { ...made, transactions };
}

async function template(env: MainThreadEnv): Promise<JsonText> {
  const { consensus } = env.ctx.params;
  const made = await newestTemplate(env);
  const segwit = isBuriedActive('segwit', made.height, consensus);
  const scale = segwit ? 1 : WITNESS_SCALE_FACTOR;
  const signet = consensus.signetChallenge;
  // No known deployment needs the miner's support, so none is marked with !.
  const active = made.deployments.filter(({ state }) => state === 'active').map(({ name }) => name);
  const available = made.deployments.filter(({ state }) => state !== 'active').map(({ name, bit }) => [name, bit]);
  const { bits, target } = workFields(made.bits);
  const before = JSON.stringify({
    capabilities: ['proposal'],
    version: made.version,
    rules: ['csv', ...(segwit ? ['!segwit', 'taproot'] : []), ...(signet ? ['!signet'] : []), ...active],
    vbavailable: Object.fromEntries(available),
    vbrequired: 0,
    previousblockhash: made.previousHash,
  });
  const behind = JSON.stringify({
    coinbaseaux: {},
    coinbasevalue: made.coinbaseValue,
    longpollid: `${made.previousHash}${made.changes}`,
    target,
    mintime: made.minTime,
    mutable: ['time', 'transactions', 'prevblock'],
    noncerange: '00000000ffffffff',
    sigoplimit: MAX_BLOCK_SIGOPS_COST / scale,
    sizelimit: MAX_BLOCK_SERIALIZED_SIZE / scale,
    ...(segwit && { weightlimit: MAX_BLOCK_WEIGHT }),
    curtime: made.time,
    bits,
    height: made.height,
    ...(signet && { signet_challenge: signet.toHex() }),
    default_witness_commitment: made.commitment.toHex(),
  });
  return new JsonText(`${before.slice(0, -1)},"transactions":`, made.transactions, `,${behind.slice(1)}`);
}

export const templateMethods: readonly RpcMethod[] = [getblocktemplate];
