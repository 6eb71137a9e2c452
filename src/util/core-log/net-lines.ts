import { type CoreForm, type CoreForms, type EventFacts, plainForm as plain } from './core-form.ts';
import { disconnectWords } from './disconnect-words.ts';

const addrman = (text: CoreForm['text']): CoreForm => ({ category: 'addrman', text });
const tor = (text: CoreForm['text']): CoreForm => ({ category: 'tor', text });
const i2p = (text: CoreForm['text']): CoreForm => ({ category: 'i2p', text });
const net = (text: CoreForm['text']): CoreForm => ({ category: 'net', text });

const privately = (text: CoreForm['text']): CoreForm => ({ category: 'privatebroadcast', text });

/** Core's words for the events of peers and connections. */
export const NET_LINES: CoreForms = {
  'connection added': net(({ peer }) => `Added connection peer=${peer}`),
  'connection tried': net(({ transport, type, to }) => `trying ${transport} connection (${type}) to ${to}`),
  'DNS seeds are not used': plain(() => 'DNS seeding disabled'),
  'DNS seeds wait for the seed nodes': plain(
    ({ seconds }) =>
      `-seednode enabled. Trying the provided seeds for ${seconds} seconds before defaulting to the dnsseeds.`,
  ),
  'DNS seeds wait for connections to known addresses': plain(
    ({ seconds }) => `Waiting ${seconds} seconds before querying DNS seeds.`,
  ),
  'DNS seed queried': plain(({ seed }) => `Loading addresses from DNS seed ${seed}`),
  'DNS seeds not queried: there are enough peers': plain(() => 'Skipping DNS seeds. Enough peers have been found'),
  'DNS seeds are no longer queried: there are enough peers': plain(
    ({ found }) => `P2P peers available. ${found === 0 ? 'Skipped' : 'Finished'} DNS seeding.`,
  ),
  'asked DNS seeds for peers': plain(({ found }) => `${found} addresses found from DNS seeds`),
  'seed node queued': plain(({ node, known, seconds }) =>
    known === 0
      ? `Empty addrman, adding seednode (${node}) to addrfetch`
      : `Couldn't connect to peers from addrman after ${seconds} seconds. Adding seednode (${node}) to addrfetch`,
  ),
  'connection accepted': net(({ from }) => `connection from ${from} accepted`),
  'inbound connection refused': net(refusal),
  'connection closed': net(closed),
  'peer removed': net(({ peer }) => `Cleared nodestate for peer=${peer}`),
  'network activated': plain(() => 'SetNetworkActive: true'),
  'network deactivated': plain(() => 'SetNetworkActive: false'),
  'key exchange started': net(({ peer }) => `start sending v2 handshake to peer=${peer}`),
  'retrying connection with v1': net(({ peer }) => `retrying with v1 transport protocol for peer=${peer}`),
  'bytes not understood': net(transport),
  'message received': net(({ peer, type, bytes }) => `received: ${type} (${bytes} bytes) peer=${peer}`),
  'message sent': net(({ peer, type, bytes }) => `sending ${type} (${bytes} bytes) peer=${peer}`),
  'message ignored: it came before version': net(
    ({ peer, type }) => `non-version message before version handshake. Message "${type}" from peer=${peer}`,
  ),
  'message ignored: it came before verack': net(
    ({ peer, type }) => `Unsupported message "${type}" prior to verack from peer=${peer}`,
  ),
  'message ignored: version was received': net(({ peer }) => `redundant version message from peer=${peer}`),
  'message ignored: verack was received': net(({ peer }) => `ignoring redundant verack message from peer=${peer}`),
  'message ignored: its type is unknown': net(({ peer, type }) => `Unknown message type "${type}" from peer=${peer}`),
  'message ignored: it does not parse': net(
    ({ type, bytes, reason }) => `ProcessMessages(${type}, ${bytes} bytes): Exception '${parseWords(reason)}' caught`,
  ),
  'feature ignored: it is unknown': net(({ name }) => `unknown feature advertised: ${name}`),
  'reconciliation offered': {
    category: 'txreconciliation',
    text: ({ peer }) => `Pre-register peer=${peer}`,
  },
  'reconciliation agreed': {
    category: 'txreconciliation',
    text: ({ peer, inbound }) => `Register peer=${peer} (inbound=${inbound ? 1 : 0})`,
  },
  'reconciliation dropped': {
    category: 'txreconciliation',
    text: ({ peer }) => `Forget txreconciliation state of peer=${peer}`,
  },
  'reconciliation ignored: it is not enabled': net(
    ({ peer }) => `sendtxrcncl from peer=${peer} ignored, as our node does not have txreconciliation enabled`,
  ),
  'reconciliation ignored: it was not offered': net(
    ({ peer }) => `Ignore unexpected txreconciliation signal from peer=${peer}`,
  ),
  'private broadcast: transaction added': privately(
    ({ txid, wtxid, peers }) => `Requesting ${peers} new connections due to txid=${txid}, wtxid=${wtxid}`,
  ),
  'private broadcast: transaction known': privately(
    ({ txid, wtxid }) =>
      `Ignoring unnecessary request to schedule an already scheduled transaction: txid=${txid}, wtxid=${wtxid}`,
  ),
  'private broadcast: transaction announced': privately(
    ({ peer, txid, wtxid }) => `P2P handshake completed, sending INV for txid=${txid}, wtxid=${wtxid}, peer=${peer}`,
  ),
  'private broadcast: transaction came back': privately(
    ({ peer, txid }) =>
      `Received our privately broadcast transaction (txid=${txid}) from the network from peer=${peer}; stopping private broadcast attempts`,
  ),
  'private broadcast: transaction sent again': privately(
    ({ txid, wtxid }) => `Reattempting broadcast of stale txid=${txid} wtxid=${wtxid}`,
  ),
  'private broadcast: transaction dropped': privately(
    ({ txid, wtxid, reason }) => `Giving up broadcast attempts for txid=${txid} wtxid=${wtxid}: ${reason}`,
  ),
  'getaddr ignored: it was answered': net(({ peer }) => `Ignoring repeated "getaddr". peer=${peer}`),
  'peer connected': plain(
    ({ peer, type, protocol, version, height }) =>
      `New ${type} peer connected: transport: ${protocol}, version: ${version}, blocks=${height}, peer=${peer}`,
  ),
  'peer misbehaved': net(({ peer, what }) => `Misbehaving: peer=${peer}: ${what}`),
  'pong ignored': net(
    ({ peer, why, expected, received, bytes }) =>
      `pong peer=${peer}: ${why}, ${expected} expected, ${received} received, ${bytes} bytes`,
  ),
  'addresses added': net(
    ({ peer, count, of, first }) => `Added ${count} addresses (of ${of}) from peer=${peer}: ${first}`,
  ),
  'own address announced': net(({ peer, address }) => `Advertising address ${address} to peer=${peer}`),
  'headers requested': net(({ peer, height }) => `initial getheaders (${height}) to peer=${peer} (startheight:0)`),
  'headers ignored: their chain has too little work': net(
    ({ peer, height }) => `Ignoring low-work chain (height=${height}) from peer=${peer}`,
  ),
  'compact block ignored: its chain has too little work': net(
    ({ peer }) => `Ignoring low-work compact block from peer ${peer}`,
  ),
  'header download timed out and the peer stays': net(
    ({ peer }) => `Timeout downloading headers from noban peer, not disconnecting peer=${peer}`,
  ),
  'header synchronization progresses': plain(
    ({ height, progress }) => `Synchronizing blockheaders, height: ${height} (~${progress}%)`,
  ),
  'peer stalls the download': net(({ peer }) => `Stall started peer=${peer}`),
  'stalling timeout lowered': net(({ seconds }) => `Decreased stalling timeout to ${seconds} seconds`),
  'block or header rejected': net(({ peer, reason }) => `peer=${peer}: ${reason}`),
  'block does not parse': net(({ reason }) => `ProcessMessages(block): Exception '${parseWords(reason)}' caught`),
  'item announced': net(({ peer, kind, hash }) => `got inv: ${kind} ${hash} peer=${peer}`),
  'data requested': net(({ peer, kind, hash }) => `received getdata for: ${kind} ${hash} peer=${peer}`),
  'transaction relayed by force': plain(
    ({ peer, txid, wtxid }) => `Force relaying tx ${txid} (wtxid=${wtxid}) from peer=${peer}`,
  ),
  'transaction not relayed by force: it is not in the mempool': plain(
    ({ peer, txid, wtxid }) =>
      `Not relaying non-mempool transaction ${txid} (wtxid=${wtxid}) from forcerelay peer=${peer}`,
  ),
  'transaction of a peer rejected': {
    category: 'mempoolrej',
    text: ({ peer, txid, wtxid, reason, debug }) =>
      `${txid} (wtxid=${wtxid}) from peer=${peer} was not accepted: ${reason}${debug ? ` (${debug})` : ''}`,
  },
  'orphan not kept: a parent was rejected': {
    category: 'mempool',
    text: ({ txid, wtxid }) => `not keeping orphan with rejected parents ${txid} (wtxid=${wtxid})`,
  },
  'orphans removed: a block has or conflicts with them': {
    category: 'txpackages',
    text: ({ count }) => `Erased ${count} orphan transaction(s) included or conflicted by block`,
  },
  'listening for peers': plain(({ host, port }) => `Bound to ${hostAndPort(host, port)}`),
  'map of autonomous systems read': plain(
    ({ path, bytes }) => `Opened asmap file "${path}" (${bytes} bytes) from disk`,
  ),
  'addresses are grouped by autonomous system': plain(
    ({ version }) => `Using asmap version ${version} for IP bucketing`,
  ),
  'addresses are grouped by prefix': plain(() => 'Using /16 prefix for IP bucketing'),
  'addresses mapped to autonomous systems': plain(
    ({ addresses, systems, unmapped }) =>
      `ASMap Health Check: ${addresses} clearnet peers are mapped to ${systems} ASNs with ${unmapped} peers being unmapped`,
  ),
  'check of the addresses of peers started': addrman(
    (facts) => `CheckAddrman: new ${facts.new}, tried ${facts.tried}, total ${facts.total} started`,
  ),
  'check of the addresses of peers completed': addrman(() => 'CheckAddrman: completed'),
  'connected to Tor': tor(() => 'Successfully connected to Tor control port'),
  'no onion service': plain(({ reason }) => `tor: ${reason}`),
  'Tor accepted the authentication': tor(() => 'Authentication successful'),
  'proxy of Tor used for onion services': tor(({ proxy }) => `Configuring onion proxy for ${proxy}`),
  'onion service made': plain(
    ({ address, port }) =>
      `Got tor service ID ${String(address).replace('.onion', '')}, advertising service ${address}:${port}`,
  ),
  'I2P session requested': i2p(({ kind, session, sam }) => `Creating ${kind} I2P SAM session ${session} with ${sam}`),
  'I2P session made': plain(
    ({ kind, session, address }) => `${capitalized(kind)} I2P SAM session ${session} created, my address=${address}`,
  ),
  'I2P session closed': i2p(({ session }) => `Destroying I2P SAM session ${session}`),
  'connection over I2P failed': i2p(i2pFailure),
  'peers on I2P are not accepted': i2p(({ reason }) => `Couldn't listen: ${reason}`),
  'anchors loaded': plain(({ count }) => `${count} block-relay-only anchors will be tried for connections.`),
  'anchors saved': net(
    ({ count }) => `DumpAnchors: Flush ${count} outbound block-relay-only peer addresses to anchors.dat completed`,
  ),
  'connecting to an anchor': net(({ to }) => `Trying to make an anchor connection to ${to}`),
  'addresses of peers loaded': plain(({ count }) => `Loaded ${count} addresses from peers.dat`),
};

