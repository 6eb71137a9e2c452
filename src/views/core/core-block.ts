import { targetToHex } from '../../consensus/work.ts';
import { hashToHex, isNullHash } from '../../primitives/hash.ts';
import type { Transaction } from '../../primitives/transaction.ts';
import { blockTxids, coinbaseOf, parsedBlock } from '../../queries/block-body.ts';
import { blockFacts, hex8, workFields } from '../../queries/block-facts.ts';
import type { ReadEnv } from '../../queries/read-env.ts';
import { blockTxFacts } from '../../queries/tx-facts.ts';
import type { HeaderRecord } from '../../storage/header-store.ts';
import { txidList } from '../rest/block-view.ts';
import { coreTx } from './core-tx.ts';

/** Microseconds per byte of a block to write it as JSON with its transactions. */
const JSON_US_PER_BYTE = 0.2;

/** Returns a header in the form of Core's RPC. `nTx` is 0 if the body is not stored. */
export function coreHeader(env: ReadEnv, block: HeaderRecord) {
  const { header, confirmations, medianTime, nextHash } = blockFacts(env, block);
  const { bits, target, difficulty } = workFields(header.bits);
  return {
    hash: hashToHex(block.hash),
    confirmations,
    height: block.height,
    version: header.version,
    versionHex: hex8(header.version),
    merkleroot: hashToHex(header.merkleRoot),
    time: header.time,
    mediantime: medianTime,
    nonce: header.nonce,
    bits,
    target,
    difficulty,
    chainwork: targetToHex(block.chainwork),
    nTx: block.stats?.txCount ?? 0,
    ...(!isNullHash(header.previousHash) && { previousblockhash: hashToHex(header.previousHash) }),
    ...(nextHash && { nextblockhash: hashToHex(nextHash) }),
  };
}

/** Returns a block in the form of Core's RPC: with txids at verbosity 1, transactions at 2, and spent outputs at 3. */
export function coreBlock(env: ReadEnv, block: HeaderRecord, verbosity: number) {
  const inActiveChain = env.reads.headers.isActive(block);
  const { size, strippedSize } = block.stats!;
  return {
    ...coreHeader(env, block),
    strippedsize: strippedSize,
    size,
    weight: strippedSize * 3 + size,
    coinbase_tx: coinbaseView(coinbaseOf(env, { block, inActiveChain }).tx),
    tx: verbosity === 1 ? txidList(blockTxids(env, { block, inActiveChain })) : transactions(),
  };

  function transactions() {
    env.expectWork(size * JSON_US_PER_BYTE);
    const withPrevouts = verbosity >= 3;
    return blockTxFacts(env, block, parsedBlock(env, block), null).map((facts) =>
      coreTx(facts, env.params, { withFee: true, withPrevouts }),
    );
  }
}

function coinbaseView({ version, locktime, inputs }: Transaction) {
  const { sequence, scriptSig, witness } = inputs[0]!;
  return {
    version,
    locktime,
    sequence,
    coinbase: scriptSig.toHex(),
    ...(witness.length > 0 && { witness: witness[0]!.toHex() }),
  };
}
