import { targetToHex } from '../consensus/work.ts';
import { JSON_TYPE } from '../http/errors.ts';
import { PlainReply, type ReplyKind } from '../http/plain-reply.ts';
import { json } from '../http/route-description.ts';
import type { NodeStatus } from '../port/node-port.ts';
import { headerFromBytes } from '../primitives/header.ts';
import { type Answer, jsonAnswer } from '../queries/answer.ts';
import { medianTime, workFields } from '../queries/block-facts.ts';
import { filterIndexState } from '../queries/filter-reads.ts';
import { indexState } from '../queries/index-reads.ts';
import { listingRecord } from '../queries/listing.ts';
import type { ReadEnv } from '../queries/read-env.ts';
import { isSynced } from '../queries/synced.ts';
import type { ChainState } from '../storage/chain-reads.ts';
import type { IndexSwitches } from '../storage/index-store.ts';
import { hostClock, unixSeconds } from '../util/clock.ts';
import { endpoint } from './endpoint.ts';
import type { RestContext } from './rest-context.ts';
import { INFO, LISTING, PEERS } from './schemas/chain-schemas.ts';

const PROTOCOL_VERSION = 70017;

export const infoEndpoint = endpoint({
  name: 'info',
  path: '/api/info',
  tag: 'chain',
  summary: 'The node and its chain',
  access: 'public',
  response: json(INFO),
  serve: (ctx, service) => {
    let last: InfoText | null = null;
    return () => {
      const status = ctx.node().status();
      return service.read((env) => new PlainReply(INFO_KIND, (last = infoText(ctx, env, status, last)).json));
    };
  },
});

const INFO_KIND: ReplyKind = { type: JSON_TYPE, cacheControl: null };

/** The last reply, and all that it was made of. */
interface InfoText {
  readonly state: ChainState;
  readonly status: NodeStatus;
  readonly changing: ReturnType<typeof changingInfo>;
  readonly chain: ReturnType<typeof chainInfo>;
  readonly json: string;
}

/** Returns the last reply again if nothing has changed. What follows from the chain is read once after each commit. */
function infoText(ctx: RestContext, env: ReadEnv, status: NodeStatus, last: InfoText | null): InfoText {
  const { state } = env;
  const changing = changingInfo(ctx, env);
  const isSame = last !== null && last.state === state;
  if (
    isSame &&
    last.status === status &&
    last.changing.synced === changing.synced &&
    last.changing.mempoolCount === changing.mempoolCount &&
    last.changing.uptime === changing.uptime
  )
    return last;
  const chain = isSame ? last.chain : chainInfo(env);
  return { state, status, changing, chain, json: JSON.stringify(infoView(ctx, env, status, chain, changing)) };
}

/** The members that change without a commit and without a new status of the node. */
function changingInfo(ctx: RestContext, env: ReadEnv) {
  return {
    synced: isSynced(ctx, env),
    mempoolCount: ctx.mempool.mirror.entries.count,
    uptime: Math.max(0, unixSeconds(hostClock) - ctx.startedAt),
  };
}

export const listingEndpoint = endpoint({
  name: 'listing',
  path: '/api/listing',
  tag: 'chain',
  summary: 'The listing record of the coin',
  response: json(LISTING),
  hasEtag: true,
  serve:
    (ctx, service) =>
    ({ request }) =>
      service.reply((env) => listingAnswer(ctx, env), request),
});

function listingAnswer(ctx: RestContext, env: ReadEnv): Answer {
  return { ...jsonAnswer(listingRecord(env, { synced: isSynced(ctx, env) })), freshness: 'body' };
}

function chainInfo(env: ReadEnv) {
  const { tip, state, reads, settings } = env;
  const { bits, time } = headerFromBytes(tip.header);
  const { difficulty, bits: bitsHex } = workFields(bits);
  const none = { enabled: false, height: null, synced: false };
  const index = (name: keyof IndexSwitches) => {
    const { enabled, height, synced } = indexState(env, name);
    return enabled ? { enabled, height: Math.max(0, height), synced } : none;
  };
  const filters = filterIndexState(env);
  const filter = filters ? { enabled: true, height: Math.max(0, filters.height), synced: filters.synced } : none;
  return {
    height: tip.height,
    bestBlockHash: state.tipView.hash,
    difficulty,
    bits: bitsHex,
    chainwork: targetToHex(tip.chainwork),
    time,
    medianTime: medianTime(reads, tip, true),
    pruneHeight: settings.prune && (reads.pruneHeight() ?? 0),
    indexes: {
      tx: index('tx'),
      address: index('address'),
      spender: index('spender'),
      coinStats: index('coinStats'),
      filter,
    },
  };
}

function infoView(
  { options }: RestContext,
  { params, settings }: ReadEnv,
  status: NodeStatus,
  chain: ReturnType<typeof chainInfo>,
  { synced, mempoolCount, uptime }: ReturnType<typeof changingInfo>,
) {
  const { service, version, userAgent } = options;
  const { height, bestBlockHash, difficulty, bits, chainwork, time, medianTime, pruneHeight, indexes } = chain;
  return {
    service,
    version,
    userAgent,
    network: params.name,
    height,
    bestBlockHash,
    headers: status.headers,
    difficulty,
    bits,
    chainwork,
    time,
    medianTime,
    verificationProgress: status.verificationProgress,
    initialBlockDownload: status.initialBlockDownload,
    synced,
    peers: status.peers.inbound + status.peers.outbound,
    peersInbound: status.peers.inbound,
    peersOutbound: status.peers.outbound,
    mempoolCount,
    pruned: settings.prune !== null,
    pruneHeight,
    indexes,
    protocolVersion: PROTOCOL_VERSION,
    uptime,
    warnings: status.warnings,
  };
}

export const peersEndpoint = endpoint({
  name: 'peers',
  path: '/api/peers',
  tag: 'chain',
  summary: 'Connected peers',
  response: json(PEERS),
  serve: (ctx) => () => peersReply(ctx),
});

async function peersReply({ node }: RestContext) {
  const all = await node().call('peers');
  // A connection whose handshake is not complete may not belong to a node.
  const items = all.flatMap(({ details, ...peer }) => (details.established ? [peer] : []));
  const inbound = items.filter((peer) => peer.inbound).length;
  return { count: items.length, inbound, outbound: items.length - inbound, items };
}
