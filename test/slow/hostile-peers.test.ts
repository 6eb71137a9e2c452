import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { MessageType } from '../../src/p2p/messages/messages.ts';
import { mutate } from '../fuzz/mutate.ts';
import { Random } from '../fuzz/random.ts';
import { cleanUpAfterTests } from '../lib/node-process.ts';
import { MAGIC } from '../lib/raw-peer.ts';
import { recentChain } from '../lib/sample-chains.ts';
import { Siege } from '../lib/siege.ts';
import type { TestPeer } from '../lib/test-peer.ts';

cleanUpAfterTests();

/** For inbound peers. */
const PLACES = 114;
/** Larger than the largest message, bytes. */
const MAX_FRAME = 4_200_000;

let siege: Siege;
beforeAll(async () => {
  siege = await Siege.lay(recentChain(120));
});
afterAll(() => siege[Symbol.asyncDispose]());

const randomBytes = (size: number) => crypto.getRandomValues(new Uint8Array(size));

/** Magic, name and size of a message, with a checksum that fits nothing. */
function v1Header(type: string, size: number, magic = MAGIC): Uint8Array {
  const header = new Uint8Array(24);
  header.set(magic);
  header.set(new TextEncoder().encode(type), 4);
  new DataView(header.buffer).setUint32(16, size, true);
  return header;
}

const times = <T>(count: number, make: (i: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, i) => make(i)));

test('random bytes that are no messages end the connection', () =>
  siege.attack('garbage', async () => {
    // The bytes are read as a key of v2, behind which no terminator comes.
    await times(20, async () => {
      const peer = await siege.dial();
      peer.sendRaw(randomBytes(64 + 5000));
      expect(await peer.end()).toEqual([]);
    });
    // Behind a good message. With v2 they decipher to a length first, and only what is that long is found to be forged.
    for (const protocol of ['v1', 'v2'] as const)
      await times(10, async () => {
        const peer = await siege.join({}, protocol);
        for (let sent = 0; sent < MAX_FRAME && !peer.isClosed; sent += 65_536) {
          peer.sendRaw(randomBytes(65_536));
          await Promise.race([peer.flushed(), peer.closed]);
        }
        await peer.end();
      });
  }));

test('a wrong checksum costs the message, not the connection', async () => {
  await siege.attack('wrong checksums', async () => {
    const peer = await siege.join();
    for (let i = 0; i < 1000; i++) peer.sendRaw(v1Header('inv', 0));
    await peer.settled();
  });
});

test('a peer of another network is disconnected, at the first message and at any later one', () =>
  siege.attack('wrong magic', async () => {
    const other = Uint8Array.of(0xf9, 0xbe, 0xb4, 0xd9);
    await times(20, async () => {
      const peer = await siege.dial();
      peer.sendRaw(v1Header('version', 90, other));
      expect(await peer.end()).toEqual([]);
    });
    const peer = await siege.join();
    peer.sendRaw(v1Header('ping', 8, other));
    await peer.end();
  }));

test('an oversized message ends the connection, and a claimed size takes no memory', async () => {
  const { added } = await siege.attack('oversized lengths', async () => {
    for (const size of [0xffff_ffff, 4_000_001]) {
      const peer = await siege.join();
      peer.sendRaw(v1Header('block', size));
      await peer.end();
    }
    const peer = await siege.join({}, 'v2');
    const frame = peer.frame('ping', { nonce: 1n });
    // The length is enciphered by a stream, so that it can be changed without the key: from 9 to 16,777,215.
    for (const [i, byte] of [0xff ^ 9, 0xff, 0xff].entries()) frame[i]! ^= byte;
    peer.sendRaw(frame);
    await peer.end();
    await times(20, async () => {
      const claiming = await siege.join();
      claiming.sendRaw(v1Header('block', 4_000_000));
      claiming.sendRaw(randomBytes(1000));
      await claiming.flushed();
    });
  });
  // Twenty messages of 4 MB are claimed.
  expect(added).toBeLessThan(40_000_000);
});

test('slow bytes on every slot do not keep newcomers out, and the good peers stay', () =>
  siege.attack('slow bytes', async () => {
    const slow = await times(140, () => siege.dial());
    const hello = v1Header('version', 100);
    for (const byte of hello) {
      for (const peer of slow) peer.sendRaw(Uint8Array.of(byte));
      await new Promise(setImmediate);
    }
    const newcomer = await siege.join();
    await newcomer.settled();
    // All that were too many had to go.
    await siege.node.until('room', () => slow.filter(({ isClosed }) => !isClosed).length < PLACES);
  }));

test('when established peers hold every slot, the oldest stay and newcomers are admitted', () =>
  siege.attack('all places taken', async () => {
    for (let i = 0; i < PLACES + 20; i++) await siege.dial().then((peer) => peer.handshake().catch(() => {}));
    const newcomer = await siege.join();
    await newcomer.settled();
  }));

