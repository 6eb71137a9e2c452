import { arr, bool, coinAmount, hexStr, int, mapOf, maybe, num, obj, str, unixTime } from '../../engine/schema.ts';
import { warnings } from '../schemas.ts';

/** Schema of a peer in the result of getpeerinfo. */
export const PEER = obj({
  id: int('number of the peer'),
  addr: str('address and port'),
  addrbind: maybe(str('local address and port of the connection')),
  addrlocal: maybe(str('address and port of this node, as the peer reports them')),
  network: str('network of the peer (ipv4, ipv6, onion, i2p, cjdns, not_publicly_routable)'),
  mapped_as: maybe(int('number of its autonomous system, from the map of p2p.asmap; left out if it is unknown')),
  services: hexStr('bits of its services'),
  servicesnames: arr(str(), 'names of its services'),
  relaytxes: bool('whether the peer accepts announcements of transactions'),
  last_inv_sequence: int('sequence number of the mempool at the last announcement to the peer'),
  inv_to_send: int('transactions that wait to be announced to the peer'),
  lastsend: unixTime('time of the last sent bytes'),
  lastrecv: unixTime('time of the last received bytes'),
  last_transaction: unixTime('last transaction of the peer that was new and valid; 0 for none'),
  last_block: unixTime('last block of the peer that was new; 0 for none'),
  bytessent: int('bytes sent'),
  bytesrecv: int('bytes received'),
  conntime: unixTime('time of the connection'),
  timeoffset: int('clock of the peer minus the own one, seconds'),
  pingtime: maybe(num('seconds of the last ping')),
  minping: maybe(num('seconds of the fastest ping')),
  pingwait: maybe(num('seconds since an unanswered ping')),
  version: int('protocol version'),
  subver: str('user agent'),
  inbound: bool('whether the peer opened the connection'),
  bip152_hb_to: bool('whether the node selected the peer for high-bandwidth compact blocks'),
  bip152_hb_from: bool('whether the peer selected the node for high-bandwidth compact blocks'),
  presynced_headers: int('height reached in the presync of headers, or -1'),
  synced_headers: int('height of the last common header, or -1'),
  synced_blocks: int('height of the last common block, or -1'),
  inflight: arr(int(), 'heights of the blocks requested from the peer'),
  addr_relay_enabled: bool('whether addresses are exchanged with the peer'),
  addr_processed: int('addresses of the peer that were processed'),
  addr_rate_limited: int('addresses of the peer that were dropped by the rate limit'),
  permissions: arr(str(), 'permissions of the peer (p2p.permissions)'),
  minfeefilter: coinAmount('lowest feerate that the peer accepts, per 1,000 virtual bytes'),
  bytessent_per_msg: mapOf('message', int('bytes'), 'bytes sent by type of message'),
  bytesrecv_per_msg: mapOf('message', int('bytes'), 'bytes received by type of message'),
  connection_type: str('kind of the connection'),
  transport_protocol_type: str('detecting, v1 or v2'),
  session_id: str('session id of BIP-324; empty with v1'),
});

const BUCKET = obj({
  backlog: int('number of transactions that wait for their announcement'),
  count_tok: num('transactions that may be announced now; negative while none may be'),
  size_tok: num('bytes of transactions that may be announced now; negative while none may be'),
});

/** Result of getnetworkinfo. */
export const NETWORK = obj({
  version: int('version of Bitcoin Core whose interface this node follows'),
  subversion: str('user agent (BIP-14)'),
  protocolversion: int('version of the protocol'),
  localservices: hexStr('bits of the services'),
  localservicesnames: arr(str(), 'names of the services'),
  localrelay: bool('whether transactions are relayed'),
  timeoffset: int('median clock offset of the outbound peers, seconds'),
  tx_send_rate: int('transactions per second that are announced to inbound peers in the long run'),
  inv_buckets: maybe(
    obj({ inbound: BUCKET, outbound: BUCKET }, 'announcements of transactions by the direction of connections'),
  ),
  networkactive: bool('as set by setnetworkactive'),
  connections: int('number of peers'),
  connections_in: int('number of inbound peers'),
  connections_out: int('number of outbound peers'),
  networks: arr(
    obj({
      name: str('network (ipv4, ipv6, onion, i2p, cjdns)'),
      limited: bool('the opposite of reachable'),
      reachable: bool('whether the node uses the network'),
      proxy: str('host and port, or unix: with the path of a socket; empty for none'),
      proxy_randomize_credentials: bool('whether each connection has its own credentials at the proxy'),
    }),
    'state of each network',
  ),
  relayfee: coinAmount('minimum relay feerate, per 1,000 virtual bytes'),
  incrementalfee: coinAmount('feerate that a replacement must add, per 1,000 virtual bytes'),
  localaddresses: arr(
    obj({
      address: str('own address'),
      port: int('own port'),
      score: int('initial value by the origin of the address, plus one for each peer that reports it'),
    }),
    'addresses at which peers may reach the node',
  ),
  warnings,
  softwareversion: str('version of Obverse'),
});
