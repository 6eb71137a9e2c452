import { parentsOf } from '../../../mempool/relatives.ts';
import { positionHeight } from '../../../primitives/coin.ts';
import { type BlockHash, hashToHex, type Txid } from '../../../primitives/hash.ts';
import { blockTxids, parsedBlock } from '../../../queries/block-body.ts';
import { headerTime } from '../../../queries/block-facts.ts';
import { indexState, isIndexReady, txIndexOf } from '../../../queries/index-reads.ts';
import { encodeMerkleBlock, readMerkleBlock } from '../../../queries/merkle-block.ts';
import type { ReadEnv } from '../../../queries/read-env.ts';
import { blockTxFacts, type TxFacts, txFacts, unconfirmedFacts } from '../../../queries/tx-facts.ts';
import type { HeaderRecord } from '../../../storage/header-store.ts';
import { DecodeError, equalBytes } from '../../../util/bytes.ts';
import { coreTx } from '../../../views/core/core-tx.ts';
import { HOLE, partsLength, textParts } from '../../../views/text-parts.ts';
import { EXAMPLE, example } from '../../engine/example.ts';
import { JsonText, type RpcMethod, rpcMethod } from '../../engine/method.ts';
import { array, hashParam, hex, optional, readHashValue, verbosity } from '../../engine/params.ts';
import { rpcFail } from '../../engine/rpc-error.ts';
import { anyOf, arr, hashStr, hexStr } from '../../engine/schema.ts';
import { checkBody, findBlock } from '../blockchain/blockchain-methods.ts';
import { shownTx } from '../schemas.ts';

const JSON_US_PER_BYTE = 0.3;

const getrawtransaction = rpcMethod({
  name: 'getrawtransaction',
  category: 'rawtransactions',
  help: 'Returns a transaction of the mempool or of a block, in the requested detail.',
  params: [
    hashParam<Txid>('txid', 'parameter 1', { note: 'Transaction to return.' }),
    optional(
      verbosity('verbosity', {
        aliases: ['verbose'],
        note: '0 or false for hex, 1 or true for an object, 2 for an object with the fee and the spent outputs, which a transaction in the mempool lacks.',
      }),
      0,
    ),
    optional(
      hashParam<BlockHash>('blockhash', 'parameter 3', {
        note: 'Block in which to search, also on another branch; the mempool and the active chain by default.',
      }),
      null,
    ),
  ],
  result: anyOf(
    hexStr('verbosity 0'),
    shownTx({ withPrevouts: false }, 'verbosity 1'),
    shownTx({ withPrevouts: true }, 'verbosity 2'),
  ),
  examples: [example([EXAMPLE.txid]), example([EXAMPLE.txid, 2]), example([EXAMPLE.txid, 1, EXAMPLE.blockHash])],
  scope: 'read',
  isKept: true,
  run(env, txid, level, blockHash) {
    const key = blockHash === null && level >= 1 ? `rpc ${level >= 2} ${txid.toHex()}` : null;
    const known = key && knownText(env, key, txid);
    if (known) return jsonOf(env, known);
    const { reads, tip, params } = env;
    const genesis = reads.headers.byHeight(0)!;
    if (equalBytes(genesis.header.subarray(36, 68), txid))
      return rpcFail(
        'invalidAddressOrKey',
        'The genesis block coinbase is not considered an ordinary transaction and cannot be retrieved',
      );
    const waiting = blockHash ? null : env.mempool.findEntry(txid);
    if (waiting) {
      if (level <= 0) return waiting.parsed.raw.toHex();
      env.expectWork(waiting.parsed.raw.length * JSON_US_PER_BYTE);
      return {
        vsize_adjusted: waiting.vsize,
        // As in Bitcoin Core, verbosity 2 adds only what the undo data of a block has.
        ...coreTx(unconfirmedFacts(env, waiting), params, { withFee: false, withPrevouts: false }),
      };
    }
    const { facts, block } = blockHash ? inBlock(env, txid, blockHash) : confirmed(env, txid);
    if (level <= 0) return facts.parsed.raw.toHex();
    env.expectWork(facts.parsed.raw.length * JSON_US_PER_BYTE);
    const isActive = reads.headers.isActive(block);
    const detailed = level >= 2;
    const shown = {
      ...(blockHash && { in_active_chain: isActive }),
      ...coreTx(facts, params, { withFee: detailed, withPrevouts: detailed }),
      blockhash: hashToHex(block.hash),
    };
    if (!isActive) return { ...shown, confirmations: 0 };
    const times = { time: headerTime(block), blocktime: headerTime(block) };
    // Undo data that is not known may become known.
    const isFinal = !detailed || facts.isCoinbase || facts.spent !== null;
    if (key === null || env.texts === null || !isFinal)
      return { ...shown, confirmations: tip.height - block.height + 1, ...times };
    const text = { height: block.height, parts: textParts({ ...shown, confirmations: HOLE, ...times }) };
    env.texts.store(env, key, text, partsLength(text.parts));
    return jsonOf(env, text);
  },
  mempoolPart({ mempool: { entries } }, txid) {
    const slot = entries.find(txid);
    return slot < 0 ? [] : [slot, ...parentsOf(entries, slot)];
  },
});

