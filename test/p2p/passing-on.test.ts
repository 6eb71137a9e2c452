import { expect, test } from 'bun:test';
import type { ScriptVerifier } from '../../src/chain/script-verifier.ts';
import { chainWithCoins, type RegtestChain } from '../lib/chain-builder.ts';
import { inlineVerifier } from '../lib/chain-fixture.ts';
import { tipHash } from '../lib/sample-chains.ts';
import { lockOf, sweep, withBadSignature } from '../lib/tx-builder.ts';
import { connect, LinkedNode, type MemoryLink, until } from './lib/linked-net.ts';

/** A verifier that gives no result while it is held. */
class HeldVerifier implements ScriptVerifier {
  #gate = Promise.withResolvers<void>();

  constructor() {
    this.#gate.resolve();
  }

  hold(): void {
    this.#gate = Promise.withResolvers<void>();
  }

  release(): void {
    this.#gate.resolve();
  }

  begin(flags: number) {
    const checks = inlineVerifier.begin(flags);
    const { promise } = this.#gate;
    return {
      add: checks.add.bind(checks),
      addTransaction: checks.addTransaction.bind(checks),
      cancel: () => checks.cancel(),
      finish: async () => {
        await promise;
        return checks.finish();
      },
    };
  }
}

/** Two nodes; the second selected the first for high-bandwidth compact blocks. */
async function pair() {
  const startTime = Math.floor(Date.now() / 1000) - 200 * 60;
  const chain = chainWithCoins(3, 'p2wpkh', { startTime, spacing: 60 });
  const verifier = new HeldVerifier();
  const blocks = chain.blocks.slice(1);
  const a = await LinkedNode.with(chain.params, blocks, { verifier });
  const b = await LinkedNode.with(chain.params, blocks);
  const { in: toB } = connect(b, a);
  const [peer] = a.peers.peers();
  for (let i = 0; i < 2; i++) {
    chain.mine(1);
    await a.node.take([chain.tip]);
    await until('a block', [a, b], () => b.tip === tipHash(chain));
  }
  await until('that b wants them', [a, b], () => peer!.negotiated.wantsCompactBlocks);
  const dispose = async () => {
    verifier.release();
    await a[Symbol.asyncDispose]();
    await b[Symbol.asyncDispose]();
  };
  return { chain, verifier, a, b, toB, [Symbol.asyncDispose]: dispose };
}

const compactBlocks = ({ sentTypes }: MemoryLink) => sentTypes.filter((type) => type === 'cmpctblock').length;
const payment = (chain: RegtestChain) => sweep(chain.coin(1), lockOf('p2wpkh', 1));

test('a block is announced, and its missing transactions are served, before its scripts are verified', async () => {
  await using net = await pair();
  const { chain, verifier, a, b, toB } = net;
  const before = a.tip;
  verifier.hold();
  chain.mine(1, { txs: [payment(chain)] });
  const taken = a.node.take([chain.tip]);
  await until('the block at the other node', [a, b], () => b.tip === tipHash(chain));
  expect(a.tip).toBe(before);
  expect(toB.sentTypes).toContain('blocktxn');
  const sent = compactBlocks(toB);
  verifier.release();
  await taken;
  expect(a.tip).toBe(tipHash(chain));
  // Nothing is sent twice.
  expect(compactBlocks(toB)).toBe(sent);
  expect(toB.sentTypes.at(-1)).not.toBe('headers');
});

test('no peer is punished for an invalid block in a compact block, and the next block at that height is processed normally', async () => {
  await using net = await pair();
  const { chain, a, b, toB } = net;
  const sent = compactBlocks(toB);
  const bad = chain.fork().mine(1, { txs: [withBadSignature(payment(chain))] });
  expect(await a.node.submit(bad)).toStartWith('block-script-verify-flag-failed');
  await until('the verdict of the other', [a, b], () => b.node.chain.findEntry(bad.hash)?.failed === true);
  expect(compactBlocks(toB)).toBe(sent + 1);
  expect([toB.closed, ...b.discouraged]).toEqual([false]);
  chain.mine(1, { txs: [payment(chain)] });
  await a.node.take([chain.tip]);
  await until('the good block', [a, b], () => b.tip === tipHash(chain));
  expect(toB.closed).toBe(false);
});

test('only the first of two blocks at one height is announced before its validation', async () => {
  await using net = await pair();
  const { chain, a, b, toB } = net;
  const sent = compactBlocks(toB);
  for (const extra of [1, 2]) {
    const bad = chain.fork().mine(1, { txs: [withBadSignature(sweep(chain.coin(extra), lockOf('p2wpkh', 1)))] });
    await a.node.submit(bad);
  }
  await until('the first', [a, b], () => compactBlocks(toB) > sent);
  expect(compactBlocks(toB)).toBe(sent + 1);
});
