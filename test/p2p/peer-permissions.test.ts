import { describe, expect, test } from 'bun:test';
import type { Permission } from '../../src/p2p/connections/peer-link.ts';
import { INVENTORY } from '../../src/p2p/messages/inventory.ts';
import { hashToHex } from '../../src/primitives/hash.ts';
import { type Transaction, transactionBytes, wtxidOf } from '../../src/primitives/transaction.ts';
import { chainWithCoins } from '../lib/chain-builder.ts';
import { sweep } from '../lib/tx-builder.ts';
import { LinkedNode, OUR_SERVICES, until } from './lib/linked-net.ts';
import { ScriptedEnd } from './lib/scripted-end.ts';

const NO_LIMITS = { maxFeerate: null, maxBurn: 2_100_000_000_000_000 } as const;
const COINS = 3;
const HEIGHT = 99 + COINS;
/** Makes the first blocks older than a week and the tip recent. */
const SPACING = 2 * 60 * 60;
const startTime = Math.floor(Date.now() / 1000) - HEIGHT * SPACING;
const chain = chainWithCoins(COINS, 'p2wpkh', { startTime, spacing: SPACING });
const txs = Array.from({ length: COINS }, (_, i) => sweep(chain.coin(i + 1), 'p2tr'));
const wtxids = txs.map((tx) => hashToHex(wtxidOf(tx)));

const full = () => LinkedNode.with(chain.params, chain.blocks.slice(1));

async function handIn(node: LinkedNode, tx: Transaction): Promise<void> {
  const { status } = await node.mempool.submissions.broadcast(transactionBytes(tx), NO_LIMITS);
  expect(status).toBe('accepted');
}

const announced = (end: ScriptedEnd): string[] =>
  end
    .of('inv')
    .flatMap(({ items }) => items.filter(({ kind }) => kind === INVENTORY.wtx).map(({ hash }) => hashToHex(hash)));

// BIP-35: transactions from before the connection are announced for no other reason.
describe('mempool requests are answered by permission', () => {
  test.each<[string, Permission[], LinkedNode['uploadTarget'], string | null]>([
    ['a peer without permission is disconnected', [], 'none', 'mempool request without permission'],
    ['a peer with noban gets no answer and stays connected', ['noban', 'download'], 'none', null],
    ['a peer with the mempool permission gets all transactions', ['mempool'], 'none', 'all'],
    ['a peer with the mempool permission gets them beyond the upload target', ['mempool'], 'all', 'all'],
    ['a peer with the bloomfilter permission gets all transactions', ['bloomfilter'], 'historical', 'all'],
    [
      'a peer with the bloomfilter permission is disconnected beyond the upload target',
      ['bloomfilter'],
      'all',
      'mempool request beyond the upload target',
    ],
    [
      'a peer with bloomfilter and noban gets no answer beyond the upload target',
      ['bloomfilter', 'noban', 'download'],
      'all',
      null,
    ],
  ])('%s', async (_case, permissions, uploadTarget, result) => {
    await using node = await full();
    for (const tx of txs.slice(1)) await handIn(node, tx);
    const end = await ScriptedEnd.join(node, { permissions });
    node.uploadTarget = uploadTarget;
    end.send('mempool', null);
    await end.heard(1n);
    if (result === 'all') await until('the announcement', [node], () => announced(end).length > 0);
    else expect(end.in.reason).toBe(result);
    if (end.in.closed) return;
    // New transactions are announced after the requested ones.
    await handIn(node, txs[0]!);
    await until('the new one', [node], () => announced(end).includes(wtxids[0]!));
    expect(announced(end).sort()).toEqual(result === 'all' ? wtxids.toSorted() : [wtxids[0]!]);
  });
});