/** A confirmed transaction as the cache keeps it: its JSON before and behind its confirmations. */
interface RawTxText {
  readonly height: number;
  readonly parts: readonly string[];
}

/** Returns the cached text of a confirmed transaction, or null. */
function knownText(env: ReadEnv, key: string, txid: Txid): RawTxText | null {
  if (env.texts === null || !isIndexReady(env, 'tx') || env.mempool.has(txid)) return null;
  return env.texts.find<RawTxText>(env, key);
}

function jsonOf({ tip }: ReadEnv, { height, parts }: RawTxText): JsonText {
  return new JsonText(`${parts[0]!}${tip.height - height + 1}${parts[1]!}`);
}

function confirmed(env: ReadEnv, txid: Txid): { facts: TxFacts; block: HeaderRecord } {
  const { enabled, synced } = indexState(env, 'tx');
  if (!enabled)
    return notFound(
      'No such mempool transaction. Use -txindex or provide a block hash to enable blockchain transaction queries',
      'feature_disabled',
    );
  if (!synced)
    return notFound(
      'No such mempool transaction. Blockchain transactions are still in the process of being indexed',
      'index_not_ready',
    );
  const record = env.reads.txs.byTxid(txid) ?? notFound('No such mempool or blockchain transaction');
  const facts = txFacts(env, record);
  return { facts, block: facts.place!.block };
}

function inBlock(env: ReadEnv, txid: Txid, blockHash: BlockHash): { facts: TxFacts; block: HeaderRecord } {
  const { reads } = env;
  const block =
    reads.headers.byHash(blockHash) ?? rpcFail('invalidAddressOrKey', 'Block hash not found', 'block_not_found');
  if (!block.stats) return rpcFail('misc', 'Block not available', 'block_not_found');
  if (!block.body) return rpcFail('misc', 'Block not available', 'block_pruned', { pruneHeight: reads.pruneHeight() });
  const record = isIndexReady(env, 'tx') ? reads.txs.byTxid(txid) : null;
  if (record && reads.headers.isActive(block) && positionHeight(record.position) === block.height)
    return { facts: txFacts(env, record), block };
  const found = blockTxFacts(env, block, parsedBlock(env, block), null).find(({ parsed }) =>
    equalBytes(parsed.txid, txid),
  );
  return { facts: found ?? notFound('No such transaction found in the provided block'), block };
}

function notFound(
  message: string,
  code: 'tx_not_found' | 'feature_disabled' | 'index_not_ready' = 'tx_not_found',
): never {
  return rpcFail('invalidAddressOrKey', `${message}. Use gettransaction for wallet transactions.`, code);
}

/** Microseconds per transaction of a merkle tree. */
const LEAF_US = 4;

