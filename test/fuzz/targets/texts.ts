import { Database } from 'bun:sqlite';
import { base58 as scureBase58 } from '@scure/base';
import type { EventPosition } from '../../../src/feed/event-cursor.ts';
import { EventLog } from '../../../src/feed/event-log.ts';
import { WatchRegistry, WatchSet, WatchUnion } from '../../../src/feed/watches.ts';
import { ApiError, FAILURES } from '../../../src/http/errors.ts';
import { excessOf } from '../../../src/http/value-count.ts';
import { regtest } from '../../../src/params/regtest.ts';
import { decodeCursor, encodeCursor } from '../../../src/queries/cursor.ts';
import { parseJson, type RpcValue } from '../../../src/rpc/engine/json.ts';
import { isNotification, readCall } from '../../../src/rpc/engine/protocol.ts';
import { addressOf, KNOWN_ADDRESS_FORMATS, parseAddress } from '../../../src/script/address.ts';
import { decodeBase58, decodeBase58Check, encodeBase58Check } from '../../../src/script/base58.ts';
import { bytesToGroups, decodeBech32, encodeBech32, groupsToBytes } from '../../../src/script/bech32.ts';
import { locateBech32Errors } from '../../../src/script/bech32-errors.ts';
import { decodeWif, encodeWif } from '../../../src/script/wif.ts';
import type { ChainReads } from '../../../src/storage/chain-reads.ts';
import { SCHEMA } from '../../../src/storage/chain-schema.ts';
import { EventStore } from '../../../src/storage/event-store.ts';
import { bytesToHex, equalBytes, hexToBytes, isHex } from '../../../src/util/bytes.ts';
import { systemClock } from '../../../src/util/clock.ts';
import { answerMessage } from '../../../src/ws/answer-message.ts';
import type { WsConnection } from '../../../src/ws/ws-connection.ts';
import { corpusKeyTexts, corpusScripts } from '../corpus.ts';
import type { Random } from '../random.ts';
import { bytesOfText, decoded, type FuzzTarget, hold, textOf } from '../target.ts';

const keyTexts = () => corpusKeyTexts().map(bytesOfText);
const trimmed = (text: string) => text.replace(/^[\t-\r ]+|[\t-\r ]+$/g, '');
const [MAIN, TEST] = [KNOWN_ADDRESS_FORMATS[0]!, KNOWN_ADDRESS_FORMATS[1]!];

const address: FuzzTarget = {
  name: 'address',
  help: 'addresses of three networks',
  corpus: keyTexts,
  generate(random) {
    const net = random.pick(KNOWN_ADDRESS_FORMATS);
    const payload = Uint8Array.of(
      random.once(2) ? net.p2pkh : net.p2sh,
      ...random.bytes(random.pick([19, 20, 20, 21])),
    );
    const witness = Uint8Array.of(random.int(18), ...bytesToGroups(random.bytes(random.pick([1, 2, 20, 32, 40, 41]))));
    const bech32 = encodeBech32(random.once(2) ? 'bech32' : 'bech32m', net.hrp, witness);
    return bytesOfText(random.once(2) ? encodeBase58Check(payload) : random.once(4) ? bech32.toUpperCase() : bech32);
  },
  run(input) {
    const text = textOf(input);
    for (const net of KNOWN_ADDRESS_FORMATS) {
      const parsed = parseAddress(text, net);
      if (!parsed.ok) {
        hold(
          parsed.errorLocations.every((at) => at >= 0 && at < text.length),
          'errors stand in the text',
        );
        continue;
      }
      hold([trimmed(text), text.toLowerCase()].includes(parsed.address), 'an address is written as it was read');
      hold(addressOf(parsed.script, net) === parsed.address, 'the address of its script');
      const again = parseAddress(parsed.address, net);
      hold(again.ok && equalBytes(again.script, parsed.script) && again.type === parsed.type, 'reads its own address');
    }
  },
};

const base58: FuzzTarget = {
  name: 'base58',
  help: 'with and without checksum',
  corpus: keyTexts,
  run(input) {
    const text = textOf(input);
    for (const most of [0, 25, 100]) {
      const bytes = decodeBase58(text, most);
      if (bytes) {
        hold(bytes.length <= most, 'no more bytes than allowed');
        hold(scureBase58.encode(bytes) === trimmed(text), 'base58 is written as it was read');
      }
      const payload = decodeBase58Check(text, most);
      if (payload) hold(encodeBase58Check(payload) === trimmed(text), 'the checksum is the right one');
    }
    const short = input.subarray(0, 200);
    hold(equalBytes(decodeBase58(scureBase58.encode(short), 200)!, short), 'every byte comes back');
    hold(decodeBase58(scureBase58.encode(short), short.length - 1) === null || short.length === 0, 'the limit is one');
  },
};

