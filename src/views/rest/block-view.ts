import { blockSubsidy } from '../../consensus/subsidy.ts';
import { targetToHex } from '../../consensus/work.ts';
import { fail } from '../../http/errors.ts';
import { sat } from '../../http/sat.ts';
import { hashToHex, isNullHash } from '../../primitives/hash.ts';
import { blockTxids, coinbaseOf } from '../../queries/block-body.ts';
import { blockFacts, hex8, workFields } from '../../queries/block-facts.ts';
import type { ReadEnv } from '../../queries/read-env.ts';
import type { HeaderRecord } from '../../storage/header-store.ts';

/** Returns a block in the form of REST; `summary` omits `txids`. Throws as `rawBlock` does if its body is not stored. */
export function blockView(env: ReadEnv, block: HeaderRecord, { summary = false } = {}) {
  const { stats } = block;
  if (!stats) return fail('block_not_found', 'the body of this block is not stored', { tipHeight: env.tip.height });
  const facts = blockFacts(env, block);
  const { header, medianTime, nextHash } = facts;
  const coinbase = coinbaseOf(env, facts);
  const script = coinbase.tx.inputs[0]!.scriptSig;
  return {
    hash: hashToHex(block.hash),
    height: block.height,
    confirmations: facts.confirmations,
    inActiveChain: facts.inActiveChain,
    previousHash: isNullHash(header.previousHash) ? null : hashToHex(header.previousHash),
    nextHash: nextHash && hashToHex(nextHash),
    version: header.version,
    versionHex: hex8(header.version),
    merkleRoot: hashToHex(header.merkleRoot),
    time: header.time,
    medianTime,
    nonce: header.nonce,
    ...workFields(header.bits),
    chainwork: targetToHex(block.chainwork),
    txCount: stats.txCount,
    size: stats.size,
    strippedSize: stats.strippedSize,
    weight: stats.strippedSize * 3 + stats.size,
    subsidy: sat(blockSubsidy(block.height, env.params.consensus.subsidyHalvingInterval)),
    fees: block.fees,
    reward: stats.reward,
    inputs: stats.inputs,
    outputs: stats.outputs,
    valueOut: stats.valueOut,
    coinbase: { txid: hashToHex(coinbase.txid), scriptHex: script.toHex(), text: printable(script) },
    ...(!summary && { txids: txidList(blockTxids(env, facts)) }),
    receivedAt: block.receivedAt,
  };
}

/** Returns packed hashes of 32 bytes in display order. */
export function txidList(hashes: Uint8Array): string[] {
  const reversed = hashes.toReversed().toHex();
  const list: string[] = [];
  for (let at = reversed.length; at > 0; at -= 64) list.push(reversed.slice(at - 64, at));
  return list;
}

/** Returns the printable ASCII characters of a coinbase script. */
function printable(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes.filter((byte) => byte >= 0x20 && byte <= 0x7e));
}
