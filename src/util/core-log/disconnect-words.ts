import type { EventFacts } from './core-form.ts';

const bloom = (type: string) => () => `${type} received when not offering NODE_BLOOM`;

/** Core's words for the reasons of a disconnection; a reason without a row is written as it is. */
const WORDS: Readonly<Record<string, (facts: EventFacts) => string>> = {
  'obsolete protocol version': ({ version }) => `peer using obsolete version ${version}`,
  'peer does not offer the expected services': ({ services, expected }) =>
    `peer does not offer the expected services (${services} offered, ${expected} expected)`,
  'connected to self': ({ at }) => `connected to self at ${at}`,
  'feeler done': () => 'feeler connection completed',
  'sendaddrv2 after verack': () => 'sendaddrv2 received after verack',
  'wtxidrelay after verack': () => 'wtxidrelay received after verack',
  'sendtxrcncl after verack': () => 'sendtxrcncl received after verack',
  'sendtxrcncl where we relay no transactions': () => 'sendtxrcncl received to which we indicated no tx relay',
  'sendtxrcncl of a peer that relays no transactions': () => 'sendtxrcncl received which indicated no tx relay to us',
  'second sendtxrcncl': () => 'txreconciliation protocol violation (sendtxrcncl received from already registered peer)',
  'sendtxrcncl of an unknown version': () => 'txreconciliation protocol violation',
  'malformed feature': () => 'invalid feature payload',
  'feature of an earlier protocol': ({ protocol }) => `feature received with incompatible version ${protocol}`,
  'feature after verack': () => 'feature received after verack',
  'ping timeout': ({ waitedMs }) => `ping timeout: ${(Number(waitedMs) / 1000).toFixed(6)}s`,
  'handshake timeout': () => 'version handshake timeout',
  'sending timeout': ({ seconds }) => `socket sending timeout: ${seconds}s`,
  'receiving timeout': ({ seconds }) => `socket receive timeout: ${seconds}s`,
  'transport handshake timeout': () => 'V2 handshake timeout',
  'no message in time': ({ seconds, hasReceived, hasSent }) => {
    const missing = `${hasReceived ? '' : ', never received from peer'}${hasSent ? '' : ', never sent to peer'}`;
    return `socket no message in first ${seconds} seconds${missing}`;
  },
  'filtered block requested without the service': () =>
    'filtered block request received when NODE_BLOOM service disabled',
  'getblocktxn without indexes': () => 'getblocktxn received with no transaction indexes',
  'upload target for historical blocks reached': () => 'historical block serving limit reached',
  'block below the depth of a limited node requested': () =>
    'Ignore block request below NODE_NETWORK_LIMITED threshold',
  'block filters requested without the service': ({ filterType }) =>
    `peer requested unsupported block filter type: ${filterType}`,
  'block filters of an unknown block requested': ({ stopHash }) => `peer requested invalid block hash: ${stopHash}`,
  'block filters of no blocks requested': ({ startHeight, stopHeight }) =>
    `peer sent invalid getcfilters/getcfheaders with start height ${startHeight} and stop height ${stopHeight}`,
  'too many block filters requested': ({ count, limit }) =>
    `peer requested too many cfilters/cfheaders: ${count} / ${limit}`,
  'transaction announced in violation of protocol': ({ hash }) =>
    `transaction (${hash}) inv sent in violation of protocol`,
  'mempool request beyond the upload target': () => 'mempool request with bandwidth limit reached',
  'too many transaction relay peers': () => 'failed to find a tx-relaying eviction candidate - connection dropped',
  'too many transaction relay peers after a filter': () =>
    'failed to find a tx-relaying eviction candidate - connection dropped after filterload message',
  'filterload without the service': bloom('filterload'),
  'filteradd without the service': bloom('filteradd'),
  'filterclear without the service': bloom('filterclear'),
  'mempool request without permission': () => 'mempool request with bloom filters disabled',
  'header download timeout': () => 'Timeout downloading headers',
  'block download stalled': () => 'Peer is stalling block download',
  'headers chain has insufficient work': () => 'outbound peer headers chain has insufficient work',
  'closed by peer': () => 'socket closed',
  evicted: () => 'selected connection for eviction',
  shutdown: () => 'Stopping node',
  'network inactive': () => 'Network not active',
};

/** Returns the words for the reason of a `connection closed` event. */
export function disconnectWords(facts: EventFacts): string {
  const reason = String(facts.reason);
  const words = Object.hasOwn(WORDS, reason) ? WORDS[reason]!(facts) : reason;
  return typeof facts.detail === 'string' ? `${words}: ${facts.detail}` : words;
}
