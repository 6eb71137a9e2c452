import { describe, expect, test } from 'bun:test';
import { candidateTxs } from '../../src/feed/block-scan.ts';
import { matchTx, type TxTouches, touchesFromLine, touchesToLine } from '../../src/feed/match.ts';
import { outpointBytes, outpointPrint, PrintTable, scriptPrint, txidPrint } from '../../src/feed/watch-filter.ts';
import { WatchRegistry, WatchSet } from '../../src/feed/watches.ts';
import { hashToHex } from '../../src/primitives/hash.ts';
import { blockTxFacts } from '../../src/queries/tx-facts.ts';
import { RegtestChain } from '../lib/chain-builder.ts';
import { TestNode, trustingVerifier } from '../lib/chain-fixture.ts';
import { diceOf } from '../lib/fork-tree.ts';
import { coinOf, LOCK_KINDS, lockOf, spend } from '../lib/tx-builder.ts';

const SEED = 0x1234_5678;

test('scanning a block finds the same transactions as parsing it', async () => {
  const chain = new RegtestChain({ to: 'p2wpkh' });
  chain.mine(110);
  const fan = spend(
    chain.coin(1),
    LOCK_KINDS.map((to) => ({ to, value: 1_0000_0000n })),
  );
  const spends = LOCK_KINDS.map((to, i) =>
    spend(coinOf(fan, i), [
      { to: lockOf(to, 1), value: 4000_0000n },
      { to: 'p2tr', value: 4000_0000n },
    ]),
  );
  const sweep = spend([chain.coin(2), coinOf(spends[0]!, 1)], [{ to: 'p2pkh', value: 1n }]);
  chain.mine(1, { txs: [fan, ...spends, sweep] });
  await using node = new TestNode({ verifier: trustingVerifier });
  await node.take(chain.blocks.slice(1));
  const { raw, undo, facts, txids } = node.read((reads) => {
    const block = reads.tip();
    return {
      raw: reads.rawBlock(block)!,
      undo: reads.rawUndo(block)!,
      facts: blockTxFacts({ reads }, block, chain.tip.parsed(), null),
      txids: reads.txs.txidsOfBlock(block.height),
    };
  });
  const coins = facts.flatMap(({ spent }) => spent ?? []).map(({ output }) => output);
  const scripts = [...coins, ...facts.flatMap(({ parsed }) => parsed.tx.outputs)].map((output) => output.scriptPubKey);
  const dice = diceOf(1);
  for (let round = 0; round < 300; round++) {
    const some = <T>(items: readonly T[]) => Array.from({ length: dice(4) }, () => items[dice(items.length)]!);
    const ids = round % 2 ? some(facts.map(({ parsed }) => parsed.txid)) : [];
    const outpoints = round % 3 ? some(facts.slice(1).flatMap(({ parsed }) => parsed.tx.inputs)) : [];
    const prints = [
      ...some(scripts).map((script) => scriptPrint(script, SEED)),
      ...ids.map((id) => txidPrint(id, SEED)),
      ...outpoints.map(({ prevout }) => outpointPrint(outpointBytes(prevout.txid, prevout.vout), SEED)),
      dice(2 ** 31),
    ];
    const filter = new PrintTable({
      prints: Uint32Array.from(prints),
      seed: SEED,
      txids: ids.length > 0,
      outpoints: outpoints.length > 0,
    });
    const wanted = facts
      .map(({ parsed, spent }, index) => matchTx(parsed, spent, index, filter))
      .filter((touches): touches is TxTouches => touches !== null);
    const found = candidateTxs(raw, undo, txids, filter);
    expect(found.map(({ index }) => index)).toEqual(wanted.map(({ index }) => index));
    for (const { index, start, end } of found)
      expect(raw.subarray(start, end)).toEqual(Uint8Array.from(facts[index]!.parsed.raw));
    for (const touches of wanted) expect(touchesFromLine(touchesToLine(touches))).toEqual(touches);
  }
});

describe('the table of prints', () => {
  test('the table holds all added prints, including 0, and few others', () => {
    const dice = diceOf(2);
    const prints = Uint32Array.from({ length: 10_000 }, () => dice(2 ** 32));
    prints[17] = 0;
    const table = new PrintTable({ prints, seed: 1, txids: false, outpoints: false });
    expect(prints.every((print) => table.has(print))).toBe(true);
    const others = Array.from({ length: 10_000 }, () => dice(2 ** 32)).filter((print) => table.has(print));
    expect(others.length).toBeLessThan(10);
    expect(new PrintTable({ prints: new Uint32Array(0), seed: 1, txids: false, outpoints: false }).has(0)).toBe(false);
  });
});

test('the registry counts items with several watchers, and forgets items without any', () => {
  const registry = new WatchRegistry();
  const [one, two] = [new WatchSet(registry), new WatchSet(registry)];
  const script = lockOf('p2tr').scriptPubKey;
  const txid = new Uint8Array(32).fill(7);
  one.add(registry.scriptItem(script, 'a', [1, 6]));
  const version = one.version;
  two.add(registry.scriptItem(script, 'a', []));
  two.add(registry.txidItem(txid, hashToHex(txid), [1, 3]));
  expect([registry.size, registry.txids, registry.outpoints]).toEqual([3, true, false]);
  expect(one.version).toBe(version);
  expect(two.version).toBeGreaterThan(version);
  expect(registry.data().prints.length).toBe(2);
  // A second time it gets other thresholds.
  one.add(registry.scriptItem(script, 'a', [2]));
  expect([one.thresholds(), two.thresholds(), registry.size]).toEqual([[2], [1, 3], 3]);
  one.clear();
  const print = scriptPrint(script, registry.seed);
  expect(registry.has(print)).toBe(true);
  two.clear();
  expect([registry.has(print), registry.size, registry.txids, registry.data().prints.length]).toEqual([
    false,
    0,
    false,
    0,
  ]);
});
