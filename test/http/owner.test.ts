import { expect, test } from 'bun:test';
import { ownerOf } from '../../src/http/owner.ts';
import { ANONYMOUS, type Principal } from '../../src/http/principal.ts';

const key = (id: string): Principal => ({ ...ANONYMOUS, kind: 'key', id });

test('an owner is a key, or the address or prefix of a request without one', () => {
  const cases: (readonly [Principal, string, string])[] = [
    [ANONYMOUS, '10.0.0.1', 'ip 0a000001'],
    [key('0a000001'), '10.0.0.1', 'key 0a000001'],
    [key('aaaa'), '10.0.0.1', 'key aaaa'],
    [key('aaaa'), '10.0.0.2', 'key aaaa'],
    [ANONYMOUS, '10.0.0.2', 'ip 0a000002'],
    [ANONYMOUS, '2001:db8::1', 'ip 20010db800000000'],
    [ANONYMOUS, '2001:db8::2', 'ip 20010db800000000'],
    [ANONYMOUS, 'unknown', 'ip unknown'],
  ];
  for (const [principal, ip, owner] of [...cases, ...cases.toReversed()])
    for (let i = 0; i < 2; i++) expect(ownerOf({ principal, ip })).toBe(owner);
});
