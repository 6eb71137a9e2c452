import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { parseNetAddress } from '../../../src/p2p/address/address-text.ts';
import { MessageError } from '../../../src/p2p/messages/codec.ts';
import { InventoryItems } from '../../../src/p2p/messages/inventory.ts';
import {
  type DecodedOf,
  decodeMessage,
  encodeMessage,
  isMessageType,
  MESSAGES,
  type MessageType,
  type ValueOf,
} from '../../../src/p2p/messages/messages.ts';
import { printableAgent } from '../../../src/p2p/messages/version.ts';
import type { BlockHash } from '../../../src/primitives/hash.ts';
import { bytesToHex, concatBytes, hexToBytes } from '../../../src/util/bytes.ts';
import { header, VALUES } from './message-values.ts';

test('InventoryItems yields the items of the decoded message', () => {
  fc.assert(
    fc.property(VALUES.inv as fc.Arbitrary<DecodedOf<'inv'>>, (value) => {
      const payload = encodeMessage('inv', value);
      const whole = decodeMessage('inv', payload)!.value as DecodedOf<'inv'>;
      for (const type of ['inv', 'getdata', 'notfound'] as const)
        expect([...new InventoryItems(type, payload)]).toEqual([...whole.items]);
    }),
  );
});

test('InventoryItems throws the error of the decoder', () => {
  const tooMany = Uint8Array.of(0xfd, 0x51, 0xc3);
  expect(() => new InventoryItems('getdata', tooMany)).toThrow(
    new MessageError('getdata', 'getdata message size = 50001', 'misbehaving'),
  );
  expect(() => new InventoryItems('notfound', tooMany)).toThrow('unexpected end of data');
  expect(() => new InventoryItems('inv', Uint8Array.of(1, ...new Uint8Array(35)))).toThrow('unexpected end of data');
});

const TYPES = Object.keys(MESSAGES) as MessageType[];
const hash = (fill: number) => new Uint8Array(32).fill(fill) as BlockHash;

/** The error reason and the consequence for the peer. */
function refusal(type: string, payload: Uint8Array): { reason: string; verdict: string } {
  try {
    decodeMessage(type, payload);
  } catch (error) {
    if (error instanceof MessageError) {
      expect(error.messageType).toBe(type);
      expect(error.message).toBe(`${type}: ${error.reason}`);
      return { reason: error.reason, verdict: error.verdict };
    }
    throw error;
  }
  return { reason: 'none', verdict: 'none' };
}

/** Returns a value independent of where its bytes lie in the payload. */
function comparable(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (key, item) =>
      key === 'offset'
        ? undefined
        : typeof item === 'bigint'
          ? `${item}n`
          : item instanceof Uint8Array
            ? bytesToHex(item)
            : item,
    ),
  );
}

/** Messages whose payload is used unchanged. */
const OPEN_ENDED = ['block'];
/** Messages that may be truncated or empty. */
const OPTIONAL_END: readonly string[] = ['version', 'pong', 'block'];