const bech32: FuzzTarget = {
  name: 'bech32',
  help: 'both encodings, and where the errors are',
  corpus: keyTexts,
  generate(random) {
    const data = Uint8Array.from({ length: random.length(70) }, () => random.int(32));
    return bytesOfText(
      encodeBech32(random.once(2) ? 'bech32' : 'bech32m', random.pick(['bc', 'tb', '1', 'a1b']), data),
    );
  },
  run(input) {
    const text = textOf(input);
    const decodedText = decodeBech32(text);
    const { error, locations } = locateBech32Errors(text);
    hold((decodedText !== null) === (error === ''), 'either it decodes or there is an error');
    hold(
      locations.every((at) => at >= 0 && at < text.length),
      'errors stand in the text',
    );
    if (!decodedText) return;
    const { encoding, hrp, data } = decodedText;
    hold(encodeBech32(encoding, hrp, data) === text.toLowerCase(), 'Bech32 is written as it was read');
    const bytes = groupsToBytes(data);
    if (bytes) hold(equalBytes(bytesToGroups(bytes), data), 'groups and bytes');
  },
};

const WIF_PREFIXES = [0x80, 0xef];

const wif: FuzzTarget = {
  name: 'wif',
  help: 'secret keys as text',
  corpus: keyTexts,
  generate: (random) =>
    bytesOfText(encodeBase58Check(Uint8Array.of(random.pick(WIF_PREFIXES), ...random.bytes(32 + random.int(3))))),
  run(input) {
    const text = textOf(input);
    for (const prefix of WIF_PREFIXES) {
      const key = decodeWif(text, prefix);
      if (key) hold(encodeWif(key, prefix) === trimmed(text), 'a key is written as it was read');
    }
  },
};

const hex: FuzzTarget = {
  name: 'hex',
  help: 'hexadecimal',
  corpus: () => ['00', 'abCD', '0x00', 'abc', ' 00', '٠٠'].map(bytesOfText),
  run(input) {
    const text = textOf(input);
    const bytes = decoded(() => hexToBytes(text));
    hold((bytes !== null) === isHex(text), 'what is hexadecimal is read');
    if (bytes) hold(bytesToHex(bytes) === text.toLowerCase(), 'hex is written as it was read');
  },
};

const PATH = '/api/address/x/txs?';

const cursor: FuzzTarget = {
  name: 'cursor',
  help: 'where a page of a list ended',
  corpus: () => [0, 1, 2 ** 40].map((position) => cursorBytes(position, 0)),
  generate: (random) => cursorBytes(random.u32() * 2 ** random.int(22), random.u32()),
  run(input) {
    const text = textOf(input);
    try {
      const end = decodeCursor(PATH, text);
      hold(Number.isSafeInteger(end.position) && end.position >= 0, 'a position');
      const again = decodeCursor(PATH, encodeCursor(PATH, end));
      hold(Object.is(again.position, end.position) && again.sub === end.sub, 'is read as it was written');
      hold(equalBytes(again.blockHash, end.blockHash) && end.blockHash.length === 32, 'block');
      hold(refusal(() => decodeCursor(`${PATH}a=b`, text)) === 'invalid_cursor', 'belongs to one list');
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      hold(error.failure === 'invalid_cursor' && FAILURES[error.failure].http === 400, 'says what is wrong');
    }
  },
};

function cursorBytes(position: number, sub: number): Uint8Array {
  return bytesOfText(encodeCursor(PATH, { position, sub, seq: 0, blockHash: new Uint8Array(32).fill(sub) }));
}

function refusal(run: () => unknown): string | null {
  try {
    run();
    return null;
  } catch (error) {
    if (error instanceof ApiError) return error.failure;
    throw error;
  }
}

const REQUESTS = [
  '{"jsonrpc":"2.0","id":1,"method":"getblockcount","params":[]}',
  '{"jsonrpc":"1.0","id":"a","method":"getblockhash","params":[0]}',
  '[{"jsonrpc":"2.0","method":"ping"},{"id":null,"method":"x","params":{"a":0.1e-7}}]',
  '{"method":"x","id":{"a":[1,{}]},"params":[12345678901234567890.123456789,"\\u0000\\ud800",true,null]}',
  '{"__proto__":{"method":"x"},"constructor":1,"method":"hasOwnProperty"}',
];

const jsonRpc: FuzzTarget = {
  name: 'json-rpc',
  help: 'bodies of JSON-RPC requests',
  corpus: () => REQUESTS.map(bytesOfText),
  generate: (random) => bytesOfText(random.once(20) ? nested(random) : jsonText(random, 5)),
  async run(input) {
    if (await excessOf(input)) return;
    let body: RpcValue;
    try {
      body = parseJson(new TextDecoder().decode(input));
    } catch (error) {
      hold(error instanceof SyntaxError || error instanceof RangeError, 'a parse error');
      return;
    }
    for (const value of Array.isArray(body) ? body : [body]) {
      const call = readCall(value);
      hold(typeof call.method === 'string' && typeof isNotification(call) === 'boolean', 'a call');
      // The id is copied into the reply.
      if (call.id !== undefined) JSON.parse(call.id);
    }
  },
};

