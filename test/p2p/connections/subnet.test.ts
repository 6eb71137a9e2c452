import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { parseNetAddress } from '../../../src/p2p/address/address-text.ts';
import { isInSubnet, parseSubnet, printSubnet } from '../../../src/p2p/connections/subnet.ts';
import { ip, ONION } from '../address/addr-fixture.ts';

// The cases of Core's netbase tests.
test.each([
  ['1.2.3.0/24', '1.2.3.4', true],
  ['1.2.2.0/24', '1.2.3.4', false],
  ['1.2.3.4', '1.2.3.4', true],
  ['1.2.3.4/32', '1.2.3.4', true],
  ['1.2.3.4', '5.6.7.8', false],
  ['1.2.3.4/255.255.255.255', '1.2.3.4', true],
  ['1.2.0.0/255.255.0.0', '1.2.200.4', true],
  ['::ffff:127.0.0.1', '127.0.0.1', true],
  ['1:2:3:4:5:6:7:8', '1:2:3:4:5:6:7:8', true],
  ['1:2:3:4:5:6:7:8', '1:2:3:4:5:6:7:9', false],
  ['1:2:3:4:5:6:7:0/112', '1:2:3:4:5:6:7:1234', true],
  ['1:2:3:4:0:0:0:0/ffff:ffff:ffff:ffff::', '1:2:3:4:5:6:7:8', true],
  ['192.168.0.1/24', '192.168.0.2', true],
  ['192.168.0.20/29', '192.168.0.18', true],
  ['1.2.2.1/24', '1.2.2.4', true],
  ['1.2.2.110/31', '1.2.2.111', true],
  ['1.2.2.20/26', '1.2.2.63', true],
  ['1:2:3:4:5:6:7:8/0', 'a:b:c::1', true],
  ['0.0.0.0/0', '1.2.3.4', true],
  ['0.0.0.0/0', '1:2:3:4:5:6:7:1234', false],
  ['::/0', '1.2.3.4', false],
  [ONION, ONION, true],
])('isInSubnet: %s contains %s: %p', (subnet, address, expected) =>
  expect(isInSubnet(ip(address), parseSubnet(subnet)!)).toBe(expected),
);

test.each([
  '1.2.3.0/-1',
  '1.2.3.0/33',
  '1.2.3.0/+24',
  '1.2.3.0/',
  '1:2:3:4:5:6:7:8/129',
  'fuzzy',
  '1.2.3.4/255.0.255.255',
  '1.2.3.4/ffff::',
  '1:2:3:4:5:6:7:8/255.255.0.0',
  `${ONION}/8`,
  '',
])('%s is not a subnet', (text) => expect(parseSubnet(text)).toBeNull());

test.each([
  ['1.2.3.4/24', '1.2.3.0/24'],
  ['1.2.3.4', '1.2.3.4/32'],
  ['1:2:3:4:5:6:7:8/64', '1:2:3:4::/64'],
  [ONION, ONION],
])('%s is formatted as %s', (text, printed) => expect(printSubnet(parseSubnet(text)!)).toBe(printed));

test('a subnet contains addresses with its prefix and is formatted as it is parsed', () => {
  const bytes = fc.uint8Array({ minLength: 4, maxLength: 4 });
  fc.assert(
    fc.property(bytes, bytes, fc.nat(32), (a, b, prefix) => {
      const subnet = parseSubnet(`${a.join('.')}/${prefix}`)!;
      expect(parseSubnet(printSubnet(subnet))).toEqual(subnet);
      const head = (bytes: Uint8Array) =>
        [...bytes]
          .map((x) => x.toString(2).padStart(8, '0'))
          .join('')
          .slice(0, prefix);
      const address = parseNetAddress(b.join('.'))!;
      const isReal = !b.every((x) => x === 0) && !b.every((x) => x === 255);
      expect(isInSubnet(address, subnet)).toBe(isReal && head(a) === head(b));
    }),
  );
});