describe.each(TYPES)('%s', (type) => {
  const values = VALUES[type] as fc.Arbitrary<DecodedOf<typeof type>>;
  const encode = (value: unknown) => encodeMessage(type, value as ValueOf<typeof type>);

  test('any value is decoded as it was encoded', () => {
    fc.assert(
      fc.property(values, (value) => {
        const message = decodeMessage(type, encode(value));
        expect(message?.type).toBe(type);
        expect(comparable(message?.value)).toEqual(comparable(value));
      }),
      { numRuns: 50 },
    );
  });

  test('trailing bytes are accepted where Core accepts them', () => {
    fc.assert(
      fc.property(values, fc.uint8Array({ minLength: 1, maxLength: 20 }), (value, more) => {
        const payload = concatBytes(encode(value), more);
        if (type === 'feature')
          expect(refusal(type, payload)).toEqual({ reason: 'bytes after the feature', verdict: 'disconnect' });
        else if (type === 'pong' && payload.length < 8)
          expect(decodeMessage(type, payload)?.value).toEqual({ nonce: null });
        else if (!OPEN_ENDED.includes(type) && !(type === 'pong' && (value as { nonce: bigint | null }).nonce === null))
          expect(comparable(decodeMessage(type, payload)?.value)).toEqual(comparable(value));
      }),
      { numRuns: 30 },
    );
  });

  test('a truncated payload is rejected', () => {
    fc.assert(
      fc.property(values, fc.nat(), (value, at) => {
        const payload = encode(value);
        if (payload.length === 0 || OPTIONAL_END.includes(type)) return;
        const { reason, verdict } = refusal(type, payload.subarray(0, at % payload.length));
        expect(reason).not.toBe('none');
        expect(verdict).toBe(type === 'feature' ? 'disconnect' : 'ignore');
      }),
      { numRuns: 50 },
    );
  });

  test('arbitrary bytes cause no error other than a rejection', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (payload) => {
        refusal(type, payload);
      }),
      { numRuns: 100 },
    );
  });
});

test('unknown message types decode to null, including names of Object members', () => {
  for (const type of ['reqrecon', '', 'constructor', '__proto__', 'toString'])
    expect([isMessageType(type), decodeMessage(type, new Uint8Array(3))]).toEqual([false, null]);
});

describe('version', () => {
  // Made by hand from the protocol: 70016, network and witness, a time, receiver 1.2.3.4:8333, empty sender.
  const REQUIRED =
    '80110100' + '0900000000000000' + '11b2d05000000000' + '0100000000000000' + '00000000000000000000ffff01020304208d';
  const read = (hex: string) => MESSAGES.version.decode(hexToBytes(hex));

  test('version is encoded as in Core', () => {
    const payload = encodeMessage('version', {
      version: 70016,
      services: 9n,
      time: 0x50d0b211n,
      receiverServices: 1n,
      receiver: { address: parseNetAddress('1.2.3.4')!, port: 8333 },
      nonce: 7n,
      userAgent: '/x:1/',
      startHeight: 98645,
      relay: true,
    });
    const sender = `0900000000000000${'00'.repeat(16)}0000`;
    expect(bytesToHex(payload)).toBe(`${REQUIRED}${sender}0700000000000000052f783a312f5581010001`);
  });

  test('all fields of version after the receiver are optional', () => {
    const least = read(REQUIRED);
    expect([least.version, least.services, least.receiver.port]).toEqual([70016, 9n, 8333]);
    expect([least.nonce, least.userAgent, least.startHeight, least.relay]).toEqual([1n, '', -1, true]);
    expect(refusal('version', hexToBytes(REQUIRED.slice(2))).verdict).toBe('ignore');
    const sender = '00'.repeat(26);
    expect(refusal('version', hexToBytes(`${REQUIRED}${sender}00`)).reason).toBe('unexpected end of data');
    expect(read(`${REQUIRED}${sender}0500000000000000`).nonce).toBe(5n);
    expect(read(`${REQUIRED}${sender}0500000000000000022f2f`).userAgent).toBe('//');
    expect(read(`${REQUIRED}${sender}0500000000000000000a000000`)).toMatchObject({ startHeight: 10, relay: true });
    expect(read(`${REQUIRED}${sender}0500000000000000000a00000000`).relay).toBe(false);
    expect(read(`${REQUIRED}${sender}0500000000000000000a00000007`).relay).toBe(true);
  });

  test('a time before 1970 is decoded as 0', () =>
    expect(read(REQUIRED.replace('11b2d05000000000', 'ffffffffffffffff')).time).toBe(0n));

  test('a user agent of 256 bytes is accepted, a longer one rejected, and its printable form is harmless', () => {
    const withAgent = (length: number) => {
      const size = `fd${length
        .toString(16)
        .padStart(4, '0')
        .replace(/(..)(..)/, '$2$1')}`;
      return hexToBytes(`${REQUIRED}${'00'.repeat(26)}0500000000000000${size}${'41'.repeat(length)}`);
    };
    expect(MESSAGES.version.decode(withAgent(256)).userAgent).toHaveLength(256);
    expect(refusal('version', withAgent(257))).toEqual({
      reason: 'user agent of 257 bytes is too long',
      verdict: 'ignore',
    });
    expect(printableAgent('/Node:1.0(a-b; c_d)/?@,.<b>\n\u0000é"\'&%')).toBe('/Node:1.0(a-b; c_d)/?@,.b');
  });
});

