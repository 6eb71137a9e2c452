import { afterAll, beforeAll, expect, test } from 'bun:test';
import { shortId, shortIdKey } from '../../src/p2p/compact-block.ts';
import { type ParsedTransaction, parseBlock, parseTransaction } from '../../src/primitives/block.ts';
import type { BlockHash, MerkleRoot } from '../../src/primitives/hash.ts';
import { type BlockHeader, headerBytes } from '../../src/primitives/header.ts';
import { type Transaction, transactionBytes } from '../../src/primitives/transaction.ts';
import { editBlock, withTx } from '../lib/block-editor.ts';
import type { BlockOptions, TestBlock } from '../lib/chain-builder.ts';
import { cleanUpAfterTests } from '../lib/node-process.ts';
import { hashOfTip, sameTip, tipOf } from '../lib/peer-node.ts';
import { recentChain } from '../lib/sample-chains.ts';
import { Siege } from '../lib/siege.ts';
import type { TestPeer } from '../lib/test-peer.ts';
import { spend, sweep, withBadSignature, withInput } from '../lib/tx-builder.ts';

cleanUpAfterTests();

/** Longer than what a node looks back for chains worth keeping. */
const BLOCKS = 400;
const BLOCK = 2;
const COMPACT_BLOCK = 4;
const WITNESS_BLOCK = 0x4000_0002;

let siege: Siege;
beforeAll(async () => {
  siege = await Siege.lay(recentChain(BLOCKS));
});
afterAll(() => siege[Symbol.asyncDispose]());

const randomBytes = (size: number) => crypto.getRandomValues(new Uint8Array(size));

/** The next block, not part of the chain. */
const next = (options: BlockOptions = {}): TestBlock => siege.chain.build({ coinbaseScriptSig: tag(), ...options });

/** Height, and what makes every block another one. */
function tag(): Uint8Array {
  const height = siege.chain.height + 1;
  return Uint8Array.of(2, height & 0xff, height >> 8, 8, ...randomBytes(8));
}

/** Spends a coin of its own at every call. */
let coins = 1;
const payment = (value?: bigint): Transaction => {
  const coin = siege.chain.coin(coins++);
  return value === undefined ? sweep(coin, 'p2wpkh') : spend(coin, [{ to: 'p2wpkh', value }]);
};

const parsed = (tx: Transaction): ParsedTransaction => parseTransaction(transactionBytes(tx));

/** Announces a block; resolves when it is asked for, with what of it. */
async function announce(peer: TestPeer, { header, hash }: TestBlock): Promise<number> {
  peer.send('headers', { headers: [header] });
  const { items } = await peer.until('getdata', (message) => message.items.some((item) => same(item.hash, hash)));
  return items.find((item) => same(item.hash, hash))!.kind;
}

const same = (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b) === 0;

/** Sends something that costs the peer its connection, whether it was asked for or not; the tip stays. */
async function refused(bad: TestBlock): Promise<void> {
  const asked = await siege.join();
  if ((await Promise.race([announce(asked, bad).catch(() => null), asked.closed])) !== null && !asked.isClosed)
    asked.send('block', { raw: bad.raw });
  await asked.end();
  const unasked = await siege.join();
  unasked.send('block', { raw: bad.raw });
  // An inbound peer may repeat a block that was found invalid: it may follow another chain.
  await Promise.race([unasked.settled(), unasked.closed]);
}

test('headers that no honest peer sends end the connection', () =>
  siege.attack('bad headers', async () => {
    const { tip } = siege.chain;
    const good = next().header;
    const cases: Record<string, readonly BlockHeader[]> = {
      'no proof of work': [next({ work: false }).header],
      'another target': [next({ bits: 0x207f_fffe }).header],
      'a target above the limit': [{ ...good, bits: 0x2100_ffff }],
      'no target': [{ ...good, bits: 0 }],
      'too old': [next({ time: tip.medianTimePast }).header],
      'an old version': [next({ version: 1 }).header],
      'not in order': [good, next().header],
      'one header too many': Array.from({ length: 2001 }, () => good),
    };
    for (const [name, headers] of Object.entries(cases)) {
      const peer = await siege.join();
      const w: Uint8Array[] = [Uint8Array.of(0xfd, headers.length & 0xff, headers.length >> 8)];
      for (const header of headers) w.push(headerBytes(header), new Uint8Array(1));
      if (headers.length > 2000) peer.sendPayload('headers', Buffer.concat(w));
      else peer.send('headers', { headers });
      await peer.end().catch((error) => {
        throw new Error(`${name}: ${error}`);
      });
    }
  }));