const gettxoutproof = rpcMethod({
  name: 'gettxoutproof',
  category: 'blockchain',
  help: 'Returns a merkle proof that transactions are in a block.',
  params: [
    array('txids', (value) => readHashValue<Txid>(value, 'txid'), {
      oneline: '["txid",...]',
      schema: arr(hashStr()),
      note: 'Transactions of one block, each listed once.',
    }),
    optional(
      hashParam<BlockHash>('blockhash', 'blockhash', {
        note: 'Block that holds them; by default the block of the active chain with the first one that is found.',
      }),
      null,
    ),
  ],
  result: hexStr('serialized merkle block (BIP-37)'),
  examples: [example([[EXAMPLE.txid]]), example([[EXAMPLE.txid], EXAMPLE.blockHash])],
  scope: 'read',
  run(env, txids, blockHash) {
    const { reads } = env;
    if (txids.length === 0) return rpcFail('invalidParameter', "Parameter 'txids' cannot be empty");
    const wanted = new Set<string>();
    for (const txid of txids) {
      const key = hashToHex(txid);
      if (wanted.has(key)) rpcFail('invalidParameter', `Invalid parameter, duplicated txid: ${key}`);
      wanted.add(key);
    }
    const block = blockHash ? findBlock(env, blockHash) : blockOfAny(env, txids);
    checkBody(env, block);
    env.expectWork(block.stats!.txCount * LEAF_US);
    const all = blockTxids(env, { block, inActiveChain: reads.headers.isActive(block) });
    const matches = Array.from({ length: all.length / 32 }, (_, i) =>
      wanted.has(hashToHex(all.subarray(i * 32, i * 32 + 32))),
    );
    if (matches.filter(Boolean).length !== wanted.size)
      return rpcFail(
        'invalidAddressOrKey',
        'Not all transactions found in specified or retrieved block',
        'tx_not_found',
      );
    return encodeMerkleBlock(block.header, all, (index) => matches[index]!).toHex();
  },
});

/** Returns the block of the first transaction that is found: with an unspent output, or by the transaction index. */
function blockOfAny(env: ReadEnv, txids: readonly Txid[]): HeaderRecord {
  const { reads } = env;
  for (const txid of txids) {
    const coin = reads.coins.anyOf(txid);
    if (coin) return reads.headers.byHeight(positionHeight(coin.position))!;
  }
  if (!env.settings.indexes.tx)
    return rpcFail(
      'invalidAddressOrKey',
      'Transaction not yet in block, or its outputs are spent: without index.tx, name its block',
      'feature_disabled',
      { feature: 'tx_index' },
    );
  const txs = txIndexOf(env);
  for (const txid of txids) {
    const record = txs.byTxid(txid);
    if (record) return reads.headers.byHeight(positionHeight(record.position))!;
  }
  return rpcFail('invalidAddressOrKey', 'Transaction not yet in block', 'tx_not_found');
}

const verifytxoutproof = rpcMethod({
  name: 'verifytxoutproof',
  category: 'blockchain',
  help: 'Verifies a proof of gettxoutproof and returns the transactions that it proves to be in a block of the active chain.',
  params: [hex('proof', { note: 'Proof as gettxoutproof returns it.' })],
  result: arr(hashStr(), 'txids; empty if the proof is invalid'),
  examples: [example([EXAMPLE.proof])],
  scope: 'read',
  run({ reads }, proof) {
    const shown = decodeProof(proof);
    if (!shown) return [];
    const block = reads.headers.byHash(shown.hash);
    if (!block?.stats || !reads.headers.isActive(block))
      return rpcFail('invalidAddressOrKey', 'Block not found in chain', 'block_not_found');
    return block.stats.txCount === shown.txCount ? shown.matches.map(hashToHex) : [];
  },
});

/** Returns null for an invalid proof. Throws RpcError if the bytes end early. */
export function decodeProof(proof: Uint8Array) {
  try {
    return readMerkleBlock(proof);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return rpcFail('misc', 'SpanReader::read(): end of data: unspecified iostream_category error');
  }
}

export const rawTransactionMethods: readonly RpcMethod[] = [getrawtransaction, gettxoutproof, verifytxoutproof];