describe('limits', () => {
  const counted = (count: number, item: string, before = '', after = '') => {
    const size = `fe${bytesToHex(new Uint8Array(new Uint32Array([count]).buffer))}`;
    const small = `fd${bytesToHex(new Uint8Array(new Uint16Array([count]).buffer))}`;
    const prefix = count > 0xffff ? size : count < 0xfd ? count.toString(16).padStart(2, '0') : small;
    return hexToBytes(before + prefix + item.repeat(count) + after);
  };
  const NONE = { reason: 'none', verdict: 'none' };

  test.each(['inv', 'getdata'])('%s: 50,000 items', (type) => {
    expect(refusal(type, counted(50_000, '00'.repeat(36)))).toEqual(NONE);
    expect(refusal(type, counted(50_001, '00'.repeat(36)))).toEqual({
      reason: `${type} message size = 50001`,
      verdict: 'misbehaving',
    });
    expect(() => encodeMessage(type as 'inv', { items: new Array(50_001).fill({ kind: 1, hash: hash(1) }) })).toThrow(
      'limit',
    );
  });

  test('notfound is limited only by its size', () =>
    expect(refusal('notfound', counted(50_001, '00'.repeat(36)))).toEqual(NONE));

  test('headers has at most 2,000 entries with any transaction count', () => {
    expect(refusal('headers', counted(2000, '00'.repeat(81)))).toEqual(NONE);
    expect(refusal('headers', counted(2001, '00'.repeat(81)))).toEqual({
      reason: 'headers message size = 2001',
      verdict: 'misbehaving',
    });
    expect(refusal('headers', counted(3, `${'00'.repeat(80)}fd0001`))).toEqual(NONE);
    expect(refusal('headers', counted(1, `${'00'.repeat(80)}fd0100`))).toEqual({
      reason: 'non-canonical compact size',
      verdict: 'ignore',
    });
  });

  test.each([
    ['addr', '00'.repeat(30)],
    ['addrv2', `00000000000104010203040000`],
  ])('a list of 1,000 entries is accepted and a longer one rejected: %s', (type, item) => {
    expect(refusal(type, counted(1000, item))).toEqual(NONE);
    expect(refusal(type, counted(1001, item))).toEqual({
      reason: `${type} message size = 1001`,
      verdict: 'misbehaving',
    });
  });

  test.each(['getheaders', 'getblocks'])('%s: a locator of 101', (type) => {
    const locator = (count: number) => counted(count, '00'.repeat(32), '00000000', '00'.repeat(32));
    expect(refusal(type, locator(101))).toEqual(NONE);
    expect(refusal(type, locator(102))).toEqual({ reason: `${type} locator size 102 > 101`, verdict: 'disconnect' });
  });

  test('a count beyond the payload allocates nothing', () => {
    for (const [type, before] of [
      ['notfound', ''],
      ['blocktxn', '00'.repeat(32)],
      ['cmpctblock', '00'.repeat(88)],
    ] as const)
      expect(refusal(type, hexToBytes(`${before}feffffff01`)).reason).toBe('unexpected end of data');
    expect(refusal('notfound', hexToBytes('feffffff7f')).reason).toBe('compact size too large');
  });

  test('the first byte of sendcmpct is 0 or 1', () =>
    expect(refusal('sendcmpct', hexToBytes('020200000000000000'))).toEqual({
      reason: 'invalid sendcmpct announce field',
      verdict: 'misbehaving',
    }));

  test('a feature has an id of 4 to 80 bytes and at most 512 bytes of data', () => {
    const of = (id: number, data: number) =>
      concatBytes(Uint8Array.of(id), new Uint8Array(id).fill(0x41), counted(data, '00'));
    expect(refusal('feature', of(4, 512))).toEqual(NONE);
    expect(refusal('feature', of(80, 0))).toEqual(NONE);
    for (const [id, data] of [
      [3, 0],
      [81, 0],
      [4, 513],
    ] as const)
      expect(refusal('feature', of(id, data)).verdict).toBe('disconnect');
  });

  test('indexes of getblocktxn have 16 bits', () => {
    const of = (...gaps: string[]) => hexToBytes(`${'00'.repeat(32)}0${gaps.length}${gaps.join('')}`);
    expect(MESSAGES.getblocktxn.decode(of('00', '00', 'fdfdff')).indexes).toEqual([0, 1, 65535]);
    expect(refusal('getblocktxn', of('00', '00', 'fdfeff'))).toEqual({
      reason: 'differential value overflow',
      verdict: 'ignore',
    });
  });

  test('cmpctblock has at most 65,535 transactions', () => {
    const [sample] = fc.sample(header, 1);
    const of = (count: number) =>
      encodeMessage('cmpctblock', { header: sample!, nonce: 0n, shortIds: new Array(count).fill(1), prefilled: [] });
    expect(refusal('cmpctblock', of(65_535))).toEqual(NONE);
    expect(refusal('cmpctblock', of(65_536))).toEqual({ reason: 'indexes overflowed 16 bits', verdict: 'ignore' });
  });
});

