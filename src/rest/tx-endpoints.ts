import { fail } from '../http/errors.ts';
import { HEX, TX_STATUS } from '../http/reply-schema.ts';
import { BYTES, json, plainText } from '../http/route-description.ts';
import { clusterOf } from '../mempool/relatives.ts';
import { parseTransaction } from '../primitives/block.ts';
import { positionHeight, positionIndex, txPosition } from '../primitives/coin.ts';
import { hashFromHex, hashToHex, type Txid } from '../primitives/hash.ts';
import { headerFromBytes } from '../primitives/header.ts';
import { merkleBranch } from '../primitives/merkle.ts';
import { bytesAnswer, jsonAnswer, jsonTextAnswer, textAnswer } from '../queries/answer.ts';
import { headerTime, tipView } from '../queries/block-facts.ts';
import { INDEX_ERRORS, isIndexReady } from '../queries/index-reads.ts';
import { encodeMerkleBlock } from '../queries/merkle-block.ts';
import { blockPruned, needSpenders, type ReadEnv } from '../queries/read-env.ts';
import { anyTxFacts, confirmationsAt, findTx, storedSize, txByTxid } from '../queries/tx-facts.ts';
import type { TxRecord } from '../storage/tx-store.ts';
import { equalBytes } from '../util/bytes.ts';
import { type TxText, txJson, txTextLength, txTextOf } from '../views/rest/tx-text.ts';
import { statusView, txView } from '../views/rest/tx-view.ts';
import { readEndpoint } from './endpoint.ts';
import { flag, TXID } from './parameters.ts';
import { TX, TX_PROOF, TXIDS_REQUEST, TXS_STATUS } from './schemas/tx-schemas.ts';
import { readTxids, TXIDS_BODY } from './txids-body.ts';

/** Time to format one input or output as JSON, microseconds. */
const PART_US = 12;
/** Time to find one transaction and its block, microseconds. */
const STATUS_US = 40;
/** Minimum size of an input or output, bytes. */
const PART_BYTES = 31;
/** Time per transaction of a merkle tree, microseconds. */
const LEAF_US = 4;

const txidOf = ({ params }: { readonly params: { readonly txid: string } }) => ({ txid: params.txid.toLowerCase() });

export const txEndpoint = readEndpoint({
  name: 'tx',
  path: '/api/tx/:txid',
  tag: 'transactions',
  summary: 'Transaction by id',
  params: { txid: TXID },
  response: json(TX),
  errors: ['invalid_txid', 'tx_not_found', 'block_pruned', ...INDEX_ERRORS],
  input: txidOf,
  run(env, { txid }) {
    const { entries } = env.mempool;
    const id = hashFromHex<Txid>(txid);
    const slot = entries.find(id);
    const known = slot < 0 && isIndexReady(env, 'tx') ? (env.texts?.find<TxText>(env, textKey(txid)) ?? null) : null;
    if (known) return jsonTextAnswer(txJson(env, known));
    const size = slot < 0 ? storedSize(env, txByTxid(env, txid)) : entries.size(slot);
    env.expectWork((size / PART_BYTES / 2) * PART_US);
    needSpenders(env, [id]);
    const facts = anyTxFacts(env, txid);
    const text = env.texts && txTextOf(env, facts);
    if (!text) return jsonAnswer(txView(env, facts));
    const json = txJson(env, text);
    env.texts!.store(env, textKey(txid), text, txTextLength(text));
    return jsonTextAnswer(json);
  },
  mempoolPart({ mempool: { entries } }, { txid }) {
    const slot = entries.find(hashFromHex<Txid>(txid));
    return slot < 0 ? [] : clusterOf(entries, slot);
  },
});

const textKey = (txid: string) => `rest ${txid}`;

export const txStatusEndpoint = readEndpoint({
  name: 'tx-status',
  path: '/api/tx/:txid/status',
  tag: 'transactions',
  summary: 'Whether a transaction is confirmed, and in which block',
  params: { txid: TXID },
  response: json(TX_STATUS),
  errors: ['invalid_txid', 'tx_not_found', ...INDEX_ERRORS],
  input: txidOf,
  run: (env, { txid }) => jsonAnswer(statusOf(env, txid) ?? statusOfRecord(env, txByTxid(env, txid))),
});

