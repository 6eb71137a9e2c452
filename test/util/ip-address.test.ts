import { expect, test } from 'bun:test';
import { isIP } from 'node:net';
import fc from 'fast-check';
import { inSubnet, parseIp, parseIpSubnet, parsePrefix, sharePrefix } from '../../src/util/ip-address.ts';

const group = fc.oneof(fc.stringMatching(/^[0-9a-fA-F]{1,4}$/), fc.constantFrom('', '00000', 'g', '1.2.3.4', '256'));
const ipv6Like = fc
  .tuple(fc.array(group, { maxLength: 9 }), fc.array(group, { maxLength: 9 }), fc.boolean())
  .map(([head, tail, compressed]) => (compressed ? `${head.join(':')}::${tail.join(':')}` : head.join(':')));
const ipv4Like = fc.array(fc.constantFrom('0', '00', '01', '9', '255', '256', '1000', '', 'a', '-1'), { maxLength: 5 });

test('a text is an address exactly where the runtime says so', () => {
  const texts = fc.oneof(
    ipv6Like,
    ipv4Like.map((parts) => parts.join('.')),
    fc.ipV4(),
    fc.ipV6(),
  );
  fc.assert(
    fc.property(texts, (text) => {
      expect([text, parseIp(text) !== null]).toEqual([text, isIP(text) !== 0]);
    }),
    { numRuns: 3000 },
  );
});

test('an IPv4 address stands only at the end of an IPv6 address', () => {
  expect(parseIp('1.2.3.4::')).toBeNull();
  expect(parseIp('::1.2.3.4')?.toHex()).toBe(`${'00'.repeat(12)}01020304`);
  expect(parseIp('::ffff:1.2.3.4')?.toHex()).toBe('01020304');
  expect(parseIp('64:ff9b::1.2.3.4')?.toHex()).toBe('0064ff9b000000000000000001020304');
});

test('a prefix has no more bits than its address', () => {
  expect([parsePrefix('32', 4), parsePrefix('33', 4), parsePrefix('128', 16), parsePrefix('129', 16)]).toEqual([
    32,
    null,
    128,
    null,
  ]);
  expect(parsePrefix('', 4)).toBeNull();
  expect(sharePrefix(Uint8Array.of(0b1010_0000), Uint8Array.of(0b1011_0000), 3)).toBe(true);
  expect(sharePrefix(Uint8Array.of(0b1010_0000), Uint8Array.of(0b1011_0000), 4)).toBe(false);
  expect(inSubnet('10.1.2.3', parseIpSubnet('10.0.0.0/8')!)).toBe(true);
  expect(inSubnet('::ffff:11.1.2.3', parseIpSubnet('10.0.0.0/8')!)).toBe(false);
});
