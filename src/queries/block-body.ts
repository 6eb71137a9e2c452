import { type ParsedBlock, type ParsedTransaction, parseBlock, parseTransaction } from '../primitives/block.ts';
import { txPosition } from '../primitives/coin.ts';
import type { HeaderRecord } from '../storage/header-store.ts';
import { type BlockFacts, rawBlock } from './block-facts.ts';
import { positionsOf } from './index-reads.ts';
import type { ReadEnv } from './read-env.ts';

type Place = Pick<BlockFacts, 'block' | 'inActiveChain'>;

/** Microseconds to parse a transaction and compute its hashes. */
const PARSE_US = 8;
/** Microseconds to read one txid from the database and encode it as hex. */
const TXID_US = 1;

/** Returns the txids in block order, 32 bytes each. */
export function blockTxids(env: ReadEnv, { block, inActiveChain }: Place): Uint8Array {
  const positions = inActiveChain ? positionsOf(env) : null;
  if (positions === null) return parsedBlock(env, block).txids;
  env.expectWork((block.stats?.txCount ?? 0) * TXID_US);
  return positions.txidsOfBlock(block.height);
}

/** Returns the coinbase of a block. */
export function coinbaseOf(env: ReadEnv, { block, inActiveChain }: Place): ParsedTransaction {
  const positions = inActiveChain ? positionsOf(env) : null;
  const record = positions?.byPosition(txPosition(block.height, 0));
  return record ? parseTransaction(env.reads.rawTx(record).raw) : parsedBlock(env, block).txs[0]!;
}

/** Returns the whole block. Throws as `rawBlock` does. */
export function parsedBlock(env: ReadEnv, block: HeaderRecord): ParsedBlock {
  env.expectWork((block.stats?.txCount ?? 0) * PARSE_US);
  return parseBlock(rawBlock(env, block));
}
