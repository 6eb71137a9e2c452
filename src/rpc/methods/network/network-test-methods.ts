import type { AddressEntryView, TestConnectionType } from '../../../port/node-calls.ts';
import { isHex } from '../../../util/bytes.ts';
import { example } from '../../engine/example.ts';
import { type MainThreadEnv, nodeMethod, type RpcMethod } from '../../engine/method.ts';
import { flagParam, integerParam, optional, textParam } from '../../engine/params.ts';
import { orFail, rpcFail } from '../../engine/rpc-error.ts';
import { bool, int, mapOf, maybe, nil, obj, str, unixTime } from '../../engine/schema.ts';

const CONNECTION_TYPES: readonly TestConnectionType[] = [
  'outbound-full-relay',
  'block-relay-only',
  'addr-fetch',
  'feeler',
];
/** Length of the command in a message header. */
const MAX_MESSAGE_TYPE = 12;
const MAX_PORT = 65_535;
/** Furthest step of the timers, seconds. */
const MAX_ADVANCE = 3600;

const addconnection = nodeMethod({
  name: 'addconnection',
  hidden: true,
  category: 'network',
  help: 'Opens an outbound connection of a type, for tests. On regtest only.',
  params: [
    textParam('address', { note: 'Address with port.' }),
    textParam('connection_type', { note: `One of ${CONNECTION_TYPES.join(', ')}.` }),
    flagParam('v2transport', { note: 'Whether the connection uses the v2 transport (BIP-324).' }),
  ],
  result: obj({ address: str('the given address'), connection_type: str('the given type') }),
  examples: [example(['192.0.2.7:18444', 'outbound-full-relay', true])],
  scope: 'admin',
  async run(env, address, typeText, v2) {
    checkRegtest(env, 'addconnection is for regression testing (-regtest mode) only.');
    const type = CONNECTION_TYPES.find((known) => known === typeText.trim());
    if (!type)
      return rpcFail('invalidParameter', `connection_type ${typeText} is not one of ${CONNECTION_TYPES.join(', ')}`);
    orFail(await env.ctx.node().call('addConnection', address, type, v2));
    return { address, connection_type: type };
  },
});

const addpeeraddress = nodeMethod({
  name: 'addpeeraddress',
  hidden: true,
  category: 'network',
  help: 'Adds an address to the tables of the address manager, for tests.',
  params: [
    textParam('address', { note: 'Address without port.' }),
    integerParam('port', { note: 'Port.' }),
    optional(flagParam('tried', { note: 'Whether the address is marked as reached.' }), false),
  ],
  result: obj({
    success: bool('whether a table has the address now'),
    error: maybe(str('failed-adding-to-new or failed-adding-to-tried')),
  }),
  examples: [example(['192.0.2.7', 8333, true])],
  scope: 'admin',
  async run({ ctx }, address, port, tried) {
    if (port < 0 || port > MAX_PORT) return rpcFail('parse', 'JSON integer out of range');
    const error = orFail(await ctx.node().call('addPeerAddress', address, port, tried));
    return error === null ? { success: true } : { error, success: false };
  },
});

const ENTRY = obj({
  address: str('address of the node'),
  mapped_as: maybe(int('number of its autonomous system; left out if it is unknown')),
  port: int('port of the node'),
  network: str('ipv4, ipv6, onion, i2p or cjdns'),
  services: int('bits of its services'),
  time: unixTime('time at which the node was last seen'),
  source: str('address of the node that announced it'),
  source_network: str('network of that node'),
  source_mapped_as: maybe(int('number of its autonomous system; left out if it is unknown')),
});

const getrawaddrman = nodeMethod({
  name: 'getrawaddrman',
  hidden: true,
  category: 'network',
  help: 'Returns the tables of the address manager, for tests.',
  params: [],
  result: mapOf('table', mapOf('bucket/position', ENTRY), 'new and tried'),
  scope: 'admin',
  async run({ ctx }) {
    const tables = orFail(await ctx.node().call('addressTables'));
    return { new: tableView(tables.new), tried: tableView(tables.tried) };
  },
});

function tableView(entries: readonly AddressEntryView[]) {
  return Object.fromEntries(entries.map((entry) => [entry.place, entryView(entry)]));
}

function entryView(entry: AddressEntryView) {
  return {
    address: entry.address,
    ...(entry.mappedAs !== 0 && { mapped_as: entry.mappedAs }),
    port: entry.port,
    services: Number(entry.services),
    time: entry.time,
    network: entry.network,
    source: entry.source,
    source_network: entry.sourceNetwork,
    ...(entry.sourceMappedAs !== 0 && { source_mapped_as: entry.sourceMappedAs }),
  };
}

const sendmsgtopeer = nodeMethod({
  name: 'sendmsgtopeer',
  hidden: true,
  category: 'network',
  help: 'Sends a message to a peer, for tests. The header is added.',
  params: [
    integerParam('peer_id', { note: 'Number of the peer, as id of getpeerinfo.' }),
    textParam('msg_type', { note: `Type of the message, at most ${MAX_MESSAGE_TYPE} characters.` }),
    textParam('msg', { note: 'Payload as hex.' }),
  ],
  result: obj({}),
  examples: [example([0, 'addr', 'ffffff'])],
  scope: 'admin',
  async run(env, peer, type, payload) {
    if (type.length > MAX_MESSAGE_TYPE)
      return rpcFail('invalidParameter', `Error: msg_type too long, max length is ${MAX_MESSAGE_TYPE}`);
    if (!isHex(payload)) return rpcFail('invalidParameter', 'Error parsing input for msg');
    orFail(await env.ctx.node().call('sendMessage', peer, type, Uint8Array.fromHex(payload)));
    return {};
  },
});

const mockscheduler = nodeMethod({
  name: 'mockscheduler',
  hidden: true,
  category: 'control',
  help: 'Moves the timers that announce unrequested transactions and those of wallets again forward, for tests. On regtest only.',
  params: [integerParam('delta_time', { note: `Seconds, 1 to ${MAX_ADVANCE}.` })],
  result: nil(),
  examples: [example([600])],
  scope: 'admin',
  async run(env, seconds) {
    checkRegtest(env, 'mockscheduler is for regression testing (-regtest mode) only');
    if (seconds <= 0 || seconds > MAX_ADVANCE)
      return rpcFail('misc', `delta_time must be between 1 and ${MAX_ADVANCE} seconds (1 hr)`);
    return env.ctx.node().call('advanceTimers', seconds);
  },
});

function checkRegtest({ ctx }: MainThreadEnv, otherwise: string): void {
  if (ctx.params.name !== 'regtest') rpcFail('misc', otherwise);
}

export const networkTestMethods: readonly RpcMethod[] = [
  addconnection,
  addpeeraddress,
  getrawaddrman,
  sendmsgtopeer,
  mockscheduler,
];