/** Core's words for what a codec does not accept. */
const PARSE_WORDS: Readonly<Record<string, string>> = {
  'unexpected end of data': 'DataStream::read(): end of data',
  'non-canonical compact size': 'non-canonical ReadCompactSize()',
  'compact size too large': 'ReadCompactSize(): size too large',
  'superfluous witness record': 'Superfluous witness record',
  'unknown transaction flags': 'Unknown transaction optional data',
};

function parseWords(reason: unknown): string {
  const text = String(reason);
  const long = /^address of (\d+) bytes is too long$/.exec(text);
  return long === null ? (PARSE_WORDS[text] ?? text) : `Address too long: ${long[1]} > 512`;
}

function hostAndPort(host: unknown, port: unknown): string {
  return String(host).includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

function capitalized(word: unknown): string {
  const text = String(word);
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

function i2pFailure({ to, error }: EventFacts): string {
  const isOfPort = String(error).startsWith('connection refused due to arbitrary port');
  return `Error connecting to ${to}${isOfPort ? ', ' : ': '}${error}`;
}

function refusal({ reason, from }: EventFacts): string | null {
  if (reason === 'full') return 'failed to find an eviction candidate - connection dropped (full)';
  if (reason === 'banned' || reason === 'discouraged') return `connection from ${from} dropped (${reason})`;
  return `connection from ${from} dropped: not accepting new connections`;
}

function closed(facts: EventFacts): string {
  return `${disconnectWords(facts)}, disconnecting peer=${facts.peer}`;
}

/** Core's words for what a transport does not understand. */
const TRANSPORT: Readonly<Record<string, (facts: EventFacts) => string>> = {
  'wrong network magic': ({ magic }) => `Wrong MessageStart ${magic} received`,
  'message is too large': ({ type, bytes }) => `Size too large (${type ?? ''}, ${bytes} bytes)`,
  'wrong checksum': ({ type, bytes, expected, received }) =>
    `Wrong checksum (${type ?? ''}, ${bytes} bytes), expected ${expected} was ${received}`,
  'invalid message type': ({ protocol, type, bytes }) =>
    protocol === 'v1'
      ? `Invalid message type (${type}, ${bytes} bytes)`
      : `invalid message type (${bytes} bytes contents)`,
  'unknown short message type': ({ bytes }) => `invalid message type (${bytes} bytes contents)`,
  'packet without a message type': ({ bytes }) => `invalid message type (${bytes} bytes contents)`,
  'v1 peer with wrong network magic': ({ magic }) => `V1 peer with wrong MessageStart ${magic}`,
  'no garbage terminator': () => 'missing garbage terminator',
  'packet is too large': ({ bytes }) => `packet too large (${bytes} bytes)`,
  'packet is not authentic': ({ bytes }) => `packet decryption failure (${bytes} bytes)`,
};

/** Core names the transport in front of what it did not understand. */
function transport(facts: EventFacts): string | null {
  const words = TRANSPORT[String(facts.reason)]?.(facts);
  if (words === undefined) return null;
  return `${facts.protocol === 'v1' ? 'Header error' : 'V2 transport error'}: ${words}, peer=${facts.peer}`;
}
