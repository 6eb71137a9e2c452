import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { parseIp } from '../../src/util/ip-address.ts';
import { AllowedNetworks, addressText, literalAddress } from '../../src/webhooks/target-address.ts';

const NONE = new AllowedNetworks([]);
const refusal = (text: string, allowed = NONE, secure = true): string | null =>
  allowed.refusal(parseIp(text)!, { secure });

/** Addresses of special ranges, with the source of the range: first and last address, or a member. */
const FORBIDDEN: readonly (readonly [source: string, ...addresses: string[]])[] = [
  ['RFC 791: this network', '0.0.0.0', '0.255.255.255'],
  ['RFC 1918: private', '10.0.0.0', '10.255.255.255', '172.16.0.0', '172.31.255.255', '192.168.0.0', '192.168.255.255'],
  ['RFC 6598: shared address space', '100.64.0.0', '100.127.255.255'],
  ['RFC 1122: loopback', '127.0.0.0', '127.0.0.1', '127.255.255.255'],
  ['RFC 3927: link-local, the metadata service of clouds', '169.254.0.0', '169.254.169.254', '169.254.255.255'],
  ['RFC 6890: protocol assignments', '192.0.0.0', '192.0.0.255'],
  ['RFC 5737: documentation', '192.0.2.1', '198.51.100.1', '203.0.113.255'],
  ['RFC 7526: 6to4 relays', '192.88.99.1'],
  ['RFC 2544: benchmarking', '198.18.0.0', '198.19.255.255'],
  ['RFC 5771: multicast', '224.0.0.0', '239.255.255.255'],
  ['RFC 1112: reserved, and RFC 8190: broadcast', '240.0.0.0', '255.255.255.255'],
  ['RFC 4291: unspecified and loopback', '::', '::1'],
  ['RFC 4291: IPv4-mapped', '::ffff:127.0.0.1', '::ffff:10.0.0.1', '::ffff:a9fe:a9fe', '::ffff:0.0.0.0'],
  ['RFC 4291: IPv4-compatible', '::127.0.0.1', '::8.8.8.8'],
  ['RFC 6052: NAT64', '64:ff9b::127.0.0.1', '64:ff9b::a00:1', '64:ff9b::192.168.1.1', '64:ff9b::169.254.169.254'],
  ['RFC 8215: local NAT64', '64:ff9b:1::1', '64:ff9b:1:ffff:ffff:ffff:ffff:ffff'],
  ['RFC 3056: 6to4', '2002:7f00:1::', '2002:a00:1::1', '2002:c0a8:101::1', '2002:a9fe:a9fe::', '2002:e000:1::'],
  ['RFC 6666: discard', '100::', '100::ffff:ffff:ffff:ffff'],
  ['RFC 2928: protocol assignments, with Teredo and ORCHID', '2001::1', '2001:2::1', '2001:10::1', '2001:1ff::1'],
  ['RFC 3849 and RFC 9637: documentation', '2001:db8::1', '3fff::1', '3fff:fff:ffff::1'],
  ['RFC 9602: segment routing', '5f00::1'],
  ['RFC 4193: unique local', 'fc00::1', 'fd12:3456::1', 'fdff:ffff::'],
  ['RFC 4291: link-local', 'fe80::1', 'fe80::1%eth0', 'febf::1'],
  ['RFC 3879: site-local', 'fec0::1'],
  ['RFC 4291: multicast', 'ff02::1', 'ff0e::1'],
  ['RFC 4291: outside of global unicast', '4000::1', '::2', 'e000::1'],
];

const PUBLIC = [
  ...['1.1.1.1', '8.8.8.8', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255'],
  ...['128.0.0.0', '169.253.255.255', '169.255.0.0', '172.15.255.255', '172.32.0.0', '192.0.1.0', '192.167.255.255'],
  ...['192.169.0.0', '198.17.255.255', '198.20.0.0', '223.255.255.255'],
  ...['2606:4700:4700::1111', '2001:200::1', '2001:4860:4860::8888', '3ffe::1', '2003::1'],
  ...['::ffff:8.8.8.8', '64:ff9b::8.8.8.8', '2002:808:808::1'],
];

describe('an address that is not public is refused', () => {
  for (const [source, ...addresses] of FORBIDDEN)
    test(source, () => {
      for (const address of addresses) expect([address, refusal(address)]).toEqual([address, expect.any(String)]);
    });
});

test('a public address is allowed', () => {
  for (const address of PUBLIC) expect([address, refusal(address)]).toEqual([address, null]);
});

test('webhooks.allowedNetworks allows exactly the addresses that it names', () => {
  const allowed = new AllowedNetworks(['127.0.0.1', '10.1.0.0/16', 'fd00::/8']);
  for (const address of ['127.0.0.1', '::ffff:127.0.0.1', '10.1.255.255', 'fd00::1'])
    expect([address, refusal(address, allowed)]).toEqual([address, null]);
  // Another form of an allowed address is another way through the network.
  for (const address of ['127.0.0.2', '10.2.0.0', 'fc00::1', '64:ff9b::127.0.0.1', '2002:7f00:1::'])
    expect([address, refusal(address, allowed)]).toEqual([address, expect.any(String)]);
});

test('an address without TLS must be named by webhooks.allowedNetworks', () => {
  expect(refusal('8.8.8.8', NONE, false)).toContain('https://');
  expect(refusal('8.8.8.8', new AllowedNetworks(['8.8.8.0/24']), false)).toBeNull();
});

test('an IPv4 address has the same result in its mapped, NAT64 and 6to4 form', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 4, maxLength: 4 }), (v4) => {
      const text = [...v4].join('.');
      const hex = `${v4.subarray(0, 2).toHex()}:${v4.subarray(2).toHex()}`;
      const results = [text, `::ffff:${text}`, `64:ff9b::${text}`, `2002:${hex}::`].map((each) => refusal(each));
      expect(new Set(results).size).toBe(1);
    }),
    { numRuns: 1000 },
  );
});

test('the text of an address names the same address', () => {
  const either = fc.oneof(...[4, 16].map((size) => fc.uint8Array({ minLength: size, maxLength: size })));
  fc.assert(
    fc.property(either, (bytes) => {
      const isMapped = bytes.length === 16 && bytes.subarray(0, 12).toHex() === '00000000000000000000ffff';
      expect(parseIp(addressText(bytes))).toEqual(isMapped ? bytes.slice(12) : bytes);
    }),
  );
});

test('every spelling of an IPv4 address in a URL is recognized', () => {
  for (const host of ['127.0.0.1', '127.1', '0x7f.1', '2130706433', '0177.0.0.1', '127.0.0.1.', '１２７.0.0.1']) {
    const address = literalAddress(new URL(`https://${host}/`).hostname);
    expect([host, address && [...address]]).toEqual([host, [127, 0, 0, 1]]);
  }
  expect(literalAddress(new URL('https://[::1]/').hostname)!.at(-1)).toBe(1);
  expect(literalAddress('shop.example')).toBeNull();
});