test('headers that may be a mistake are ignored', () =>
  siege.attack('odd headers', async () => {
    const peer = await siege.join();
    const future = next({ time: Math.floor(Date.now() / 1000) + 3 * 60 * 60 }).header;
    peer.send('headers', { headers: [future] });
    for (let i = 0; i < 50; i++)
      peer.send('headers', { headers: [{ ...next().header, previousHash: randomBytes(32) as BlockHash }].map(worked) });
    peer.send('headers', { headers: [] });
    await peer.settled();
    expect(peer.types.filter((type) => type === 'getdata')).toEqual([]);
  }));

/** A nonce that meets regtest's target. */
function worked(header: BlockHeader): BlockHeader {
  return parseBlock(editBlock(next().raw, { header, keepRoot: true })).header;
}

test('a chain of headers with too little work is not kept', () =>
  siege.attack('headers of low work', async () => {
    const branch = siege.chain.fork(1);
    branch.mine(150);
    const headers = branch.blocks.slice(2).map(({ header }) => header);
    const before = (await tipsOf()).length;
    const peers = await Promise.all(Array.from({ length: 5 }, () => siege.join()));
    for (const peer of peers) {
      for (let i = 0; i < 40; i++) peer.send('headers', { headers });
      for (let i = 0; i < 20; i++) peer.send('block', { raw: branch.at(2).raw });
      await peer.settled();
      expect(peer.types).not.toContain('getdata');
    }
    expect((await tipsOf()).length).toBe(before);
  }));

function tipsOf(): Promise<unknown[]> {
  return siege.node.api.rpc<unknown[]>('getchaintips');
}

test('blocks that break a rule, with their proof of work renewed, end the connection', () =>
  siege.attack('invalid blocks', async () => {
    const tx = payment();
    const coin = siege.chain.coin(coins++);
    const bad: Record<string, TestBlock> = {
      'merkle root': next({ merkleRoot: randomBytes(32) as MerkleRoot, txs: [tx] }),
      'a transaction twice at the end': next({ txs: [tx], list: (txs) => [...txs, tx] }),
      'witness commitment': next({ commitment: 'wrong', txs: [tx] }),
      'witness without a commitment': next({ commitment: 'none', txs: [tx] }),
      'witness of the coinbase': next({ coinbaseWitness: [randomBytes(31)] }),
      'no coinbase': next({ txs: [tx], list: (txs) => txs.slice(1) }),
      'two coinbases': next({ list: ([coinbase]) => [coinbase!, withInput(coinbase!, 0, { sequence: 1 })] }),
      'height in the coinbase': next({ coinbaseScriptSig: Uint8Array.of(2, 1, 1, 4, ...randomBytes(4)) }),
      'a script': next({ txs: [withBadSignature(payment())] }),
      'more than the inputs': next({ txs: [payment(1_000_000_000_000n)] }),
      'subsidy and fees': next({ coinbaseValue: 100_0000_0000n }),
      'a coin that is spent twice': next({ txs: [sweep(coin, 'p2wpkh'), sweep(coin, 'p2tr')] }),
      'an immature coin': next({ txs: [sweep(siege.chain.coin(siege.chain.height - 50), 'p2tr')] }),
      'not final': next({ txs: [spend(siege.chain.coin(coins++), [{ to: 'p2tr', value: 1n }], { locktime: 5000 })] }),
    };
    for (const [name, block] of Object.entries(bad))
      await refused(block).catch((error) => {
        throw new Error(`${name}: ${error}`);
      });
    expect(await tipOf(siege.node)).toBe(hashOfTip(siege.chain));
  }));

test('a peer that builds on an invalid block is disconnected', () =>
  siege.attack('on top of an invalid block', async () => {
    const bad = next({ coinbaseValue: 100_0000_0000n });
    const first = await siege.join();
    first.send('block', { raw: bad.raw });
    await first.end();
    const fork = siege.chain.fork();
    fork.append(Object.assign(bad, { parent: fork.tip }));
    const second = await siege.join();
    second.send('headers', { headers: [fork.build().header] });
    await second.end();
  }));