describe('addrv2', () => {
  const one = (id: string, address: string, services = '09') =>
    hexToBytes(`0111b2d050${services}${id}${(address.length / 2).toString(16).padStart(2, '0')}${address}208d`);

  test('an address of an unknown network is skipped, and the following ones are decoded', () => {
    const unknown = bytesToHex(one('ff', 'aabbcc')).slice(2);
    const known = bytesToHex(one('01', '01020304')).slice(2);
    const value = MESSAGES.addrv2.decode(hexToBytes(`02${unknown}${known}`));
    expect(value.addresses.map(({ address }) => bytesToHex(address.bytes))).toEqual(['00'.repeat(16), '01020304']);
  });

  test('an address of a known network with the wrong size makes the message invalid', () =>
    expect(refusal('addrv2', one('01', '0102030405'))).toEqual({
      reason: 'BIP155 ipv4 address with length 5 (should be 4)',
      verdict: 'ignore',
    }));

  test('an address of 512 bytes is accepted and a longer one rejected', () => {
    const of = (size: number) =>
      hexToBytes(
        `0111b2d05009fefd${(size & 0xff).toString(16).padStart(2, '0')}${(size >> 8).toString(16).padStart(2, '0')}${'00'.repeat(size)}208d`,
      );
    expect(refusal('addrv2', of(512)).reason).toBe('none');
    expect(refusal('addrv2', of(513)).reason).toBe('address of 513 bytes is too long');
  });

  test('service bits have 64 bits in their shortest encoding', () => {
    const value = MESSAGES.addrv2.decode(one('01', '01020304', 'ffffffffffffffffff'));
    expect(value.addresses[0]?.services).toBe((1n << 64n) - 1n);
    expect(refusal('addrv2', one('01', '01020304', 'fd0900')).reason).toBe('non-canonical compact size');
  });
});

test('inv and getheaders are encoded byte for byte as in Core', () => {
  expect(bytesToHex(encodeMessage('inv', { items: [{ kind: 0x40000001, hash: hash(0xaa) }] }))).toBe(
    `0101000040${'aa'.repeat(32)}`,
  );
  expect(bytesToHex(encodeMessage('getheaders', { version: 70016, locator: [hash(1)], stopHash: hash(0) }))).toBe(
    `8011010001${'01'.repeat(32)}${'00'.repeat(32)}`,
  );
});