/** Status of many transactions; null for unknown ones. */
export const txsStatusEndpoint = readEndpoint({
  name: 'txs-status',
  method: 'POST',
  path: '/api/txs/status',
  tag: 'transactions',
  summary: 'The status of many transactions',
  body: [json(TXIDS_REQUEST)],
  bodyLimit: TXIDS_BODY,
  response: json(TXS_STATUS),
  errors: ['invalid_txid', ...INDEX_ERRORS],
  input: async ({ request }): Promise<{ txids: readonly string[] }> => ({ txids: await readTxids(request) }),
  run(env, { txids }) {
    env.expectWork(txids.length * STATUS_US);
    env.reads.expectRows({ txids: txids.map((txid) => hashFromHex(txid)) });
    const entries = txids.map((txid) => {
      return [txid, statusOf(env, txid)] as const;
    });
    // The request is a POST, whose replies are not cached.
    return { ...jsonAnswer(Object.fromEntries(entries)), freshness: 'none' };
  },
  mempoolPart: ({ mempool }, { txids }) =>
    txids.map((txid) => mempool.entries.find(hashFromHex<Txid>(txid))).filter((slot) => slot >= 0),
});

/** Returns null if the transaction is neither in the mempool nor in the chain. */
function statusOf(env: ReadEnv, txid: string) {
  if (env.mempool.has(hashFromHex<Txid>(txid))) return statusView(env, null);
  const record = findTx(env, txid);
  return record && statusOfRecord(env, record);
}

function statusOfRecord(env: ReadEnv, { position }: TxRecord) {
  return statusView(env, { block: env.reads.headers.byHeight(positionHeight(position))!, position });
}

export const txHexEndpoint = readEndpoint({
  name: 'tx-hex',
  path: '/api/tx/:txid/hex',
  tag: 'transactions',
  summary: 'A transaction as hex',
  params: { txid: TXID },
  response: plainText(HEX),
  errors: ['invalid_txid', 'tx_not_found', 'block_pruned', ...INDEX_ERRORS],
  input: txidOf,
  run(env, { txid }) {
    const { raw, freshness } = rawTxOf(env, txid);
    return textAnswer(raw.toHex(), freshness);
  },
});

export const txRawEndpoint = readEndpoint({
  name: 'tx-raw',
  path: '/api/tx/:txid/raw',
  tag: 'transactions',
  summary: 'A transaction as bytes',
  params: { txid: TXID },
  response: BYTES,
  errors: ['invalid_txid', 'tx_not_found', 'block_pruned', ...INDEX_ERRORS],
  input: txidOf,
  run(env, { txid }) {
    const { raw, freshness } = rawTxOf(env, txid);
    return bytesAnswer(raw, freshness);
  },
});

/** An encoded transaction with its ETag, as the cache keeps those that are confirmed. */
interface RawTx {
  readonly raw: Uint8Array;
  readonly freshness: { readonly revalidated: string };
}

function rawTxOf(env: ReadEnv, txid: string): RawTx {
  const waiting = env.mempool.findEntry(hashFromHex<Txid>(txid));
  if (waiting) return rawTx(waiting.parsed.raw);
  const key = `raw ${txid}`;
  const known = isIndexReady(env, 'tx') ? (env.texts?.find<RawTx>(env, key) ?? null) : null;
  if (known) return known;
  // A copy, so that the entry keeps no longer buffer in memory.
  const made = rawTx(env.reads.rawTx(txByTxid(env, txid)).raw.slice());
  env.texts?.store(env, key, made, made.raw.length);
  return made;
}

function rawTx(raw: Uint8Array): RawTx {
  return { raw, freshness: { revalidated: hashToHex(parseTransaction(raw).wtxid) } };
}

/**
 * Proof that a transaction is in a block: its branch of the merkle tree, and the same proof as Core's `merkleblock`.
 */
export const txProofEndpoint = readEndpoint({
  name: 'tx-proof',
  path: '/api/tx/:txid/proof',
  tag: 'transactions',
  summary: 'Merkle proof that a transaction is in a block',
  params: { txid: TXID },
  query: { coinbase: flag('true adds the branch of the coinbase') },
  response: json(TX_PROOF),
  errors: ['invalid_txid', 'tx_not_found', 'tx_unconfirmed', 'block_pruned', ...INDEX_ERRORS],
  input: ({ params, query }) => ({ ...txidOf({ params }), coinbase: query.coinbase === 'true' }),
  run(env, { txid, coinbase }) {
    const { reads, tip } = env;
    if (env.mempool.has(hashFromHex<Txid>(txid)))
      return fail('tx_unconfirmed', 'the transaction is in no block yet', { txid });
    const record = txByTxid(env, txid);
    const height = positionHeight(record.position);
    const pos = positionIndex(record.position);
    const block = reads.headers.byHeight(height)!;
    // As in Core, whose gettxoutproof reads the block.
    if (!block.body) return blockPruned(reads.pruneHeight());
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
  // `run` refuses a transaction of the mempool on the main thread, so a worker needs no part of it.
  mempoolPart: () => [],
});