/** Versions of a block that its header does not commit to, or that cannot be read. */
function mutations(block: TestBlock): Record<string, Uint8Array> {
  const keep = { keepRoot: true, keepNonce: true, keepCommitment: true };
  const spoiltWitness = (tx: Transaction) => withInput(tx, 0, { witness: [randomBytes(70), randomBytes(33)] });
  return {
    'another witness': editBlock(block.raw, { ...keep, txs: withTx(1, spoiltWitness) }),
    'no witness': editBlock(block.raw, { ...keep, txs: withTx(1, (tx) => withInput(tx, 0, { witness: [] })) }),
    'a transaction less': editBlock(block.raw, { ...keep, txs: (txs) => txs.slice(0, -1) }),
    'the last one twice': editBlock(block.raw, { ...keep, txs: (txs) => [...txs, txs.at(-1)!] }),
    'no coinbase': editBlock(block.raw, { ...keep, txs: (txs) => txs.slice(1) }),
    'a larger output': editBlock(block.raw, {
      ...keep,
      txs: withTx(1, (tx) => ({ ...tx, outputs: tx.outputs.map((output) => ({ ...output, value: 1n })) })),
    }),
    'cut off': block.raw.subarray(0, -10),
    'header alone': block.raw.subarray(0, 81),
  };
}

/** A mutated block ends the connection, unless its bytes do not parse: the node ignores these. */
async function afterBlock(peer: TestPeer, raw: Uint8Array): Promise<void> {
  let isBlock = true;
  try {
    parseBlock(raw);
  } catch {
    isBlock = false;
  }
  if (isBlock) await peer.end();
  else await peer.settled();
}

test('a mutated block does not spoil the true one, whichever peer it was requested from', () =>
  siege.attack('mutated blocks', async () => {
    for (const name of Object.keys(mutations(next({ txs: [payment(), payment()] })))) {
      const block = siege.chain.mine(1, { txs: [payment(), payment(), payment()] });
      const raw = mutations(block)[name]!;
      // The node waits for the block of the good peer; another brings a false one.
      const kind = await announce(siege.good, block);
      expect([COMPACT_BLOCK, WITNESS_BLOCK]).toContain(kind);
      const unasked = await siege.join();
      unasked.send('block', { raw });
      await afterBlock(unasked, raw);
      siege.good.send('block', { raw: block.raw });
      await sameTip([siege.node, siege.friend.node], hashOfTip(siege.chain), 20_000);

      const second = siege.chain.mine(1, { txs: [payment(), payment(), payment()] });
      const asked = await siege.join();
      await announce(asked, second);
      const getdata = announce(siege.good, second);
      const other = mutations(second)[name]!;
      asked.send('block', { raw: other });
      await afterBlock(asked, other);
      await getdata;
      siege.good.send('block', { raw: second.raw });
      await sameTip([siege.node, siege.friend.node], hashOfTip(siege.chain), 20_000);
    }
  }));

test('unrequested blocks', () =>
  siege.attack('unrequested blocks', async () => {
    // The parent of this block is unknown.
    const stranger = siege.chain.fork();
    stranger.mine(2);
    const lost = await siege.join();
    lost.send('block', { raw: stranger.tip.raw });
    await lost.end();
    // Old ones again, and a branch with less work than the chain has: of that, headers are kept.
    const branch = siege.chain.fork(siege.chain.height - 60);
    branch.mine(50);
    const peer = await siege.join();
    for (const { raw } of siege.chain.blocks.slice(-60)) peer.send('block', { raw });
    for (let i = 0; i < 3; i++) for (const { raw } of branch.blocks.slice(-50)) peer.send('block', { raw });
    await peer.settled();
    expect(await tipsOf()).toContainEqual(
      expect.objectContaining({ hash: hashOfTip(branch), branchlen: 50, status: 'headers-only' }),
    );
    expect(await tipOf(siege.node)).toBe(hashOfTip(siege.chain));
  }));

interface Compact {
  readonly nonce?: bigint;
  readonly shortIds?: readonly number[];
  readonly prefilled?: readonly { readonly gap: number; readonly tx: ParsedTransaction }[];
}

