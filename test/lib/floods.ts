import type { MessageType, ValueOf } from '../../src/p2p/messages/messages.ts';
import { parseTransaction } from '../../src/primitives/block.ts';
import type { BlockHash, Txid } from '../../src/primitives/hash.ts';
import { type Transaction, transactionBytes } from '../../src/primitives/transaction.ts';
import type { Siege } from './siege.ts';
import type { Introduction, TestPeer } from './test-peer.ts';
import { spend, sweep, withBadSignature, withInput } from './tx-builder.ts';

const INV_TX = 1;
const INV_BLOCK = 2;
const INV_WTX = 5;
const WITNESS_TX = 0x4000_0001;
const WITNESS_BLOCK = 0x4000_0002;
const MAX_INVENTORY = 50_000;
const MAX_ADDRESSES = 1000;
const MAX_RELAYING = 40;

/** Factor of the amount: 1 for a few seconds of many messages. */
interface FloodSize {
  readonly peers: number;
  readonly messages: number;
}

/**
 * Messages that peers send as fast as the node accepts them. Rejects where the node treats them other than it should.
 */
export type Flood = (siege: Siege, size: FloodSize) => Promise<void>;

const randomBytes = (size: number) => crypto.getRandomValues(new Uint8Array(size));
const randomHashes = (count: number, kinds: readonly number[]) => {
  const bytes = new Uint8Array(count * 32);
  for (let at = 0; at < bytes.length; at += 65_536) crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  return Array.from({ length: count }, (_, i) => ({
    kind: kinds[i % kinds.length]!,
    hash: bytes.subarray(i * 32, i * 32 + 32),
  }));
};

/** Peers that each send so many messages, one behind the other, and wait until the last one is handled. */
function each<K extends MessageType>(type: K, make: (i: number, siege: Siege) => ValueOf<K>, more = 1): Flood {
  return async (siege, size) => {
    await crowd(siege, size.peers, async (peer) => {
      for (let i = 0; i < size.messages * more; i++) {
        peer.send(type, make(i, siege));
        if (peer.unsent > 1_000_000) await orClosed(peer, peer.flushed(60_000));
      }
      if (!peer.isClosed) await orClosed(peer, peer.settled(60_000));
    });
  };
}

async function crowd(
  siege: Siege,
  count: number,
  act: (peer: TestPeer) => Promise<unknown>,
  introduction?: Introduction,
): Promise<void> {
  // Half as many peers may relay transactions.
  const relay = (i: number) => ({ relay: i < MAX_RELAYING, ...introduction });
  const peers = await Promise.all(Array.from({ length: count }, (_, i) => siege.join(relay(i))));
  // Received messages would fill the memory of the test.
  for (const peer of peers) peer.forget();
  await Promise.all(peers.map(act));
}

/** Where all of them send too much, some have to go. */
async function orClosed(peer: TestPeer, done: Promise<unknown>): Promise<void> {
  await Promise.race([done.catch((error) => peer.isClosed || Promise.reject(error)), peer.closed]);
}

const NOW = () => Math.floor(Date.now() / 1000);

const somewhere = (time: number) => ({
  time,
  services: 9n,
  address: { network: 'ipv4' as const, bytes: Uint8Array.of(1 + Math.random() * 8, ...randomBytes(3)) },
  port: 8333,
});

/** Returns a transaction that spends no existing coin, with `size` bytes of padding. */
function orphan(size: number): Transaction {
  const coin = {
    outpoint: { txid: randomBytes(32) as Txid, vout: 0 },
    output: { value: 100_000n, scriptPubKey: new Uint8Array(0) },
  };
  const tx = spend(coin, [{ to: 'p2wpkh', value: 1000n }], { sign: false });
  return withInput(tx, 0, { witness: [new Uint8Array(size)] });
}

const txMessage = (tx: Transaction) => ({ tx: parseTransaction(transactionBytes(tx)) });

/** A coin that may be spent; none of these spends is any good, so it may serve again. */
const coinFor = (i: number, siege: Siege) => siege.chain.coin(1 + (i % (siege.chain.height - 150)));

