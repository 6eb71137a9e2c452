import { expect, test } from 'bun:test';
import { type PermissionRule, parsePermissionRule, permissionsOf } from '../../../src/p2p/connections/permissions.ts';
import { ip } from '../address/addr-fixture.ts';

const rule = (text: string): PermissionRule => {
  const parsed = parsePermissionRule(text);
  if (typeof parsed === 'string') throw new Error(parsed);
  return parsed;
};
const inbound = (text: string, address = '1.2.3.4') => [...permissionsOf(ip(address), 'inbound', [rule(text)])].sort();
const outbound = (text: string, address = '1.2.3.4') =>
  [...permissionsOf(ip(address), 'outbound', [rule(text)])].sort();

test.each([
  ['1.2.3.4', ['download', 'mempool', 'noban', 'relay']],
  ['1.2.3.0/24', ['download', 'mempool', 'noban', 'relay']],
  ['noban@1.2.3.4', ['download', 'noban']],
  ['forcerelay@1.2.3.4', ['forcerelay', 'relay']],
  ['bloom@1.2.3.4', ['bloomfilter']],
  ['bloom,forcerelay,noban@1.2.3.4', ['bloomfilter', 'download', 'forcerelay', 'noban', 'relay']],
  ['noban,,noban@1.2.3.4', ['download', 'noban']],
  ['@1.2.3.4', []],
  [',,@1.2.3.4', []],
  ['all@1.2.3.4', ['addr', 'bloomfilter', 'download', 'forcerelay', 'mempool', 'noban', 'relay']],
  ['addr,mempool@0.0.0.0/0', ['addr', 'mempool']],
] as const)('%s allows %p', (text, expected) => expect(inbound(text)).toEqual([...expected]));

test.each([
  ['oopsie@1.2.3.4', 'unknown permission oopsie'],
  ['in@1.2.3.4', 'a direction but no permission'],
  ['in,out@1.2.3.4', 'a direction but no permission'],
  ['noban@1.2.3.4:32', 'not an address or subnet'],
  ['noban@', 'not an address or subnet'],
  ['constructor@1.2.3.4', 'unknown permission constructor'],
])('%s is rejected: %s', (text, problem) => expect(parsePermissionRule(text)).toBe(problem));

test('a rule without direction applies to inbound connections', () => {
  expect(outbound('noban@1.2.3.4')).toEqual([]);
  expect(inbound('out,relay@1.2.3.4')).toEqual([]);
  expect(outbound('out,relay@1.2.3.4')).toEqual(['relay']);
  expect(inbound('in,out,relay@1.2.3.4')).toEqual(['relay']);
  expect(outbound('in,out,relay@1.2.3.4')).toEqual(['relay']);
});

test('the permissions of all matching rules are combined', () => {
  const rules = [rule('noban@1.0.0.0/8'), rule('mempool@1.2.0.0/16'), rule('addr@2.0.0.0/8')];
  expect([...permissionsOf(ip('1.2.3.4'), 'inbound', rules)].sort()).toEqual(['download', 'mempool', 'noban']);
});
