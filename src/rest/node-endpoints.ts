import { targetToHex } from '../consensus/work.ts';
import { json } from '../http/route-description.ts';
import type { NodeStatus } from '../port/node-port.ts';
import { hashToHex } from '../primitives/hash.ts';
import { headerFromBytes } from '../primitives/header.ts';
import { type Answer, jsonAnswer } from '../queries/answer.ts';
import { medianTime, workFields } from '../queries/block-facts.ts';
import { filterIndexState } from '../queries/filter-reads.ts';
import { indexState } from '../queries/index-reads.ts';
import { listingRecord } from '../queries/listing.ts';
import type { ReadEnv } from '../queries/read-env.ts';
import { isSynced } from '../queries/synced.ts';
import type { IndexSwitches } from '../storage/index-store.ts';
import { hostClock, unixSeconds } from '../util/clock.ts';
import { endpoint } from './endpoint.ts';
import type { RestContext } from './rest-context.ts';
import { INFO, LISTING, PEERS } from './schemas/chain-schemas.ts';

const PROTOCOL_VERSION = 70016;

export const infoEndpoint = endpoint({
  name: 'info',
  path: '/api/info',
  tag: 'chain',
  summary: 'The node and its chain',
  access: 'public',
  response: json(INFO),
  serve: (ctx, service) => () => {
    const status = ctx.node().status();
    return service.read((env) => infoView(ctx, env, status));
  },
});

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

function infoView(ctx: RestContext, env: ReadEnv, status: NodeStatus) {
  const { tip, reads, params, settings } = env;
  const { service, version, userAgent } = ctx.options;
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
    service,
    version,
    userAgent,
    network: params.name,
    height: tip.height,
    bestBlockHash: hashToHex(tip.hash),
    headers: status.headers,
    difficulty,
    bits: bitsHex,
    chainwork: targetToHex(tip.chainwork),
    time,
    medianTime: medianTime(reads, tip, true),
    verificationProgress: status.verificationProgress,
    initialBlockDownload: status.initialBlockDownload,
    synced: isSynced(ctx, env),
    peers: status.peers.inbound + status.peers.outbound,
    peersInbound: status.peers.inbound,
    peersOutbound: status.peers.outbound,
    mempoolCount: ctx.mempool.mirror.entries.count,
    pruned: settings.prune !== null,
    pruneHeight: settings.prune && (reads.pruneHeight() ?? 0),
    indexes: { tx: index('tx'), address: index('address'), spender: index('spender'), filter },
    protocolVersion: PROTOCOL_VERSION,
    uptime: Math.max(0, unixSeconds(hostClock) - ctx.startedAt),
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
