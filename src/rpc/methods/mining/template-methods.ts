import { isBuriedActive } from '../../../consensus/deployments.ts';
import {
  MAX_BLOCK_SERIALIZED_SIZE,
  MAX_BLOCK_SIGOPS_COST,
  MAX_BLOCK_WEIGHT,
  WITNESS_SCALE_FACTOR,
} from '../../../consensus/limits.ts';
import type { TemplateView } from '../../../port/node-actions.ts';
import type { NodePort } from '../../../port/node-port.ts';
import type { BlockHash } from '../../../primitives/hash.ts';
import { hashToHex } from '../../../primitives/hash.ts';
import { workFields } from '../../../queries/block-facts.ts';
import { DecodeError, hexToBytes } from '../../../util/bytes.ts';
import { member, type RpcObject, type RpcValue } from '../../engine/json.ts';
import { type FrontEnv, JsonText, nodeMethod } from '../../engine/method.ts';
import { object, readHash, readString } from '../../engine/params.ts';
import { orFail, rpcFail } from '../../engine/rpc-error.ts';
import { anyOf, arr, hashStr, hexStr, int, mapOf, maybe, nil, obj, str, unixTime } from '../../engine/schema.ts';
import { newestTip, type Tip, waitForTip } from '../blockchain/tip-waits.ts';

/** When a caller who waits is told of a better block on the same tip: first after a minute, then every ten seconds. */
const FIRST_LOOK_MS = 60_000;
const NEXT_LOOK_MS = 10_000;

const TEMPLATE = obj(
  {
    capabilities: arr(str()),
    version: int(),
    rules: arr(str(), 'that hold; with ! those that a miner must know'),
    vbavailable: mapOf('rule', int('bit of the version')),
    vbrequired: int(),
    previousblockhash: hashStr(),
    transactions: arr(
      obj({
        data: hexStr(),
        txid: hashStr(),
        hash: hashStr('with witnesses (wtxid)'),
        depends: arr(int(), 'places in this list, from 1, of those that must be there as well'),
        fee: int('satoshis'),
        sigops: int('as they count against sigoplimit'),
        weight: int(),
      }),
      'without the coinbase',
    ),
    coinbaseaux: mapOf('name', hexStr()),
    coinbasevalue: int('satoshis: subsidy and fees'),
    longpollid: str('to be sent to wait for another template'),
    target: hashStr(),
    mintime: unixTime(),
    mutable: arr(str()),
    noncerange: hexStr(),
    sigoplimit: int(),
    sizelimit: int('bytes'),
    weightlimit: maybe(int()),
    curtime: unixTime(),
    bits: hexStr(),
    height: int(),
    signet_challenge: maybe(hexStr('on signets')),
    default_witness_commitment: maybe(hexStr('output script of the coinbase, where the list is taken as it is')),
  },
  'else',
);

export const getblocktemplate = nodeMethod({
  name: 'getblocktemplate',
  category: 'mining',
  help: 'What the next block is made of (BIP-22, BIP-23, BIP-9, BIP-145), or whether a block would be valid.',
  params: [
    object('template_request', {
      oneline: '{"mode":"str","capabilities":["str",...],"rules":["segwit","str",...],"longpollid":"str","data":"hex"}',
      schema: obj({
        mode: maybe(str('template or proposal')),
        capabilities: maybe(arr(str())),
        rules: arr(str(), 'known to the miner: segwit must be among them, and signet on signets'),
        longpollid: maybe(str('of an earlier template: waits for one that differs from it')),
        data: maybe(hexStr('of a proposal: the block')),
      }),
    }),
  ],
  result: anyOf(nil('a proposal that is valid'), str('what is wrong with a proposal'), TEMPLATE),
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

async function propose({ ctx }: FrontEnv, request: RpcObject): Promise<string | null> {
  const data = member(request, 'data');
  if (typeof data !== 'string') return rpcFail('type', 'Missing data String key for proposal');
  return orFail(await ctx.node().act('proposeBlock', readBlock(data)));
}

/** The bytes of a block. Throws RpcError where they are none. */
export function readBlock(hex: string): Uint8Array {
  try {
    return hexToBytes(hex);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return rpcFail('deserialization', 'Block decode failed');
  }
}

/** What is no list is no list of rules either. */
function clientRules(request: RpcObject): ReadonlySet<string> {
  const given = member(request, 'rules');
  return new Set(Array.isArray(given) ? (given as RpcValue[]).map(readString) : []);
}

/** Without peers, or behind them, a block would be found for nothing. Test networks may begin so. */
function checkReady({ ctx }: FrontEnv): void {
  if (ctx.params.isTestnet) return;
  const { peers, initialBlockDownload } = ctx.node().status();
  if (peers.inbound + peers.outbound === 0) rpcFail('clientNotConnected', 'Obverse is not connected!');
  if (initialBlockDownload)
    rpcFail('clientInInitialDownload', 'Obverse is in initial sync and waiting for blocks...', 'syncing');
}

/** Waits until the tip differs from that of an earlier template, or the mempool has changed since then. */
async function longPoll(env: FrontEnv, id: RpcValue): Promise<void> {
  const { ctx, signal } = env;
  // An id that is no string stands for the template that there is.
  const text = typeof id === 'string' ? id : newestTip(ctx).hash + (await ctx.node().act('mempoolChanges'));
  const watched = hashToHex(readHash<BlockHash>(text.slice(0, 64), 'longpollid'));
  const changes = Number.parseInt(text.slice(64), 10) || 0;
  const moved = (tip: Tip) => tip.hash !== watched;
  for (let ms = FIRST_LOOK_MS; !signal.aborted && !ctx.stopping.aborted; ms = NEXT_LOOK_MS) {
    if (moved(await waitForTip(env, moved, ms))) return;
    if ((await ctx.node().act('mempoolChanges')) !== changes) return;
  }
  if (ctx.stopping.aborted) rpcFail('clientNotConnected', 'Shutting down');
  // A template for a caller who has left would be made for nobody.
  signal.throwIfAborted();
}

/** Transactions of the newest template: several megabytes, which are not sent over again. */
const lists = new WeakMap<NodePort, { readonly id: number; readonly transactions: Uint8Array }>();

async function newestTemplate(node: NodePort): Promise<TemplateView & { readonly transactions: Uint8Array }> {
  const known = lists.get(node);
  const made = await node.act('blockTemplate', known?.id ?? null);
  const transactions = made.transactions ?? known!.transactions;
  lists.set(node, { id: made.id, transactions });
  return { ...made, transactions };
}

async function template({ ctx }: FrontEnv): Promise<JsonText> {
  const { consensus } = ctx.params;
  const made = await newestTemplate(ctx.node());
  const segwit = isBuriedActive('segwit', made.height, consensus);
  const scale = segwit ? 1 : WITNESS_SCALE_FACTOR;
  const signet = consensus.signetChallenge;
  // Every deployment that is known may be left out by miners who do not know it.
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
