import { fail } from '../http/errors.ts';
import { clusterOf } from '../mempool/relatives.ts';
import { parseTransaction } from '../primitives/block.ts';
import { positionHeight, positionIndex, txPosition } from '../primitives/coin.ts';
import { hashFromHex, hashToHex, type Txid } from '../primitives/hash.ts';
import { headerFromBytes } from '../primitives/header.ts';
import { merkleBranch } from '../primitives/merkle.ts';
import { bytesAnswer, jsonAnswer, type ReadEndpoint, textAnswer } from '../queries/answer.ts';
import { headerTime, tipView } from '../queries/block-facts.ts';
import { encodeMerkleBlock } from '../queries/merkle-block.ts';
import { needSpenders, type ReadEnv } from '../queries/read-env.ts';
import { anyTxFacts, confirmationsAt, findTx, txByTxid } from '../queries/tx-facts.ts';
import type { TxRecord } from '../storage/tx-store.ts';
import { equalBytes } from '../util/bytes.ts';
import { statusView, txView } from '../views/rest/tx-view.ts';

/** Microseconds for one input or output as JSON. */
const PART_US = 12;
/** To find one transaction and its block. */
const STATUS_US = 40;
/** Bytes an input or output has at least. */
const PART_BYTES = 31;
/** Microseconds a transaction in a merkle tree takes. */
const LEAF_US = 4;

export const txEndpoint: ReadEndpoint<{ txid: string }> = {
  name: 'tx',
  run(env, { txid }) {
    const { entries } = env.mempool;
    const id = hashFromHex<Txid>(txid);
    const slot = entries.find(id);
    const size = slot < 0 ? sizeOf(env, txByTxid(env, txid)) : entries.size(slot);
    env.expectWork((size / PART_BYTES / 2) * PART_US);
    needSpenders(env, [id]);
    return jsonAnswer(txView(env, anyTxFacts(env, txid)));
  },
  mempoolPart({ mempool: { entries } }, { txid }) {
    const slot = entries.find(hashFromHex<Txid>(txid));
    return slot < 0 ? [] : clusterOf(entries, slot);
  },
};

/** The size without reading it. */
function sizeOf({ reads }: ReadEnv, { position, offset }: TxRecord): number {
  const end = reads.txs.nextOffset(position) ?? reads.headers.byHeight(positionHeight(position))!.body!.size;
  return end - offset;
}

export const txStatusEndpoint: ReadEndpoint<{ txid: string }> = {
  name: 'tx-status',
  run: (env, { txid }) => jsonAnswer(statusOf(env, txid) ?? statusOfRecord(env, txByTxid(env, txid))),
};

/** Where many transactions stand; null for those that are not known. */
export const txsStatusEndpoint: ReadEndpoint<{ txids: readonly string[] }> = {
  name: 'txs-status',
  run(env, { txids }) {
    env.expectWork(txids.length * STATUS_US);
    const entries = txids.map((txid) => {
      return [txid, statusOf(env, txid)] as const;
    });
    // It is asked for by POST, whose replies are not kept.
    return { ...jsonAnswer(Object.fromEntries(entries)), freshness: 'none' };
  },
  mempoolPart: ({ mempool }, { txids }) =>
    txids.map((txid) => mempool.entries.find(hashFromHex<Txid>(txid))).filter((slot) => slot >= 0),
};

/** Null where it is neither in the mempool nor in the chain. */
function statusOf(env: ReadEnv, txid: string) {
  if (env.mempool.has(hashFromHex<Txid>(txid))) return statusView(env, null);
  const record = findTx(env, txid);
  return record && statusOfRecord(env, record);
}

function statusOfRecord(env: ReadEnv, { position }: TxRecord) {
  return statusView(env, { block: env.reads.headers.byHeight(positionHeight(position))!, position });
}

export const txRawEndpoint: ReadEndpoint<{ txid: string; as: 'bytes' | 'hex' }> = {
  name: 'tx-raw',
  run(env, { txid, as }) {
    const waiting = env.mempool.find(hashFromHex<Txid>(txid));
    const raw = waiting?.parsed.raw ?? env.reads.rawTx(txByTxid(env, txid)).raw;
    const freshness = { revalidated: hashToHex(parseTransaction(raw).wtxid) };
    return as === 'hex' ? textAnswer(raw.toHex(), freshness) : bytesAnswer(raw, freshness);
  },
};

/** That a transaction is in a block: its branch of the merkle tree, and the same as Core's `merkleblock`. */
export const txProofEndpoint: ReadEndpoint<{ txid: string; coinbase: boolean }> = {
  name: 'tx-proof',
  run(env, { txid, coinbase }) {
    const { reads, tip } = env;
    if (env.mempool.has(hashFromHex<Txid>(txid)))
      return fail('tx_unconfirmed', 'the transaction is in no block yet', { txid });
    const record = txByTxid(env, txid);
    const height = positionHeight(record.position);
    const pos = positionIndex(record.position);
    const block = reads.headers.byHeight(height)!;
    const txCount = block.stats!.txCount;
    env.expectWork(txCount * LEAF_US);
    const txids = reads.txs.txidsOfBlock(height);
    const branch = (index: number) => merkleBranch(txids, index).map(hashToHex);
    const wanted = record.txid;
    const isWanted = (index: number) => equalBytes(txids.subarray(index * 32, index * 32 + 32), wanted);
    return jsonAnswer({
      txid,
      blockHash: hashToHex(block.hash),
      blockHeight: height,
      blockTime: headerTime(block),
      confirmations: confirmationsAt(tip, record.position),
      pos,
      txCount,
      merkle: branch(pos),
      merkleRoot: hashToHex(headerFromBytes(block.header).merkleRoot),
      header: block.header.toHex(),
      merkleBlock: encodeMerkleBlock(block.header, txids, isWanted).toHex(),
      coinbase: coinbase ? coinbaseProof() : null,
      tip: tipView(tip),
    });

    function coinbaseProof() {
      const first = reads.txs.byPosition(txPosition(height, 0))!;
      return { txid: hashToHex(first.txid), hex: reads.rawTx(first).raw.toHex(), merkle: branch(0) };
    }
  },
  // A transaction that is in the mempool needs no worker to say so.
  mempoolPart: () => [],
};
