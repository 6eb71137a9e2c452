import { decodeAddrTables, encodeAddrTables } from '../../../src/p2p/address/addr-file.ts';
import { AddrTables } from '../../../src/p2p/address/addr-tables.ts';
import { parseService, printService } from '../../../src/p2p/address/address-text.ts';
import { Asmap, asmapProblem } from '../../../src/p2p/address/asmap.ts';
import { PREFIX_GROUPS } from '../../../src/p2p/address/net-groups.ts';
import { MessageError } from '../../../src/p2p/messages/codec.ts';
import { decodeMessage, encodeMessage, MESSAGES, type MessageType } from '../../../src/p2p/messages/messages.ts';
import type { Transport, TransportEvent } from '../../../src/p2p/transport/transport.ts';
import { V1Transport } from '../../../src/p2p/transport/v1-transport.ts';
import { V2Transport } from '../../../src/p2p/transport/v2-transport.ts';
import { concatBytes, equalBytes, hexToBytes } from '../../../src/util/bytes.ts';
import { corpusBlocks, corpusTransactions } from '../corpus.ts';
import { bytesOfText, decoded, type FuzzTarget, hold, textOf } from '../target.ts';

const TYPES = Object.keys(MESSAGES) as MessageType[];
const MAGIC = hexToBytes('fabfb5da');
/** The map of autonomous systems of Core's tests. */
const ASMAP = hexToBytes(
  'fb03ec0fb03fc0fe00fb03ec0fb03fc0fe00fb03ec0fb0fffffeffedb0ffd486e628290000400000400040990100800180040000050006001cf039',
);
const NOTHING = new Uint8Array(0);

/** Returns a payload behind the number of its type. */
function numbered(type: MessageType, payload: Uint8Array): Uint8Array {
  return concatBytes(Uint8Array.of(TYPES.indexOf(type)), payload);
}

function decodedMessage(type: MessageType, payload: Uint8Array) {
  try {
    return decodeMessage(type, payload);
  } catch (error) {
    if (error instanceof MessageError) return null;
    throw error;
  }
}

const message: FuzzTarget = {
  name: 'p2p-message',
  help: 'payloads of every message: the first byte says which',
  corpus: () => [
    ...corpusTransactions().map((raw) => numbered('tx', raw)),
    ...corpusBlocks().map((raw) => numbered('block', raw)),
    ...TYPES.map((type) => numbered(type, new Uint8Array(120))),
    numbered('addrv2', hexToBytes('0211b2d05009010401020304208d11b2d05009ff03aabbcc208d')),
    numbered('getblocktxn', hexToBytes(`${'00'.repeat(32)}03000005`)),
  ],
  run(input) {
    const type = TYPES[(input[0] ?? 0) % TYPES.length]!;
    const first = decodedMessage(type, input.subarray(1));
    if (first === null) return;
    const payload = encodeMessage(first.type, first.value as never).slice();
    const second = decodedMessage(type, payload);
    hold(second !== null, 'what was decoded can be encoded and decoded again');
    hold(equalBytes(encodeMessage(second.type, second.value as never), payload), 'and is then the same');
  },
};

function eventsOf(transport: Transport, chunks: readonly Uint8Array[]): readonly TransportEvent[] {
  return chunks.flatMap((chunk) => transport.receive(chunk));
}

function sameHowever(make: () => Transport, input: Uint8Array): void {
  const whole = eventsOf(make(), [input]);
  const cut = (input[0] ?? 0) % (input.length + 1);
  const parts = eventsOf(make(), [
    input.subarray(0, cut),
    ...Array.from(input.subarray(cut), (byte) => Uint8Array.of(byte)),
  ]);
  hold(Bun.deepEquals(whole, parts), 'the same events however the stream is cut');
  hold(!whole.slice(0, -1).some(({ kind }) => kind === 'failed'), 'nothing follows a failure');
}

const stream: FuzzTarget = {
  name: 'p2p-stream',
  help: 'bytes from a peer of unknown transport',
  corpus: () => {
    const v1 = new V1Transport(MAGIC);
    const start = concatBytes(v1.encode('version', new Uint8Array(90)), v1.encode('verack', NOTHING));
    return [start, v2(true).start(), concatBytes(new Uint8Array(64).fill(3), new Uint8Array(200))];
  },
  run(input) {
    sameHowever(() => new V1Transport(MAGIC), input);
    sameHowever(() => v2(false), input);
  },
};

/** Returns a transport with fixed keys, so that only the input determines its behaviour. */
function v2(initiating: boolean): V2Transport {
  let draws = 0;
  const random = (size: number) => new Uint8Array(size).fill(++draws);
  return new V2Transport({ initiating, magic: MAGIC, secret: new Uint8Array(32).fill(9), random, garbage: NOTHING });
}

const address: FuzzTarget = {
  name: 'p2p-address',
  help: 'texts of addresses and ports',
  corpus: () => ['1.2.3.4:8333', '[2001:db8::1]:1', '::ffff:1.2.3.4', 'x.onion:9'].map(bytesOfText),
  run(input) {
    const service = parseService(textOf(input), 8333);
    if (service === null) return;
    const printed = printService(service);
    const again = parseService(printed, 1);
    hold(again !== null && printService(again) === printed, 'what is printed is read as the same');
  },
};

const addrFile: FuzzTarget = {
  name: 'p2p-addr-file',
  help: 'saved address tables',
  corpus: () => [encodeAddrTables(new AddrTables(new Uint8Array(32).fill(1), PREFIX_GROUPS))],
  run(input) {
    const tables = decoded(() => decodeAddrTables(input, PREFIX_GROUPS));
    if (tables !== null) hold(tables.problem() === null, 'sound');
  },
};

const asmap: FuzzTarget = {
  name: 'p2p-asmap',
  help: 'maps of autonomous systems',
  // Behind the address that is looked up.
  corpus: () => [new Uint8Array(16 + 3), concatBytes(new Uint8Array(16), ASMAP)],
  run(input) {
    const [bytes, ip] = [input.subarray(16), input.subarray(0, 16)];
    if (ip.length < 16 || asmapProblem(bytes) !== null) return;
    hold(new Asmap(bytes).lookUp(ip) >= 0, 'every address leads to a number');
  },
};

export const P2P_TARGETS: readonly FuzzTarget[] = [message, stream, address, addrFile, asmap];
