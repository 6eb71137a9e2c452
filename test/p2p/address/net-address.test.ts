import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { parseNetAddress, parseService, printAddress, printService } from '../../../src/p2p/address/address-text.ts';
import {
  type AddressNetwork,
  addressFromBip155,
  addressFromV1,
  addressToBip155,
  addressToV1,
  equalAddresses,
  internalAddress,
  isV1Compatible,
  type NetAddress,
  serviceKey,
  UNSPECIFIED,
} from '../../../src/p2p/address/net-address.ts';
import { netGroup, networkClassOf, networkOf, reachabilityFrom } from '../../../src/p2p/address/net-group.ts';
import { isBindAny, isLocal, isRoutable, isValid, linkedIpv4 } from '../../../src/p2p/address/ranges.ts';
import { bytesToHex, hexToBytes } from '../../../src/util/bytes.ts';

const ONION = 'pg6mmjiyjmcrsslvykfwnntlaru7p5svn6y2ymmju6nubxndf4pscryd.onion';
const I2P = 'ukeu3k5oycgaauneqgtnvselmt4yemvoilkln7jpvamvfx7dnkdq.b32.i2p';

/** Parses the text; addresses of fc00::/8 are CJDNS if `cjdns`. */
function at(text: string, { cjdns = false } = {}): NetAddress {
  const address = parseNetAddress(text);
  if (address === null) throw new Error(`not an address: ${text}`);
  return cjdns ? { network: 'cjdns', bytes: address.bytes } : address;
}

