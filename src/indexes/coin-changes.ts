import { isBip30Unspendable } from '../consensus/bip30.ts';
import { blockSubsidy } from '../consensus/subsidy.ts';
import { MuHash3072, type MuHashChange } from '../crypto/muhash.ts';
import type { ParsedBlock } from '../primitives/block.ts';
import { coinHeight, isCoinbaseCoin } from '../primitives/coin.ts';
import { compactSizeLength } from '../primitives/compact-size.ts';
import { encodeOutput } from '../primitives/transaction.ts';
import { readTxUndo } from '../primitives/undo.ts';
import { isUnspendableAt } from '../script/templates.ts';
import type { BlockAmounts } from '../storage/coin-stats-store.ts';
import { bogoSize, setElementCode } from '../storage/utxo-hash.ts';
import { ByteReader, ByteWriter } from '../util/bytes.ts';

/** How a block changes the UTXO set. */
export interface CoinChanges {
  readonly muhash: MuHashChange;
  /** Change of the number of outputs, of the bogosize, and of the value in satoshis. */
  readonly txouts: number;
  readonly bogosize: number;
  readonly value: bigint;
  readonly amounts: BlockAmounts;
}

const OUTPOINT_SIZE = 36;
const TXID_SIZE = 32;
const VALUE_SIZE = 8;

/** Returns how a block changes the UTXO set. `undo` is its undo data. Calls `onProgress` for each transaction. */
export function coinChanges(
  block: ParsedBlock,
  undo: Uint8Array,
  { height, halvingInterval, onProgress }: { height: number; halvingInterval: number; onProgress: () => void },
): CoinChanges {
  const { raw, columns, txids } = block;
  const { txCount, firstInput, firstOutput, prevoutAt, scriptAt, scriptEnd, value: values } = columns;
  const subsidy = blockSubsidy(height, halvingInterval);
  const set = new MuHash3072();
  const w = new ByteWriter(1024);
  const r = new ByteReader(undo);
  const lost = isBip30Unspendable(block.hash, height);
  let txouts = 0;
  let bogosize = 0;
  let prevoutSpent = 0n;
  let coinbase = 0n;
  let newOutputs = 0n;
  let scripts = 0n;
  // The coinbase of the genesis block never was a coin.
  for (let i = height === 0 ? txCount : 0; i < txCount; i++) {
    onProgress();
    // As in Core, the outputs of an overwritten coinbase were never in the set.
    if (i === 0 && lost) continue;
    for (let output = firstOutput[i]!; output < firstOutput[i + 1]!; output++) {
      const from = scriptAt[output]!;
      const to = scriptEnd[output]!;
      const value = BigInt(values[output]!);
      if (isUnspendableAt(raw, from, to)) {
        scripts += value;
        continue;
      }
      w.reset();
      w.slice(txids, i * TXID_SIZE, i * TXID_SIZE + TXID_SIZE);
      w.u32(output - firstOutput[i]!);
      w.u32(setElementCode(height, i === 0));
      // The encoding of the output.
      w.slice(raw, from - compactSizeLength(to - from) - VALUE_SIZE, to);
      set.insert(w.finish());
      txouts++;
      bogosize += bogoSize(to - from);
      if (i === 0) coinbase += value;
      else newOutputs += value;
    }
    if (i === 0) continue;
    const input = firstInput[i]!;
    const spent = readTxUndo(r, firstInput[i + 1]! - input);
    for (let n = 0; n < spent.length; n++) {
      const coin = spent[n]!;
      const at = prevoutAt[input + n]!;
      w.reset();
      w.slice(raw, at, at + OUTPOINT_SIZE);
      w.u32(setElementCode(coinHeight(coin), isCoinbaseCoin(coin)));
      encodeOutput(w, coin.output);
      set.remove(w.finish());
      txouts--;
      bogosize -= bogoSize(coin.output.scriptPubKey.length);
      prevoutSpent += coin.output.value;
    }
  }
  const genesis = height === 0 ? subsidy : 0n;
  const bip30 = lost ? subsidy : 0n;
  const unclaimed = prevoutSpent + subsidy - newOutputs - coinbase - genesis - bip30 - scripts;
  return {
    muhash: set.change,
    txouts,
    bogosize,
    value: coinbase + newOutputs - prevoutSpent,
    amounts: { prevoutSpent, coinbase, newOutputs, genesis, bip30, scripts, unclaimed },
  };
}
