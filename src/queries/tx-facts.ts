import { fail } from '../http/errors.ts';
import { IN_MEMPOOL } from '../mempool/changes.ts';
import type { Unconfirmed } from '../mempool/mirror.ts';
import { type ParsedBlock, type ParsedTransaction, weightOf } from '../primitives/block.ts';
import { type Coin, positionHeight, positionIndex, type TxPosition, txPosition } from '../primitives/coin.ts';
import { hashFromHex, hashToHex, type Txid } from '../primitives/hash.ts';
import { readTxUndo } from '../primitives/undo.ts';
import type { HeaderRecord } from '../storage/header-store.ts';
import type { TxRecord } from '../storage/tx-store.ts';
import { ByteReader, equalBytes } from '../util/bytes.ts';
import { parsedBlock } from './block-body.ts';
import { type IndexEnv, isIndexReady, txIndexOf } from './index-reads.ts';
import type { ReadEnv } from './read-env.ts';

/** A transaction with its spent outputs and its position, from which REST and RPC make their JSON. */
export interface TxFacts {
  readonly parsed: ParsedTransaction;
  readonly isCoinbase: boolean;
  /** The spent outputs in input order; null for a coinbase, and where undo data is missing. */
  readonly spent: readonly Coin[] | null;
  /** Block and position in the active chain; null for an unconfirmed transaction. */
  readonly place: { readonly block: HeaderRecord; readonly position: TxPosition } | null;
  /** The mempool entry of an unconfirmed transaction. */
  readonly unconfirmed?: Unconfirmed;
}

/** Returns a transaction of the mempool or of the active chain by its txid in display order. Throws `tx_not_found`. */
export function anyTxFacts(env: ReadEnv, txid: string): TxFacts {
  const waiting = env.mempool.findEntry(hashFromHex<Txid>(txid));
  return waiting ? unconfirmedFacts(env, waiting) : txFacts(env, txByTxid(env, txid));
}

/** Returns the facts of a mempool transaction. */
export function unconfirmedFacts({ reads, mempool }: ReadEnv, unconfirmed: Unconfirmed): TxFacts {
  const { parsed } = unconfirmed;
  // The positions of its coins are looked up, since blocks may have changed after it was accepted.
  const spent = unconfirmed.spent.map(({ output }, i) => {
    const { prevout } = parsed.tx.inputs[i]!;
    const coin = mempool.has(prevout.txid) ? null : reads.coins.get(prevout);
    return { output, position: coin?.position ?? IN_MEMPOOL };
  });
  return { parsed, isCoinbase: false, spent, place: null, unconfirmed };
}

/** Returns a confirmed transaction by its txid in display order; null where there is none. Throws as `requireIndex` does. */
export function findTx(env: IndexEnv, txid: string): TxRecord | null {
  return txIndexOf(env).byTxid(hashFromHex<Txid>(txid));
}

/** Returns a confirmed transaction by its txid. Throws `tx_not_found`. */
export function txByTxid(env: ReadEnv, txid: string): TxRecord {
  const record = findTx(env, txid);
  if (record) return record;
  const replacedBy = env.mempool.replacements.get(hashFromHex<Txid>(txid))?.replacedBy;
  return fail('tx_not_found', replacedBy ? 'the transaction was replaced' : 'no such transaction', {
    replacedBy: replacedBy ? hashToHex(replacedBy) : null,
  });
}

/** Returns the size of a confirmed transaction, bytes, without reading it. */
export function storedSize({ reads }: Pick<ReadEnv, 'reads'>, record: TxRecord): number {
  return reads.sizeOfTx(record);
}

export function txFacts({ reads }: Pick<ReadEnv, 'reads'>, record: TxRecord): TxFacts {
  const { block, parsed, spent } = reads.transaction(record);
  const isCoinbase = positionIndex(record.position) === 0;
  return { parsed, isCoinbase, spent: isCoinbase ? null : spent, place: { block, position: record.position } };
}

/**
 * Returns the position of the transaction of the active chain with a txid; null without one. Without the transaction index
 * it is found as long as one of its outputs is unspent.
 */
export function confirmedPosition(env: ReadEnv, txid: Txid): TxPosition | null {
  const { reads } = env;
  return (isIndexReady(env, 'tx') ? reads.txs.byTxid(txid) : reads.coins.anyOf(txid))?.position ?? null;
}

/** Returns the transaction that `confirmedPosition` finds. Throws BlockPruned. */
export function confirmedFacts(env: ReadEnv, txid: Txid): TxFacts | null {
  const { reads } = env;
  if (isIndexReady(env, 'tx')) {
    const record = reads.txs.byTxid(txid);
    return record && txFacts(env, record);
  }
  const position = confirmedPosition(env, txid);
  const block = position === null ? null : reads.headers.byHeight(positionHeight(position));
  if (block === null) return null;
  const { height } = block;
  const facts = blockTxFacts(env, block, parsedBlock(env, block), (index) => txPosition(height, index));
  return facts.find(({ parsed }) => equalBytes(parsed.txid, txid)) ?? null;
}

/** Returns the transactions of a block, with their spent outputs where these are known. */
export function blockTxFacts(
  { reads }: Pick<ReadEnv, 'reads'>,
  block: HeaderRecord,
  { txs }: ParsedBlock,
  position: ((index: number) => TxPosition) | null,
): TxFacts[] {
  const undo = reads.rawUndo(block);
  const r = undo && new ByteReader(undo);
  return txs.map((parsed, index) => ({
    parsed,
    isCoinbase: index === 0,
    spent: index === 0 || !r ? null : readTxUndo(r, parsed.tx.inputs.length),
    place: position && { block, position: position(index) },
  }));
}

export function vsizeOf(parsed: ParsedTransaction): number {
  return Math.ceil(weightOf(parsed) / 4);
}

export function valueOut({ tx }: ParsedTransaction): bigint {
  return tx.outputs.reduce((sum, { value }) => sum + value, 0n);
}

/** Returns the sum of the inputs; null for a coinbase, and where the spent outputs are unknown. */
export function valueIn({ spent }: TxFacts): bigint | null {
  return spent?.reduce((sum, { output }) => sum + output.value, 0n) ?? null;
}

export function feeOf(facts: TxFacts): bigint | null {
  const paid = valueIn(facts);
  return paid === null ? null : paid - valueOut(facts.parsed);
}

export function confirmationsAt(tip: HeaderRecord, position: TxPosition): number {
  return tip.height - positionHeight(position) + 1;
}