describe('address text', () => {
  test.each([
    ['1.2.3.4', '1.2.3.4', 'ipv4'],
    ['::ffff:1.2.3.4', '1.2.3.4', 'ipv4'],
    ['::FFFF:0102:0304', '1.2.3.4', 'ipv4'],
    ['::', '::', 'ipv6'],
    ['::1', '::1', 'ipv6'],
    ['1::', '1::', 'ipv6'],
    ['2001:0db8:0000:0000:0001:0000:0000:0001', '2001:db8::1:0:0:1', 'ipv6'],
    ['2001:0:0:1:0:0:0:1', '2001:0:0:1::1', 'ipv6'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1', 'ipv6'],
    ['64:ff9b::1.2.3.4', '64:ff9b::102:304', 'ipv6'],
    ['fd87:d87e:eb43:edb1:8e4:3588:e546:35ca', '::', 'ipv6'],
    [ONION, ONION, 'onion'],
    [I2P, I2P, 'i2p'],
    [I2P.toUpperCase(), I2P, 'i2p'],
  ])('%s is parsed and formatted', (text, printed, network) => {
    expect(printAddress(at(text))).toBe(printed);
    expect(at(text).network).toBe(network as AddressNetwork);
  });

  test.each([
    '',
    'localhost',
    '1.2.3',
    '1.2.3.256',
    '01.2.3.4',
    '1.2.3.4 ',
    ':::',
    '1:2:3:4:5:6:7',
    'fe80::1%eth0',
    // Addresses of names, such as DNS seeds, are embedded in this range.
    'fd6b:88c0:8724:1:2:3:4:5',
    // Tor v2, a wrong checksum, a wrong version, an upper-case suffix.
    '6hzph5hv6337r6p2.onion',
    'pg6mmjiyjmcrsslvykfwnntlaru7p5svn6y2ymmju6nubxndf4pscrye.onion',
    'pg6mmjiyjmcrsslvykfwnntlaru7p5svn6y2ymmju6nubxndf4pscsad.onion',
    ONION.replace('.onion', '.ONION'),
    // One character too few, and one outside of base32.
    I2P.slice(1),
    I2P.replace('u', '1'),
    '.b32.i2p',
    '.onion',
  ])('%p is not an address', (text) => expect(parseNetAddress(text)).toBeNull());

  test('parseService accepts a host with an optional port', () => {
    const printed = (text: string) => {
      const service = parseService(text, 8333);
      return service && printService(service);
    };
    expect(printed('1.2.3.4')).toBe('1.2.3.4:8333');
    expect(printed('1.2.3.4:18444')).toBe('1.2.3.4:18444');
    expect(printed('127.1:18444')).toBe('127.0.0.1:18444');
    expect(printed('10.1.515')).toBe('10.1.2.3:8333');
    expect(printed('127.01')).toBeNull();
    expect(printed('1.256.1')).toBeNull();
    expect(printed('1.2.65536')).toBeNull();
    expect(printed('::1')).toBe('[::1]:8333');
    expect(printed('[::1]')).toBe('[::1]:8333');
    expect(printed('[::1]:1')).toBe('[::1]:1');
    expect(printed(`${I2P}:0`)).toBe(`${I2P}:0`);
    expect(printed(`${ONION}:9050`)).toBe(`${ONION}:9050`);
    for (const wrong of ['1.2.3.4:', '1.2.3.4:65536', '1.2.3.4:+1', '[::1]:x', ':1', '[1.2.3.4', 'x:1'])
      expect(printed(wrong)).toBeNull();
  });

  test('a formatted address is parsed to the same address', () => {
    const sizes = { ipv4: 4, ipv6: 16, onion: 32, i2p: 32 } as const;
    fc.assert(
      fc.property(
        fc.constantFrom('ipv4', 'ipv6', 'onion', 'i2p'),
        fc.uint8Array({ minLength: 32, maxLength: 32 }),
        (network, bytes) => {
          const address: NetAddress = { network, bytes: bytes.slice(0, sizes[network]) };
          // Zero groups are the ones that are compressed.
          if (network === 'ipv6') address.bytes.set(new Uint8Array(bytes[20]! % 12), bytes[21]! % 4);
          if (network === 'ipv6' && addressFromV1(address.bytes).network !== 'ipv6') return;
          expect(at(printAddress(address))).toEqual(address);
        },
      ),
    );
  });
});

describe('address ranges match those of Core', () => {
  test.each([
    '8.8.8.8',
    '100.63.255.255',
    '100.128.0.0',
    '172.15.0.1',
    '172.32.0.1',
    '198.17.0.1',
    '198.20.0.1',
    '2001:4860:4860::8888',
    '2001::1',
    '2002::1',
    '64:ff9b::102:304',
    '::ffff:0:102:304',
    '2001:470::1',
    'fe80:1::',
    ONION,
    I2P,
  ])('%s is routable', (text) => expect([isValid(at(text)), isRoutable(at(text))]).toEqual([true, true]));

  test.each([
    '10.0.0.1',
    '192.168.1.1',
    '172.16.0.1',
    '172.31.255.255',
    '100.64.0.1',
    '100.127.255.255',
    '169.254.1.1',
    '192.0.2.1',
    '198.18.0.1',
    '198.19.255.255',
    '198.51.100.1',
    '203.0.113.1',
    '127.0.0.1',
    '0.1.2.3',
    '::1',
    'fe80::1',
    'fc00::1',
    'fd00::1',
    '2001:10::1',
    '2001:2f::1',
  ])('%s is valid but not routable', (text) =>
    expect([isValid(at(text)), isRoutable(at(text))]).toEqual([true, false]),
  );

  test.each(['0.0.0.0', '255.255.255.255', '::', '2001:db8::1'])('%s is not valid', (text) => {
    expect([isValid(at(text)), isRoutable(at(text)), networkOf(at(text))]).toEqual([false, false, 'unroutable']);
  });

  test('a valid CJDNS address begins with fc', () => {
    expect(isRoutable(at('fc00:1::2', { cjdns: true }))).toBe(true);
    expect(isValid({ network: 'cjdns', bytes: new Uint8Array(16).fill(0xfd) })).toBe(false);
  });

  test('addresses of DNS seed names are neither valid nor routable', () => {
    const seed = internalAddress('seed.example');
    expect([isValid(seed), isRoutable(seed), networkOf(seed)]).toEqual([false, false, 'internal']);
    expect(printAddress(seed)).toEndWith('.internal');
  });

  test('isLocal and isBindAny recognize loopback and wildcard addresses', () => {
    expect(['127.9.9.9', '0.0.0.1', '::1', '1.1.1.1', '::2'].map((text) => isLocal(at(text)))).toEqual([
      true,
      true,
      true,
      false,
      false,
    ]);
    expect(['0.0.0.0', '::', '0.0.0.1', ONION].map((text) => isBindAny(at(text)))).toEqual([true, true, false, false]);
  });

  test.each([
    ['64:ff9b::102:304', '01020304'],
    ['::ffff:0:102:304', '01020304'],
    ['2002:102:304::1', '01020304'],
    ['2001:0:9999:9999:9999:9999:fefd:fcfb', '01020304'],
    ['1.2.3.4', '01020304'],
  ])('%s embeds an IPv4 address', (text, hex) => {
    expect(bytesToHex(linkedIpv4(at(text))!)).toBe(hex);
    expect(networkClassOf(at(text))).toBe('ipv4');
  });
});

// Core's netbase_tests has the same cases.
test.each([
  ['127.0.0.1', '00'],
  ['257.0.0.1', null],
  ['10.0.0.1', '00'],
  ['169.254.1.1', '00'],
  ['1.2.3.4', '010102'],
  ['::ffff:0:102:304', '010102'],
  ['64:ff9b::102:304', '010102'],
  ['2002:102:304:9999:9999:9999:9999:9999', '010102'],
  ['2001:0:9999:9999:9999:9999:fefd:fcfb', '010102'],
  ['2001:470:abcd:9999:9999:9999:9999:9999', '0220010470af'],
  ['2001:2001:9999:9999:9999:9999:9999:9999', '0220012001'],
  [ONION, '037f'],
  [I2P, '04af'],
])('the group of %s matches that of Core', (text, group) => {
  const address = parseNetAddress(text);
  expect(address && bytesToHex(netGroup(address))).toBe(group);
});

test('CJDNS addresses and names have their own groups', () => {
  expect(bytesToHex(netGroup(at('fc00:1234::1', { cjdns: true })))).toBe('05fc0f');
  expect(bytesToHex(netGroup(at('fc12:1234::1', { cjdns: true })))).toBe('05fc1f');
  const seed = internalAddress('seed.example');
  expect(bytesToHex(netGroup(seed))).toBe(`06${bytesToHex(seed.bytes)}`);
});

describe('address serialization', () => {
  test('the format before BIP-155 is decoded as it was encoded', () => {
    for (const text of ['1.2.3.4', '2001:4860::1', 'fc00::1'])
      expect(addressFromV1(addressToV1(at(text)))).toEqual(at(text));
    const seed = internalAddress('x');
    expect(addressFromV1(addressToV1(seed))).toEqual(seed);
    for (const text of [ONION, I2P]) {
      expect([...addressToV1(at(text))]).toEqual(new Array(16).fill(0));
      expect(isV1Compatible(at(text))).toBe(false);
    }
  });

  test('the BIP-155 format is decoded as it was encoded', () => {
    const ids = ['1.2.3.4', '2001:4860::1', ONION, I2P].map((text) => {
      const { id, bytes } = addressToBip155(at(text));
      expect(addressFromBip155(id, bytes)).toEqual(at(text));
      return id;
    });
    expect(ids).toEqual([1, 2, 4, 5]);
    expect(addressToBip155(at('fc00::1', { cjdns: true })).id).toBe(6);
    const seed = internalAddress('x');
    expect(addressFromBip155(2, addressToBip155(seed).bytes)).toEqual(seed);
  });

  test('BIP-155 addresses of unknown networks or embedded in IPv6 are decoded as unspecified', () => {
    for (const [id, hex] of [
      [3, '00112233445566778899'],
      [7, 'aa'],
      [2, '00000000000000000000ffff01020304'],
      [2, 'fd87d87eeb4301020304050607080910'],
    ] as const)
      expect(addressFromBip155(id, hexToBytes(hex))).toEqual(UNSPECIFIED);
  });

  test.each([
    [1, 5],
    [2, 4],
    [4, 16],
    [5, 3],
    [6, 15],
  ])('a BIP-155 address of network %p with %p bytes is rejected', (id, size) =>
    expect(() => addressFromBip155(id, new Uint8Array(size))).toThrow(`length ${size} (should be`),
  );
});

test('equal addresses have equal keys', () => {
  const addresses = ['1.2.3.4', '1.2.3.5', '::1', ONION, I2P].map((text) => at(text));
  expect(equalAddresses(at('1.2.3.4'), at('::ffff:1.2.3.4'))).toBe(true);
  expect(new Set(addresses.map((address) => serviceKey({ address, port: 1 }))).size).toBe(5);
  expect(serviceKey({ address: at('::1'), port: 1 })).not.toBe(serviceKey({ address: at('::1'), port: 2 }));
});

// Results of Core's GetReachabilityFrom, from best to worst for each partner.
test.each([
  ['1.1.1.1', { '8.8.8.8': 4, '2001:4860::1': 1, [ONION]: 1, [I2P]: 1, '10.0.0.1': 0, '2001::5': 1 }],
  ['2001:4860::2', { '2001:4860::1': 5, '8.8.8.8': 4, '2002:102:304::1': 3, '2001::5': 2, [ONION]: 1, [I2P]: 1 }],
  [ONION, { [ONION]: 6, '8.8.8.8': 4, '2001:4860::1': 1, [I2P]: 1 }],
  [I2P, { [I2P]: 6, '8.8.8.8': 1, [ONION]: 1 }],
  ['2001::7', { '8.8.8.8': 4, '2001:4860::1': 3, '2001::5': 2, [ONION]: 1 }],
  ['10.0.0.1', { [ONION]: 6, '8.8.8.8': 4, '2001:4860::1': 3, '2001::5': 2, [I2P]: 1, '127.0.0.1': 0 }],
])('the reachability of our addresses from %s matches that of Core', (partner, expected) => {
  for (const [ours, reach] of Object.entries(expected))
    expect([ours, reachabilityFrom(at(ours), at(partner))]).toEqual([ours, reach]);
});