function sendCompact(peer: TestPeer, block: TestBlock, { nonce = 1n, shortIds, prefilled }: Compact = {}): void {
  const { txs } = block.parsed();
  const key = shortIdKey(block.header, nonce);
  peer.send('cmpctblock', {
    header: block.header,
    nonce,
    shortIds: shortIds ?? txs.slice(1).map(({ wtxid }) => shortId(key, wtxid)),
    prefilled: prefilled ?? [{ gap: 0, tx: txs[0]! }],
  });
}

/** A bad peer of whom the node waits for a compact block. */
async function askedForCompact(block: TestBlock): Promise<TestPeer> {
  const peer = await siege.join();
  expect(await announce(peer, block)).toBe(COMPACT_BLOCK);
  return peer;
}

test('impossible compact blocks end the connection', () =>
  siege.attack('impossible compact blocks', async () => {
    const some = () => next({ txs: [payment(), payment()] });
    const cases: Record<string, (block: TestBlock, coinbase: ParsedTransaction) => Compact> = {
      'an index behind the end': (_, tx) => ({
        prefilled: [
          { gap: 0, tx },
          { gap: 5, tx },
        ],
      }),
      'indexes whose sum exceeds 16 bits': (_, tx) => ({
        prefilled: [
          { gap: 0, tx },
          { gap: 65_535, tx },
        ],
      }),
      'no transaction': () => ({ shortIds: [], prefilled: [] }),
      'an empty transaction': () => ({
        prefilled: [{ gap: 0, tx: parseTransaction(new Uint8Array(10)) }],
      }),
    };
    for (const [name, change] of Object.entries(cases)) {
      const block = some();
      const peer = await askedForCompact(block);
      sendCompact(peer, block, change(block, block.parsed().txs[0]!));
      await peer.end().catch((error) => {
        throw new Error(`${name}: ${error}`);
      });
    }
    // A header that is invalid is so in a compact block, too.
    const peer = await siege.join();
    sendCompact(peer, next({ work: false }));
    await peer.end();
  }));

test('compact blocks that do not decode are ignored', () =>
  siege.attack('undecodable compact blocks', async () => {
    const block = next({ txs: [payment()] });
    const start = Buffer.concat([headerBytes(block.header), new Uint8Array(8)]);
    const tx = block.parsed().txs[0]!.raw;
    const payloads = [
      start,
      // 70,000 short ids; four billion; and an index of 65,536.
      Buffer.concat([start, Uint8Array.of(0xfe, 0x70, 0x11, 1, 0), new Uint8Array(70_000 * 6), Uint8Array.of(0)]),
      Buffer.concat([start, Uint8Array.of(0xfe, 0xff, 0xff, 0xff, 0xff)]),
      Buffer.concat([start, Uint8Array.of(0, 1, 0xfe, 0, 0, 1, 0), tx]),
    ];
    const blocktxn = Buffer.concat([block.hash, Uint8Array.of(0xfe, 0xff, 0xff, 0xff, 0xff)]);
    // Differences that add up to more than 16 bits.
    const indexes = Uint8Array.of(2, 0xfd, 0xff, 0xff, 0xfd, 0xff, 0xff);
    const messages: [string, Uint8Array][] = [
      ...payloads.map((payload): [string, Uint8Array] => ['cmpctblock', payload]),
      ['blocktxn', blocktxn],
      ['getblocktxn', blocktxn],
      ['getblocktxn', Buffer.concat([siege.chain.tip.hash, indexes])],
    ];
    const peer = await siege.join();
    for (const [type, payload] of messages) {
      peer.sendPayload(type, payload);
      await peer.settled();
    }
    expect(peer.types).not.toContain('getblocktxn');
    expect(peer.isClosed).toBe(false);
  }));