export const FLOODS: Readonly<Record<string, Flood>> = {
  'inv of unknown transactions': each('inv', () => ({ items: randomHashes(MAX_INVENTORY, [INV_WTX]) })),
  'inv of blocks': each('inv', () => ({ items: randomHashes(MAX_INVENTORY, [INV_BLOCK]) })),
  'inv of all kinds': each('inv', (i) => ({ items: randomHashes(5000, [INV_TX, INV_WTX, INV_BLOCK, i]) })),
  'getdata of what is unknown': each('getdata', () => ({
    items: randomHashes(MAX_INVENTORY, [WITNESS_TX, INV_WTX, WITNESS_BLOCK]),
  })),
  'notfound for items that were not requested': each('notfound', () => ({
    items: randomHashes(MAX_INVENTORY, [INV_WTX]),
  })),
  addr: each('addr', () => ({ addresses: Array.from({ length: MAX_ADDRESSES }, () => somewhere(NOW())) }), 5),
  addrv2: each('addrv2', () => ({ addresses: Array.from({ length: MAX_ADDRESSES }, () => somewhere(NOW())) }), 5),
  'addr with few addresses, which are relayed': each('addrv2', () => ({ addresses: [somewhere(NOW())] }), 100),
  getaddr: each('getaddr', () => null, 200),
  getheaders: each(
    'getheaders',
    (_, siege) => ({
      version: 1,
      locator: [...randomHashes(100, [0]).map(({ hash }) => hash as BlockHash), siege.chain.at(1).hash],
      stopHash: new Uint8Array(32) as BlockHash,
    }),
    30,
  ),
  getblocks: each(
    'getblocks',
    (_, siege) => ({ version: 1, locator: [siege.chain.at(1).hash], stopHash: new Uint8Array(32) as BlockHash }),
    30,
  ),
  'getdata of the same block': each('getdata', (_, siege) => ({
    items: Array.from({ length: 300 }, () => ({ kind: WITNESS_BLOCK, hash: siege.chain.tip.hash })),
  })),
  getblocktxn: each('getblocktxn', (_, siege) => ({ blockHash: siege.chain.tip.hash, indexes: [0] }), 200),
  'transactions with bad signatures': each(
    'tx',
    (i, siege) => txMessage(withBadSignature(sweep(coinFor(i, siege), 'p2tr', BigInt(1000 + i)))),
    40,
  ),
  'transactions that pay nothing': each(
    'tx',
    (i, siege) => txMessage(sweep(coinFor(i, siege), 'p2tr', 0n, { locktime: i, sequence: 0xffff_ffff })),
    40,
  ),
  'small orphans': each('tx', () => txMessage(orphan(60)), 400),
  'large orphans': each('tx', () => txMessage(orphan(390_000)), 5),
  ping: each('ping', (i) => ({ nonce: BigInt(i) }), 5000),
  pong: each('pong', (i) => ({ nonce: BigInt(i) }), 5000),
  feefilter: each('feefilter', (i) => ({ feerate: BigInt(i) }), 5000),
  sendcmpct: each('sendcmpct', (i) => ({ announce: i % 2 === 0, version: BigInt(i % 4) }), 5000),
  'messages of an unknown type': async (siege, { peers, messages }) =>
    crowd(siege, peers, async (peer) => {
      for (let i = 0; i < messages * 5; i++) {
        peer.sendPayload(`x${i}`, new Uint8Array(i % 5 === 0 ? 3_900_000 : 1000));
        if (peer.unsent > 1_000_000) await orClosed(peer, peer.flushed(60_000));
      }
      if (!peer.isClosed) await orClosed(peer, peer.settled(60_000));
    }),
  'what cannot be read': async (siege, { peers, messages }) =>
    crowd(siege, peers, async (peer) => {
      const types: MessageType[] = ['inv', 'tx', 'headers', 'addr', 'cmpctblock', 'blocktxn'];
      for (let i = 0; i < messages * 200; i++) {
        peer.sendPayload(types[i % types.length]!, Uint8Array.of(0xfd, 0xe7, 3, ...randomBytes(i % 25)));
        if (peer.unsent > 1_000_000) await orClosed(peer, peer.flushed(60_000));
      }
      if (!peer.isClosed) await orClosed(peer, peer.settled(60_000));
    }),
  'what only some may ask for': async (siege, { peers }) => {
    const filter = { filter: new Uint8Array(36_000), hashFunctions: 50, tweak: 0, flags: 1 };
    const items = [{ kind: 3, hash: siege.chain.tip.hash }];
    const asks: ((peer: TestPeer) => void)[] = [
      (peer) => peer.send('mempool', null),
      (peer) => peer.send('filterload', filter),
      (peer) => peer.send('filteradd', { element: randomBytes(20) }),
      (peer) => peer.send('filterclear', null),
      (peer) => peer.send('getdata', { items }),
      (peer) => peer.sendPayload('getcfilters', new Uint8Array(37)),
    ];
    for (const ask of asks)
      await crowd(siege, peers, (peer) => {
        ask(peer);
        return peer.end();
      });
  },
};

/** Ask for everything and read nothing: answers wait for them, and then their questions do. */
export const deaf: Flood = async (siege, { peers, messages }) => {
  const block = { kind: WITNESS_BLOCK, hash: siege.chain.at(BIG_BLOCK).hash };
  const items = Array.from({ length: MAX_INVENTORY }, () => block);
  const all = await Promise.all(Array.from({ length: peers }, () => siege.join({ relay: false })));
  for (const peer of all) {
    peer.stopReading();
    for (let i = 0; i < messages; i++) peer.send('getdata', { items });
    peer.sendPayload('x', new Uint8Array(3_900_000));
  }
  // As much as the node accepts.
  let before = -1;
  const left = () => all.reduce((sum, { unsent }) => sum + unsent, 0);
  for (let now = left(); now !== before; now = left()) {
    before = now;
    await Bun.sleep(500);
  }
};

/** Begin with messages that they never end. */
export const halfMessages: Flood = async (siege, { peers }) => {
  const all = await Promise.all(Array.from({ length: peers }, () => siege.join({ relay: false })));
  await Promise.all(
    all.map(async (peer) => {
      const message = peer.frame('block', { raw: new Uint8Array(3_990_000) });
      peer.sendRaw(message.subarray(0, -1));
      await Promise.race([peer.flushed(120_000), peer.closed]);
    }),
  );
  await Bun.sleep(500);
};

/** Height of a block with a megabyte in it. */
export const BIG_BLOCK = 150;
