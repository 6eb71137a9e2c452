import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { blockSigops, inputSigopCost } from '../../src/consensus/block-sigops.ts';
import { checkTransaction } from '../../src/consensus/check-transaction.ts';
import { isFinalTx, isFinalTxAt } from '../../src/consensus/locktime.ts';
import { isCoinbaseAt, isPlainTransaction } from '../../src/consensus/plain-transaction.ts';
import { legacySigops, txSigopCost } from '../../src/consensus/sigops.ts';
import { encodeBlock, type ParsedBlock, parseBlock, parseTransaction } from '../../src/primitives/block.ts';
import { u32At } from '../../src/primitives/block-columns.ts';
import { readCompactSize } from '../../src/primitives/compact-size.ts';
import type { Txid } from '../../src/primitives/hash.ts';
import { headerFromBytes } from '../../src/primitives/header.ts';
import {
  decodeTransactionWithLayout,
  isCoinbase,
  type Transaction,
  transactionBytes,
} from '../../src/primitives/transaction.ts';
import { scriptOf } from '../../src/script/script-builder.ts';
import { ByteReader, ByteWriter, DecodeError } from '../../src/util/bytes.ts';

const HEADER = headerFromBytes(new Uint8Array(80));
const MAX_MONEY = 2_100_000_000_000_000n;

const script = fc.oneof(
  fc.uint8Array({ maxLength: 12 }),
  fc.uint8Array({ minLength: 20, maxLength: 20 }).map((hash) => Uint8Array.of(0xa9, 20, ...hash, 0x87)),
  fc.uint8Array({ minLength: 20, maxLength: 20 }).map((hash) => Uint8Array.of(0, 20, ...hash)),
  fc.uint8Array({ minLength: 32, maxLength: 32 }).map((hash) => Uint8Array.of(0, 32, ...hash)),
  fc.uint8Array({ minLength: 21, maxLength: 21 }).map((program) => Uint8Array.of(0x51, 21, ...program)),
  fc.constantFrom(Uint8Array.of(0xac, 0xae), Uint8Array.of(0x52, 0xae), new Uint8Array(300).fill(0x61)),
);
// Redeem scripts that are witness programs or count signature operations.
const scriptSig = fc.oneof(
  script,
  script.map((redeemScript) => scriptOf(redeemScript)),
);
// Few different values, so that outpoints repeat.
const txid = fc.constantFrom(0, 0, 1, 2, 0xff).map((byte) => new Uint8Array(32).fill(byte) as Txid);
const input = fc.record({
  prevout: fc.record({ txid, vout: fc.constantFrom(0, 1, 2, 3, 0xffff_ffff) }),
  scriptSig,
  sequence: fc.constantFrom(0, 5, 0x8000_0000, 0xffff_ffff),
  witness: fc.array(script, { maxLength: 3 }),
});
const output = fc.record({
  value: fc.oneof(fc.bigInt({ min: 0n, max: MAX_MONEY }), fc.constantFrom(0n, -1n, MAX_MONEY, MAX_MONEY + 1n)),
  scriptPubKey: script,
});
const transaction: fc.Arbitrary<Transaction> = fc.record({
  version: fc.constantFrom(0, 1, 2, 0xffff_ffff),
  inputs: fc.array(input, { minLength: 1, maxLength: 20 }),
  outputs: fc.array(output, { maxLength: 5 }),
  locktime: fc.constantFrom(0, 100, 500_000_001),
});

function blockBytes(transactions: readonly Transaction[]): Uint8Array {
  const w = new ByteWriter();
  encodeBlock(w, { header: HEADER, transactions });
  return w.finish().slice();
}

/** Decodes all transactions as objects, as single transactions are decoded. */
function decodeTransactions(raw: Uint8Array): Transaction[] {
  const r = new ByteReader(raw, 80);
  const count = readCompactSize(r);
  if (count > r.remaining / 10) throw new DecodeError('unexpected end of data');
  const txs = Array.from({ length: count }, () => decodeTransactionWithLayout(r).tx);
  if (r.remaining > 0) throw new DecodeError('bytes after the block');
  return txs;
}

function outcomeOf<T>(run: () => T): T | string {
  try {
    return run();
  } catch (error) {
    if (error instanceof DecodeError) return error.message;
    throw error;
  }
}

function columnsAsObjects({ raw, columns }: ParsedBlock): unknown {
  const range = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n);
  return range(0, columns.txCount).map((i) => ({
    inputs: range(columns.firstInput[i]!, columns.firstInput[i + 1]!).map((n) => ({
      txid: raw.slice(columns.prevoutAt[n]!, columns.prevoutAt[n]! + 32),
      vout: u32At(raw, columns.prevoutAt[n]! + 32),
      scriptSig: raw.slice(columns.scriptSigAt[n]!, columns.sequenceAt[n]!),
      sequence: u32At(raw, columns.sequenceAt[n]!),
      lastItem: columns.lastItemEnd[n]! > 0 ? raw.slice(columns.lastItemAt[n]!, columns.lastItemEnd[n]!) : null,
    })),
    outputs: range(columns.firstOutput[i]!, columns.firstOutput[i + 1]!).map((n) => ({
      value: columns.value[n]!,
      script: raw.slice(columns.scriptAt[n]!, columns.scriptEnd[n]!),
    })),
  }));
}