test('a block with wrong short ids or false transactions is fetched whole, from other peers', () =>
  siege.attack('false compact blocks', async () => {
    const answers: Record<string, (peer: TestPeer, block: TestBlock) => Promise<unknown>> = {
      'ids of nothing, and transactions of another block': async (peer, block) => {
        sendCompact(peer, block, { shortIds: [1, 2] });
        const { indexes } = await peer.until('getblocktxn');
        expect(indexes).toEqual([1, 2]);
        peer.send('blocktxn', { blockHash: block.hash, txs: [parsed(payment()), parsed(payment())] });
        return peer.until('getdata', ({ items }) => items[0]!.kind === WITNESS_BLOCK);
      },
      'the same id twice': async (peer, block) => {
        sendCompact(peer, block, { shortIds: [7, 7] });
        return peer.until('getdata', ({ items }) => items[0]!.kind === WITNESS_BLOCK);
      },
      'a false coinbase': async (peer, block) => {
        sendCompact(peer, block, { prefilled: [{ gap: 0, tx: siege.chain.at(1).parsed().txs[0]! }] });
        await peer.until('getblocktxn');
        peer.send('blocktxn', { blockHash: block.hash, txs: block.parsed().txs.slice(1) });
        return peer.until('getdata', ({ items }) => items[0]!.kind === WITNESS_BLOCK);
      },
      'too many transactions': async (peer, block) => {
        sendCompact(peer, block);
        await peer.until('getblocktxn');
        peer.send('blocktxn', { blockHash: block.hash, txs: block.parsed().txs });
        return peer.end();
      },
      'too few': async (peer, block) => {
        sendCompact(peer, block);
        await peer.until('getblocktxn');
        peer.send('blocktxn', { blockHash: block.hash, txs: [] });
        return peer.end();
      },
    };
    for (const [name, answer] of Object.entries(answers)) {
      const block = siege.chain.mine(1, { txs: [payment(), payment()] });
      const peer = await askedForCompact(block);
      await answer(peer, block).catch((error) => {
        throw new Error(`${name}: ${error}`);
      });
      // The bad peer still owes the block; the friend has it.
      await siege.give(block);
    }
  }));

test('a compact block without its coinbase is completed', () =>
  siege.attack('no prefilled coinbase', async () => {
    const block = siege.chain.mine(1, { txs: [payment()] });
    const peer = await askedForCompact(block);
    const { txs } = block.parsed();
    const key = shortIdKey(block.header, 1n);
    sendCompact(peer, block, { shortIds: txs.map(({ wtxid }) => shortId(key, wtxid)), prefilled: [] });
    expect((await peer.until('getblocktxn')).indexes).toEqual([0, 1]);
    peer.send('blocktxn', { blockHash: block.hash, txs });
    await sameTip([siege.node, siege.friend.node], hashOfTip(siege.chain), 20_000);
  }));

test('getblocktxn beyond the end ends the connection, and unrequested blocktxn is ignored', () =>
  siege.attack('getblocktxn and blocktxn', async () => {
    const { tip } = siege.chain;
    const asking = await siege.join();
    asking.send('getblocktxn', { blockHash: tip.hash, indexes: [0, tip.txs.length] });
    await asking.end();
    const peer = await siege.join();
    // Unknown, and so old that it comes whole.
    peer.send('getblocktxn', { blockHash: randomBytes(32) as BlockHash, indexes: [0] });
    peer.send('getblocktxn', { blockHash: siege.chain.at(5).hash, indexes: [1000] });
    await peer.until('block', ({ hash }) => same(hash, siege.chain.at(5).hash));
    for (let i = 0; i < 200; i++) {
      peer.send('blocktxn', { blockHash: tip.hash, txs: tip.parsed().txs });
      peer.send('blocktxn', { blockHash: randomBytes(32) as BlockHash, txs: [] });
      sendCompact(peer, tip, { shortIds: [i] });
    }
    await peer.settled();
  }));

test('a block that its first announcer keeps back is requested from the next peer that has it', () =>
  siege.attack('withheld from a first', async () => {
    const block = siege.chain.mine(1, { txs: [payment()] });
    const silent = await siege.join();
    await announce(silent, block);
    // This block is not sent as a compact block by any peer.
    await announce(siege.good, block);
    siege.good.send('block', { raw: block.raw });
    await sameTip([siege.node, siege.friend.node], hashOfTip(siege.chain), 20_000);
  }));

test('blocks that are announced and never delivered', () =>
  siege.attack('withheld blocks', async () => {
    const silent = await Promise.all(Array.from({ length: 8 }, () => siege.join({ compact: 'announce' })));
    for (let i = 0; i < 5; i++) {
      const block = siege.chain.mine(1, { txs: [payment()] });
      await announce(silent[i]!, block);
      for (const peer of silent) {
        sendCompact(peer, block);
        peer.send('headers', { headers: [block.header] });
        peer.send('inv', { items: [{ kind: BLOCK, hash: block.hash }] });
      }
      await silent[i]!.settled();
      await siege.give(block);
    }
  }));