describe('historical blocks beyond the upload target need the download permission', () => {
  const old = chain.at(1).hash;
  const recent = chain.tip.hash;
  const LIMIT = 'upload target for historical blocks reached';

  test.each<[string, Permission[], number, Uint8Array, string | null]>([
    ['a recent block is sent', [], INVENTORY.witnessBlock, recent, null],
    ['a peer that requests an old block is disconnected', [], INVENTORY.witnessBlock, old, LIMIT],
    ['a peer with noban that requests an old block is disconnected', ['noban'], INVENTORY.witnessBlock, old, LIMIT],
    ['an old block is sent to a peer with the download permission', ['download'], INVENTORY.witnessBlock, old, null],
    ['a peer that requests a filtered block is disconnected', ['bloomfilter'], INVENTORY.filteredBlock, recent, LIMIT],
    [
      'a filtered block is sent to a peer with the download permission',
      ['bloomfilter', 'download'],
      INVENTORY.filteredBlock,
      recent,
      null,
    ],
  ])('%s', async (_case, permissions, kind, hash, reason) => {
    await using node = await full();
    const end = await ScriptedEnd.join(node, { permissions });
    if (permissions.includes('bloomfilter'))
      end.send('filterload', { filter: Uint8Array.of(0xff), hashFunctions: 1, tweak: 0, flags: 0 });
    node.uploadTarget = 'historical';
    end.send('getdata', { items: [{ kind, hash }] });
    await end.heard(1n);
    expect(end.in.reason).toBe(reason);
    const sent = kind === INVENTORY.filteredBlock ? end.of('merkleblock') : end.of('block');
    expect(sent).toHaveLength(reason === null ? 1 : 0);
  });
});

// Transactions of a peer with forcerelay are announced even if they are known, so that it can use us as its gateway.
test.each<[Permission[], boolean]>([
  [[], false],
  [['relay'], false],
  [['forcerelay', 'relay'], true],
])('a known transaction of a peer with %p is announced: %p', async (permissions, isAnnounced) => {
  await using node = await full();
  await handIn(node, txs[0]!);
  const sender = await ScriptedEnd.join(node, { permissions });
  const other = await ScriptedEnd.join(node);
  sender.sendPayload('tx', transactionBytes(txs[0]!));
  await sender.heard(1n);
  await handIn(node, txs[1]!);
  await until('the announcement', [node], () => announced(other).includes(wtxids[1]!));
  expect(announced(other).sort()).toEqual(wtxids.slice(isAnnounced ? 0 : 1, 2).sort());
});

test.each<[Permission[], boolean]>([
  [['relay'], false],
  [['noban', 'download'], true],
])('announcements to a peer with %p are sent without delay: %p', async (permissions, atOnce) => {
  await using node = await full();
  const end = await ScriptedEnd.join(node, { permissions });
  const { nextAnnouncementAt } = end.peer!.tx!;
  // The node's clock stands still from here on.
  expect(nextAnnouncementAt).toBeGreaterThan(node.node.clock.monotonicMs());
  await handIn(node, txs[0]!);
  if (atOnce) await until('the announcement', [], () => announced(end).length > 0);
  else await until('the end of the delay', [node], () => announced(end).length > 0);
  expect(node.node.clock.monotonicMs() < nextAnnouncementAt).toBe(atOnce);
  expect(announced(end)).toEqual([wtxids[0]!]);
});

// Inbound peers may be attackers, so other peers have two seconds to announce the same; outbound peers that serve no
// blocks are treated alike.
test.each<[Permission[], bigint, boolean]>([
  [[], OUR_SERVICES, false],
  [['noban', 'download'], OUR_SERVICES, true],
  [['noban', 'download'], 0n, false],
])(
  'a transaction is requested at once from a peer with %p and services %p: %p',
  async (permissions, services, atOnce) => {
    await using node = await full();
    const end = await ScriptedEnd.join(node, { permissions, services });
    end.send('inv', { items: [{ kind: INVENTORY.wtx, hash: wtxidOf(txs[0]!) }] });
    await end.heard(1n);
    expect(end.of('getdata')).toHaveLength(atOnce ? 1 : 0);
    await until('the request', [node], () => end.of('getdata').length === 1);
  },
);

// One address at first, then one per ten seconds.
test.each<[Permission[], number]>([
  [[], 1],
  [['addr'], 10],
])('of ten addresses of a peer with %p this number is processed: %i', async (permissions, processed) => {
  await using node = await full();
  const end = await ScriptedEnd.join(node, { permissions });
  const time = Math.floor(node.node.clock.nowMs() / 1000) - 3600;
  const addresses = Array.from({ length: 10 }, (_, i) => ({
    time,
    services: 9n,
    address: { network: 'ipv4' as const, bytes: Uint8Array.of(40 + i, 1, 1, 1) },
    port: 8333,
  }));
  end.send('addr', { addresses });
  await end.heard(1n);
  expect(end.peer!.addr).toMatchObject({ processed, rateLimited: 10 - processed });
});