test('columns hold what the transactions hold, and ids are those of single transactions', () => {
  fc.assert(
    fc.property(fc.array(transaction, { maxLength: 4 }), (txs) => {
      const block = parseBlock(blockBytes(txs));
      expect(columnsAsObjects(block)).toEqual(
        txs.map(({ inputs, outputs }) => ({
          inputs: inputs.map(({ prevout, scriptSig: sig, sequence, witness }) => ({
            ...prevout,
            scriptSig: sig,
            sequence,
            lastItem: witness.at(-1) ?? null,
          })),
          outputs: outputs.map(({ value, scriptPubKey }) => ({ value: Number(value), script: scriptPubKey })),
        })),
      );
      for (const [i, tx] of txs.entries()) {
        const { offset, ...single } = parseTransaction(transactionBytes(tx));
        const { offset: at, ...parsed } = block.txs[i]!;
        expect(parsed).toEqual(single);
        expect(at).toBe(block.columns.txAt[i]!);
        if (i > 0) expect(block.wtxids.slice(i * 32, i * 32 + 32)).toEqual(new Uint8Array(single.wtxid));
      }
      expect(block.strippedSize).toBe(81 + block.txs.reduce((sum, { strippedSize }) => sum + strippedSize, 0));
    }),
  );
});

test('damaged blocks are decoded, or refused with the same message, as transaction by transaction', () => {
  const damage = fc.array(fc.tuple(fc.nat(), fc.constantFrom(0, 1, 2, 0x80, 0xfc, 0xfd, 0xfe, 0xff)), { maxLength: 3 });
  fc.assert(
    fc.property(fc.array(transaction, { maxLength: 3 }), damage, fc.nat({ max: 40 }), (txs, changes, cut) => {
      const whole = blockBytes(txs);
      for (const [at, byte] of changes) whole[80 + (at % (whole.length - 80))] = byte;
      const raw = whole.slice(0, Math.max(81, whole.length - cut));
      const decoded = outcomeOf(() => parseBlock(raw).txs.map(({ tx }) => tx));
      expect(decoded).toEqual(outcomeOf(() => decodeTransactions(raw)));
    }),
    { numRuns: 2000 },
  );
});

test('a transaction of a block is checked as a single one', () => {
  let plain = 0;
  fc.assert(
    fc.property(fc.array(transaction, { minLength: 1, maxLength: 4 }), fc.nat({ max: 200 }), (txs, height) => {
      const block = parseBlock(blockBytes(txs));
      const sigops = blockSigops(block);
      for (const [i, tx] of txs.entries()) {
        expect(isCoinbaseAt(block, i)).toBe(isCoinbase(tx));
        expect(sigops[i]).toBe(legacySigops(tx));
        expect(isFinalTxAt(block, i, height, height * 10_000_000)).toBe(isFinalTx(tx, height, height * 10_000_000));
        if (!isPlainTransaction(block, i)) continue;
        plain++;
        expect(checkTransaction(tx, block.txs[i]!.strippedSize)).toBeNull();
      }
    }),
    { numRuns: 1000 },
  );
  expect(plain).toBeGreaterThan(20);
});

test('an ordinary transaction is plain, with one input or with many', () => {
  for (const count of [1, 2, 16, 17, 500]) {
    const inputs = Array.from({ length: count }, (_, vout) => ({
      prevout: { txid: new Uint8Array(32).fill(7) as Txid, vout },
      scriptSig: new Uint8Array(0),
      sequence: 0xffff_ffff,
      witness: [],
    }));
    const outputs = [{ value: 1n, scriptPubKey: new Uint8Array(0) }];
    const plainOf = (own: typeof inputs) =>
      isPlainTransaction(parseBlock(blockBytes([{ version: 2, inputs: own, outputs, locktime: 0 }])), 0);
    expect(plainOf(inputs)).toBe(true);
    if (count > 1) expect(plainOf(inputs.with(count - 1, inputs[0]!))).toBe(false);
  }
});

test('the sigop cost of inputs is that of the transaction', () => {
  fc.assert(
    fc.property(
      transaction,
      fc.array(script, { minLength: 20, maxLength: 20 }),
      fc.nat({ max: 7 }),
      (tx, spent, bits) => {
        if (isCoinbase(tx)) return;
        // P2SH is the first flag, WITNESS the twelfth.
        const flags = (bits & 1 ? 1 : 0) | (bits & 2 ? 1 << 11 : 0);
        const block = parseBlock(blockBytes([tx]));
        const outputs = spent.map((scriptPubKey) => ({ value: 0n, scriptPubKey }));
        const filler = Uint8Array.of(0x14, 0x14);
        let cost = legacySigops(tx) * 4;
        for (let n = 0; n < tx.inputs.length; n++) {
          const bytes = Uint8Array.of(...filler, ...spent[n]!, ...filler);
          cost += inputSigopCost(block, n, { spent: bytes, from: 2, to: 2 + spent[n]!.length, flags });
        }
        expect(cost).toBe(txSigopCost(tx, outputs, flags));
      },
    ),
    { numRuns: 1000 },
  );
});
