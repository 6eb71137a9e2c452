import { expect, test } from 'bun:test';
import type { AddressNetwork } from '../../../src/p2p/address/net-address.ts';
import { AddrResponseCache } from '../../../src/p2p/connections/addr-response-cache.ts';
import type { PeerLink, Permission } from '../../../src/p2p/connections/peer-link.ts';
import { fixture as addresses, at, HOUR, ip, peer } from '../address/addr-fixture.ts';

function fixture(isShunned: (peer: { address: { bytes: Uint8Array } }) => boolean = () => false) {
  const { manager, clock, pass, below } = addresses();
  for (let i = 0; i < 200; i++) manager.add([peer(`${20 + i}.1.1.1`)], ip(`${20 + i}.2.2.2`));
  return { manager, pass, answers: new AddrResponseCache(manager, isShunned, clock, below) };
}

const link = (
  local: string,
  { type = 'inbound' as PeerLink['type'], network = 'ipv4' as AddressNetwork, permissions = [] as Permission[] } = {},
) => ({ type, network, permissions: new Set(permissions), localService: at(local) }) as unknown as PeerLink;

test('an answer is a share of all addresses, and the same for a day to all peers of a network and local address', () => {
  const { answers, manager, pass } = fixture();
  const first = answers.responseFor(link('1.1.1.1'));
  expect(first.length).toBe(Math.floor(manager.size() * 0.23));
  for (let hours = 0; hours < 21; hours += 3) {
    expect(answers.responseFor(link('1.1.1.1'))).toBe(first);
    pass(3 * HOUR);
  }
  pass(6 * HOUR);
  expect(answers.responseFor(link('1.1.1.1'))).not.toEqual(first);
});

test('peers of another network or local address get another answer', () => {
  const { answers } = fixture();
  const first = answers.responseFor(link('1.1.1.1'));
  expect(answers.responseFor(link('1.1.1.1', { network: 'onion' }))).not.toEqual(first);
  expect(answers.responseFor(link('1.1.1.2'))).not.toEqual(first);
  // The port of an outbound connection is ignored.
  const out = { type: 'outbound-full-relay' } as const;
  const localPort = (port: number) => ({ ...link('1.1.1.1', out), localService: at('1.1.1.1', port) });
  expect(answers.responseFor(localPort(1))).toBe(answers.responseFor(localPort(2)));
});

test('a peer with the addr permission gets a new answer each time', () => {
  const { answers } = fixture();
  const trusted = link('1.1.1.1', { permissions: ['addr'] });
  expect(answers.responseFor(trusted)).not.toEqual(answers.responseFor(trusted));
});

test('banned and discouraged addresses are not announced', () => {
  const { answers } = fixture(({ address }) => address.bytes[0]! % 2 === 0);
  const answer = answers.responseFor(link('1.1.1.1'));
  expect(answer.length).toBeGreaterThan(0);
  expect(answer.every(({ address }) => address.bytes[0]! % 2 === 1)).toBe(true);
});

test('the number of cached answers is bounded', () => {
  const { answers } = fixture();
  const first = answers.responseFor(link('1.1.1.1'));
  for (let i = 0; i < 100; i++) answers.responseFor(link(`2.2.2.${i}`));
  expect(answers.responseFor(link('1.1.1.1'))).not.toBe(first);
});