/** Returns text whose nesting is near the limit of parsers. */
function nested(random: Random): string {
  const depth = random.int(10_000);
  const inner = '['.repeat(depth) + ']'.repeat(depth);
  return random.once(2) ? inner : `{"jsonrpc":"2.0","id":${inner || 1},"method":"x","params":[]}`;
}

function jsonText(random: Random, depth: number): string {
  const kind = random.int(depth > 0 ? 8 : 6);
  const list = () => Array.from({ length: random.int(4) }, () => jsonText(random, depth - 1));
  if (kind === 0) return random.pick(['null', 'true', 'false', 'nul', '']);
  if (kind < 3) return random.pick(['0', '-1', '1e400', '-0', '1E+2', '9007199254740993', '0.10', '01', '1.']);
  if (kind < 6) return JSON.stringify(textOf(random.bytes(random.length(20))));
  if (kind === 6) return `[${list().join(',')}]`;
  const names = ['jsonrpc', 'id', 'method', 'params', '__proto__', 'toJSON', 'constructor', 'x'];
  const entries = list().map((text) => `"${random.pick(names)}":${text}`);
  return `{${['"method":"x"', ...entries].join(',')}}`;
}

const LAST_EVENT = 9;
const RUN_TAG = 'fuzz0001';

/** Returns the log of a few blocks, from a process that started after the third. */
function eventLog(): EventLog {
  const db = new Database(':memory:');
  db.run(SCHEMA);
  db.run(`INSERT INTO event_ranges VALUES (0, 'fuzz0000'), (4, '${RUN_TAG}')`);
  for (let seq = 1; seq <= LAST_EVENT; seq++)
    db.run("INSERT INTO events VALUES (?, 'newBlock', ?)", [seq, JSON.stringify({ seq })]);
  const log = new EventLog({ clock: systemClock, limits: { entries: 1000, bytes: 1024 ** 2, ageMs: 3_600_000 } });
  log.attach({ events: new EventStore(db) } as ChainReads);
  return log;
}

const WORLD = {
  log: eventLog(),
  registry: new WatchRegistry(),
  params: regtest,
  maxWatched: 10,
  maxWatchedInAll: 100,
  watchedInAll: () => 0,
  awaitEvent: () => null,
  time: 1,
  status: null,
};
const MAX_MESSAGE = 64 * 1024;

const wsMessage: FuzzTarget = {
  name: 'ws-message',
  help: 'what clients of the WebSocket send',
  corpus: () =>
    [
      '{"type":"ping","id":1,"data":{"a":[1]}}',
      '{"type":"subscribe","data":{"events":["newBlock","reorg"],"after":4,"replace":true}}',
      '{"type":"unsubscribe","id":"x","data":{"events":["newBlock"]}}',
      '{"type":"resume","data":{"after":1}}',
      `{"type":"resume","data":{"after":"${RUN_TAG}000000006ca0000000009"}}`,
      '{"type":"status"}',
      '{"type":"filter","data":{"onlyWatched":true,"minFeeRate":2}}',
    ].map(bytesOfText),
  run(input) {
    for (const scopes of [[], ['read']]) {
      const connection = {
        events: new Set(['newBlock']),
        principal: { scopes: new Set(scopes) },
        watches: new WatchUnion(new WatchSet(WORLD.registry), new WatchSet(WORLD.registry)),
        want() {},
        decline() {},
        seq: LAST_EVENT,
        resumeAt({ seq }: EventPosition) {
          this.seq = seq;
        },
      };
      const text = textOf(input.subarray(0, MAX_MESSAGE));
      const reply = answerMessage(text, connection as unknown as WsConnection, WORLD);
      // Requests with long lists are answered asynchronously, and so are their errors.
      if (reply instanceof Promise) continue;
      const { type } = JSON.parse(reply.text) as { type: string };
      hold(type === reply.type && (type === 'error') === reply.failed, 'one reply, of the type it is said to be');
      hold(connection.seq >= 0 && connection.seq <= LAST_EVENT, 'the position stays among the events');
    }
  },
};

/** Scripts as addresses of other networks; the input is bytes, not text. */
const scriptAddress: FuzzTarget = {
  name: 'script-address',
  help: 'the address of any script leads back to it',
  corpus: corpusScripts,
  run(input) {
    for (const net of [MAIN, TEST]) {
      const text = addressOf(input, net);
      if (text === null) continue;
      const parsed = parseAddress(text, net);
      hold(parsed.ok && equalBytes(parsed.script, input), 'an address leads back to its script');
    }
  },
};

export const TEXT_TARGETS: readonly FuzzTarget[] = [
  address,
  scriptAddress,
  base58,
  bech32,
  wif,
  hex,
  cursor,
  jsonRpc,
  wsMessage,
];