test('early, repeated and late messages of the handshake are ignored or end the connection', () =>
  siege.attack('version spam', async () => {
    // With v1 no other message can come first: it would be read as v2.
    const early = await siege.dial('v2');
    await early.ready();
    const before: MessageType[] = ['verack', 'getaddr', 'mempool', 'sendheaders', 'wtxidrelay', 'filterclear'];
    early.sendPayload('ping', new Uint8Array(8));
    for (const type of before) early.sendPayload(type);
    await early.handshake();
    expect(early.types.slice(0, 4)).toEqual(['version', 'wtxidrelay', 'sendaddrv2', 'verack']);

    const twice = await siege.join();
    for (let i = 0; i < 2000; i++) twice.introduce({ height: i });
    for (let i = 0; i < 2000; i++) twice.send('verack', null);
    await twice.settled();
    expect(twice.types.filter((type) => type === 'version').length).toBe(1);

    const half = await siege.dial();
    for (let i = 0; i < 2000; i++) half.introduce({ height: i });
    half.sendPayload('getheaders', new Uint8Array(37));
    half.send('verack', null);
    await half.settled();
    expect(half.types.filter((type) => type === 'version').length).toBe(1);

    for (const type of ['wtxidrelay', 'sendaddrv2'] as const) {
      const late = await siege.join();
      late.send(type, null);
      await late.end();
    }
    const old = await siege.dial();
    old.introduce({ version: 31_799 });
    await old.end();
  }));

test('undecodable messages are ignored, and overlong lists end the connection', () =>
  siege.attack('malformed messages', async () => {
    const peer = await siege.join();
    for (const type of ['inv', 'getdata', 'notfound', 'headers', 'addr', 'addrv2', 'tx', 'cmpctblock', 'ping'])
      for (const size of [0, 1, 7]) peer.sendPayload(type, new Uint8Array(size).fill(0xfc));
    await peer.settled();
    peer.close();
    const counts = { inv: 50_001, getdata: 50_001, headers: 2001, addr: 1001, addrv2: 1001 };
    for (const [type, count] of Object.entries(counts)) {
      const bad = await siege.join();
      bad.sendPayload(type, Uint8Array.of(0xfd, count & 0xff, count >> 8));
      await bad.end();
    }
    const locator = await siege.join();
    locator.sendPayload('getheaders', Uint8Array.of(1, 0, 0, 0, 102));
    await locator.end();
  }));

test('a peer that never sends verack receives nothing more', async () => {
  const peer = await siege.dial();
  peer.introduce();
  await peer.until('verack');
  await siege.mine();
  expect(peer.types).toEqual(['version', 'wtxidrelay', 'sendaddrv2', 'verack']);
  peer.close();
});

for (const protocol of ['v1', 'v2'] as const)
  test(`sessions with anything changed in their bytes (${protocol})`, () =>
    siege.attack(`changed sessions, ${protocol}`, async () => {
      const random = new Random(protocol === 'v1' ? 1 : 2);
      for (let i = 0; i < 60; i++) {
        const peer = await siege.dial(protocol);
        // Sometimes the handshake is whole, sometimes it is spoilt, too.
        if (i % 3 !== 0) await peer.handshake();
        else await peer.ready();
        for (const bytes of session(peer))
          peer.sendRaw(random.once(3) ? mutate(bytes, randomBytes(100), random) : bytes);
        await Promise.race([peer.flushed(), peer.closed]);
      }
    }));

/** One of many messages, as they are framed. */
function session(peer: TestPeer): Uint8Array[] {
  const hash = randomBytes(32);
  const items = [
    { kind: 1, hash },
    { kind: 2, hash },
  ];
  const { header, raw } = siege.chain.tip;
  return [
    peer.frame('ping', { nonce: 7n }),
    peer.frame('inv', { items }),
    peer.frame('getdata', { items }),
    peer.frame('headers', { headers: [header] }),
    peer.frame('block', { raw }),
    peer.frame('getheaders', { version: 1, locator: [siege.chain.at(5).hash], stopHash: siege.chain.tip.hash }),
    peer.frame('addr', { addresses: [] }),
    peer.frame('feefilter', { feerate: 1000n }),
    peer.frame('getblocktxn', { blockHash: siege.chain.tip.hash, indexes: [0] }),
    peer.frame('notfound', { items }),
    peer.frame('sendcmpct', { announce: true, version: 2n }),
    peer.frame('pong', { nonce: 7n }),
  ];
}

test('sockets of disconnected peers are not kept, though the peers never close their end', async () => {
  const before = siege.descriptors();
  await siege.attack('half-closed sockets', async () => {
    const port = Number(siege.hub.address.split(':')[1]);
    const sockets = await times(20, () =>
      Bun.connect({ hostname: '127.0.0.1', port, allowHalfOpen: true, socket: { data() {}, end() {} } }),
    );
    for (const socket of sockets) socket.write(v1Header('version', 90, Uint8Array.of(1, 2, 3, 4)));
    await siege.node.until('closed sockets', () => siege.descriptors() <= before + 3, 10_000);
    for (const socket of sockets) socket.terminate();
  });
});
