import { witnessCommitmentIndex } from '../../src/consensus/witness-commitment.ts';
import { commitmentScript, transactionsRoot } from '../../src/mining/block-template.ts';
import { grindHeader } from '../../src/mining/grind.ts';
import { encodeBlock, parseBlock } from '../../src/primitives/block.ts';
import type { BlockHeader } from '../../src/primitives/header.ts';
import type { Transaction } from '../../src/primitives/transaction.ts';
import { ByteWriter } from '../../src/util/bytes.ts';
import { RegtestChain, TestBlock } from './chain-builder.ts';

/** A change of a block, and which of its commitments stay as they were although it breaks them. */
export interface BlockEdit {
  readonly txs?: (txs: readonly Transaction[]) => readonly Transaction[];
  readonly header?: Partial<BlockHeader>;
  /** Keeps the witness commitment. */
  readonly keepCommitment?: boolean;
  readonly keepRoot?: boolean;
  readonly keepNonce?: boolean;
}

/** Returns a block with the edit, its commitments and proof of work renewed: only the deeper rule is broken. */
export function editBlock(raw: Uint8Array, edit: BlockEdit): Uint8Array {
  const parsed = parseBlock(raw);
  let txs: readonly Transaction[] = parsed.txs.map(({ tx }) => tx);
  if (edit.txs) txs = edit.txs(txs);
  if (!edit.keepCommitment) txs = recommit(txs);
  const header = { ...parsed.header, ...(edit.keepRoot ? {} : { merkleRoot: transactionsRoot(txs) }), ...edit.header };
  const w = new ByteWriter(raw.length);
  encodeBlock(w, { header: edit.keepNonce ? header : grindHeader(header), transactions: txs });
  return w.finish().slice();
}

function recommit(txs: readonly Transaction[]): readonly Transaction[] {
  const coinbase = txs[0];
  const index = coinbase ? witnessCommitmentIndex(coinbase) : -1;
  if (!coinbase || index < 0) return txs;
  const scriptPubKey = commitmentScript(txs.slice(1), coinbase.inputs[0]!.witness[0]);
  const outputs = coinbase.outputs.map((output, i) => (i === index ? { ...output, scriptPubKey } : output));
  return [{ ...coinbase, outputs }, ...txs.slice(1)];
}

/** Replaces one transaction by another. */
export function withTx(index: number, change: (tx: Transaction) => Transaction): NonNullable<BlockEdit['txs']> {
  return (txs) => txs.map((tx, i) => (i === index ? change(tx) : tx));
}

/** Returns a chain that continues from the blocks of another source; they begin at height 1. */
export function chainFrom(blocks: readonly Uint8Array[]): RegtestChain {
  const chain = new RegtestChain();
  for (const raw of blocks) {
    const { header, txs } = parseBlock(raw);
    chain.append(new TestBlock({ header, transactions: txs.map(({ tx }) => tx) }, chain.tip));
  }
  return chain;
}
