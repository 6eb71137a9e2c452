import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type ParsedTransaction, parseBlock } from '../../src/primitives/block.ts';
import type { Coin } from '../../src/primitives/coin.ts';
import { hashToHex } from '../../src/primitives/hash.ts';
import { headerHash } from '../../src/primitives/header.ts';
import type { Transaction } from '../../src/primitives/transaction.ts';
import { scriptType } from '../../src/script/templates.ts';
import { type BlockEdit, editBlock, withTx } from '../lib/block-editor.ts';
import { inlineVerifier, mixedBlocks, TestNode, trustingVerifier } from '../lib/chain-fixture.ts';
import { differences, ModelChain } from '../lib/chain-state.ts';
import { diceOf } from '../lib/fork-tree.ts';
import { withBadSignature, withInput, withOutput } from '../lib/tx-builder.ts';
import { hasVectors } from '../lib/vectors.ts';

const HEIGHT = 112;
const FALSE = 'Script evaluated without error but finished with a false/empty top stack element';
const script = (text: string) => `block-script-verify-flag-failed (${text})`;

interface Spending extends ParsedTransaction {
  readonly index: number;
  readonly spent: readonly Coin[];
}

/** A full block of the chain of every standard kind of input, with one fault, on top of the real blocks before it. */
describe.skipIf(!hasVectors)('a block with one fault and every standard kind of input', () => {
  let raw: Uint8Array;
  let node: TestNode;
  let spending: Spending[];
  let fees = 0n;

  beforeAll(async () => {
    const before = mixedBlocks().slice(0, HEIGHT - 1);
    raw = mixedBlocks()[HEIGHT - 1]!;
    const model = new ModelChain(before);
    model.connect(raw);
    const { txs } = parseBlock(raw);
    for (const [index, { tx }] of txs.entries()) {
      if (index === 0) continue;
      for (const { output } of model.spent.get(HEIGHT * 2 ** 20 + index)!) fees += output.value;
      for (const { value } of tx.outputs) fees -= value;
    }
    const spentHere = new Set(txs.flatMap(({ tx }) => tx.inputs.map(({ prevout }) => prevout.txid.toHex())));
    // The faulty transaction has no descendants in the block.
    spending = txs
      .map((tx, index) => ({ ...tx, index, spent: model.spent.get(HEIGHT * 2 ** 20 + index)! }))
      .filter(({ index, txid }) => index > 0 && !spentHere.has(txid.toHex()));
    node = new TestNode({ verifier: trustingVerifier });
    await node.take(before);
    await node.restart({ verifier: inlineVerifier });
  });
  afterAll(() => node?.[Symbol.asyncDispose]());

  const find = (type: string): Spending => {
    const found = spending.find(({ spent }) => scriptType(spent[0]!.output.scriptPubKey).type === type);
    if (!found) throw new Error(`no input of ${type}`);
    return found;
  };
  const refused = async (edit: BlockEdit): Promise<string> => {
    const tip = node.tip;
    const reason = await node.submit(editBlock(raw, edit));
    expect(node.tip).toBe(tip);
    return reason;
  };
  const changed = (from: Spending, change: (tx: Transaction) => Transaction) => ({ txs: withTx(from.index, change) });

  for (const type of [
    'pubkey',
    'pubkeyhash',
    'scripthash',
    'witness_v0_keyhash',
    'witness_v0_scripthash',
    'witness_v1_taproot',
  ]) {
    const text = type === 'witness_v1_taproot' ? 'Invalid Schnorr signature' : FALSE;
    test(`signature: ${type}`, async () => {
      expect(await refused(changed(find(type), (tx) => withBadSignature(tx)))).toBe(script(text));
    });
    test(`amount: ${type}`, async () => {
      const less = (tx: Transaction) => withOutput(tx, 0, { value: tx.outputs[0]!.value - 1n });
      expect(await refused(changed(find(type), less))).toMatch(/^block-script-verify-flag-failed \(/);
    });
    test(`script: ${type}`, async () => {
      const other = (tx: Transaction) => withOutput(tx, 0, { scriptPubKey: Uint8Array.of(0x51) });
      expect(await refused(changed(find(type), other))).toMatch(/^block-script-verify-flag-failed \(/);
    });
  }

  const fault: Record<string, [reason: string, edit: () => BlockEdit]> = {
    'more than the fee': [
      'bad-txns-in-belowout',
      () =>
        changed(spending[0]!, (tx) => {
          const sum = spending[0]!.spent.reduce((total, { output }) => total + output.value, 0n);
          return { ...tx, outputs: [{ ...tx.outputs[0]!, value: sum + 1n }] };
        }),
    ],
    'a coin that is spent': [
      'bad-txns-inputs-missingorspent',
      () => changed(spending[1]!, (tx) => withInput(tx, 0, { prevout: spending[0]!.tx.inputs[0]!.prevout })),
    ],
    'a coin that never was': [
      'bad-txns-inputs-missingorspent',
      () => changed(spending[0]!, (tx) => withInput(tx, 0, { prevout: { ...tx.inputs[0]!.prevout, vout: 77_777 } })),
    ],
    'coinbase of a satoshi more than subsidy and fees': [
      'bad-cb-amount',
      () => ({ txs: withTx(0, (tx) => withOutput(tx, 0, { value: 50_0000_0000n + fees + 1n })) }),
    ],
    'coinbase of another height': [
      'bad-cb-height',
      () => ({ txs: withTx(0, (tx) => withInput(tx, 0, { scriptSig: Uint8Array.of(1, HEIGHT + 1, 0) })) }),
    ],
    version: ['bad-version(0x00000003)', () => ({ header: { version: 3 } })],
    'an older time': ['time-too-old', () => ({ header: { time: 1_600_000_000 } })],
    'a later time': ['time-too-new', () => ({ header: { time: 4_000_000_000 } })],
    bits: ['bad-diffbits', () => ({ header: { bits: 0x207f_fffe } })],
    parent: ['prev-blk-not-found', () => ({ header: { previousHash: new Uint8Array(32).fill(9) as never } })],
    'an earlier parent': [
      'bad-cb-height',
      () => ({ header: { previousHash: parseBlock(mixedBlocks()[HEIGHT - 2]!).header.previousHash } }),
    ],
    'merkle root': ['bad-txnmrklroot', () => ({ header: { merkleRoot: new Uint8Array(32).fill(9) as never } })],
    'a transaction left out': ['bad-txnmrklroot', () => ({ txs: (txs) => txs.slice(0, -1), keepRoot: true })],
    'a witness': [
      'bad-witness-merkle-match',
      () => ({ ...changed(find('witness_v0_keyhash'), (tx) => withBadSignature(tx)), keepCommitment: true }),
    ],
  };
  for (const [title, [reason, edit]] of Object.entries(fault))
    test(`${title}: ${reason}`, async () => expect(await refused(edit())).toBe(reason));

  test('nonce: high-hash', async () => {
    const { header } = parseBlock(raw);
    for (let nonce = 0; ; nonce++) {
      // On regtest every second hash meets the target: those whose highest bit is clear.
      if (headerHash({ ...header, nonce })[31]! < 0x80) continue;
      expect(await refused({ header: { nonce }, keepNonce: true })).toBe('high-hash');
      return;
    }
  });

  test('a coinbase of all subsidy and fees is valid', async () => {
    await using other = new TestNode({ verifier: trustingVerifier });
    await other.take(mixedBlocks().slice(0, HEIGHT - 1));
    const full = editBlock(raw, { txs: withTx(0, (tx) => withOutput(tx, 0, { value: 50_0000_0000n + fees })) });
    expect(await other.submit(full)).toBe('accepted');
  });

  test('any changed byte of the body is detected and does not make the valid block invalid', async () => {
    const dice = diceOf(7);
    const reasons =
      /^bad-(txnmrklroot|blk-decode|witness-merkle-match|witness-nonce-size|blk-length|txns-duplicate)$|^unexpected-witness$/;
    for (let i = 0; i < 60; i++) {
      const at = 80 + dice(raw.length - 80);
      const spoiled = raw.with(at, raw[at]! ^ (1 << dice(8)));
      expect(await node.submit(spoiled)).toMatch(reasons);
    }
    expect(await node.submit(raw)).toBe('accepted');
    expect(node.tip).toBe(hashToHex(parseBlock(raw).hash));
    expect(differences(node.state(), new ModelChain(mixedBlocks().slice(0, HEIGHT)).state())).toEqual([]);
  });
});
