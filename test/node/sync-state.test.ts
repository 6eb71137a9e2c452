import { expect, test } from 'bun:test';
import { peersAt, syncState } from '../../src/node/sync-state.ts';
import type { PeerLogic } from '../../src/p2p/connections/peer-link.ts';
import { decodeMessage } from '../../src/p2p/messages/messages.ts';
import { regtest } from '../../src/params/regtest.ts';
import type { MerkleRoot } from '../../src/primitives/hash.ts';
import { unixSeconds } from '../../src/util/clock.ts';
import { LinkedNode, MemoryLink, OUR_SERVICES, until } from '../p2p/lib/linked-net.ts';
import { headersAfter } from '../p2p/sync/header-chain.ts';

/** A peer that answers `getheaders` on command. */
class HeaderPeer implements PeerLogic {
  readonly link: MemoryLink;
  asked = 0;

  constructor(node: LinkedNode) {
    const theirs = new MemoryLink(this, 'inbound', node.service);
    const ours = new MemoryLink(node.peers, 'manual', node.service);
    theirs.other = ours;
    ours.other = theirs;
    this.link = theirs;
    ours.open();
  }

  opened(): void {}
  closed(): void {}

  message(_: unknown, { type, payload }: { type: string; payload: Uint8Array }): void {
    const message = decodeMessage(type, payload);
    if (message?.type === 'version') {
      this.link.send('version', { ...message.value, services: OUR_SERVICES, nonce: 77n, startHeight: 4000 });
      this.link.send('verack', null);
    }
    if (message?.type === 'getheaders') this.asked++;
  }
}

// Each header of regtest has a work of 2.
const params = { ...regtest, consensus: { ...regtest.consensus, minimumChainWork: 6000n } };

test('the phases of a sync with a minimum work are presync, headers, blocks and following', async () => {
  await using node = await LinkedNode.with(params);
  const { chain, clock } = node.node;
  clock.set(Date.UTC(2012, 0, 1));
  const state = () => syncState(chain, peersAt(node.peers.peers(), chain.tip), unixSeconds(clock));
  expect(state()).toMatchObject({ phase: 'waiting', presynced: null, confirmed: false });

  const peer = new HeaderPeer(node);
  await until('the first question', [node], () => peer.asked === 1);
  expect(state()).toMatchObject({ phase: 'headers', presynced: null });
  const headers = headersAfter(chain.tip, 4000, new Uint8Array(32) as MerkleRoot, 0x2000_0000);
  const parts = [headers.slice(0, 2000), headers.slice(2000)];

  peer.link.send('headers', { headers: parts[0]! });
  await until('the second question', [node], () => peer.asked === 2);
  expect(state()).toMatchObject({ phase: 'presync', presynced: 2000 });
  const { headersProgress } = state();
  // From 2011-02-02, the genesis block of regtest, to 2012, in blocks of ten minutes.
  const missing = (Date.UTC(2012, 0, 1) / 1000 - (1_296_688_602 + 2000)) / 600;
  expect(headersProgress).toBeCloseTo(2000 / (2000 + missing), 2);
  expect(chain.bestHeader.height).toBe(0);

  peer.link.send('headers', { headers: parts[1]! });
  await until('the question from the beginning', [node], () => peer.asked === 3);
  expect(state()).toMatchObject({ phase: 'headers', presynced: null });
  peer.link.send('headers', { headers: parts[0]! });
  await until('what follows', [node], () => peer.asked === 4);
  peer.link.send('headers', { headers: parts[1]! });
  await until('all headers', [node], () => chain.bestHeader.height === 4000);
  expect(state()).toMatchObject({ phase: 'blocks', presynced: null, confirmed: false });
});

test('a node without peers is waiting, or in the block phase during an import; with a recent tip it is following', () => {
  const entry = (height: number, chainwork = BigInt(2 * height)) => ({ height, chainwork, time: 1_700_000_000 });
  const at = (tip: number, best: number, initialSync: boolean, connecting = false) =>
    ({ params: regtest, tip: entry(tip), bestHeader: entry(best), initialSync, connecting }) as never;
  const phase = (chain: never, count: number | null) =>
    syncState(chain, count === null ? null : { count, presync: null, confirmed: true }, 1_700_000_600).phase;
  expect(phase(at(5, 5, true), null)).toBe('waiting');
  expect(phase(at(5, 5, true, true), null)).toBe('blocks');
  expect(phase(at(5, 9, true), 0)).toBe('waiting');
  expect(phase(at(5, 9, true), 1)).toBe('blocks');
  expect(phase(at(9, 9, true), 1)).toBe('waiting');
  expect(phase(at(9, 9, false), 0)).toBe('following');
  expect(phase(at(8, 9, false), 1)).toBe('following');
  expect(phase(at(7, 9, false), 1)).toBe('blocks');
});
