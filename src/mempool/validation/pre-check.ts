import { checkTransaction } from '../../consensus/check-transaction.ts';
import { checkSpentCoins } from '../../consensus/check-tx-inputs.ts';
import { medianTimePast } from '../../consensus/header-entry.ts';
import { SEQUENCE_LOCKTIME_DISABLE_FLAG } from '../../consensus/limits.ts';
import { calculateSequenceLocks, evaluateSequenceLocks, isFinalTx } from '../../consensus/locktime.ts';
import { reject, type TxRejection } from '../../consensus/rejection.ts';
import { txSigopCost } from '../../consensus/sigops.ts';
import type { SignatureEngine } from '../../crypto/signature-engine.ts';
import { preCheckEphemeralTx } from '../../policy/ephemeral.ts';
import { feeForSize } from '../../policy/feerate.ts';
import {
  checkStandardInputs,
  checkStandardWitness,
  MAX_STANDARD_TX_SIGOPS_COST,
  STANDARD_SCRIPT_FLAGS,
  spendsNonAnchorWitnessProgram,
} from '../../policy/standard-inputs.ts';
import { checkStandardTx } from '../../policy/standard-tx.ts';
import { adjustedWeight, virtualSize } from '../../policy/virtual-size.ts';
import { type ParsedTransaction, weightOf } from '../../primitives/block.ts';
import { type Coin, isCoinbaseCoin } from '../../primitives/coin.ts';
import { hashToHex, type Txid } from '../../primitives/hash.ts';
import type { Outpoint } from '../../primitives/outpoint.ts';
import { hasWitness, isCoinbase, type TxInput } from '../../primitives/transaction.ts';
import { writeUndoRecord } from '../../primitives/undo.ts';
import { DecodedTxContext } from '../../script/decoded-tx-context.ts';
import { scriptErrorMessage } from '../../script/script-error.ts';
import { checkInput } from '../../script/tx-checker.ts';
import { ByteWriter } from '../../util/bytes.ts';
import { IN_MEMPOOL } from '../changes.ts';
import type { ChainView, MempoolCoins } from '../coins-view.ts';
import type { NewEntry } from '../entries.ts';
import type { Mempool } from '../pool.ts';

/** Minimum size without witness: transactions of 64 bytes can be mistaken for merkle tree nodes (CVE-2017-12842). */
const MIN_STANDARD_STRIPPED_SIZE = 65;

/** Options of a validation. */
export interface ValidationOptions {
  /** Skip fee and limit checks, for transactions of disconnected blocks. */
  readonly bypassLimits: boolean;
  readonly allowReplacement: boolean;
  readonly allowSiblingEviction: boolean;
  /** Check the fee later for the whole package. */
  readonly packageFeerates: boolean;
}

/** A transaction that passed all checks except its scripts. It is staged in the graph at `slot`. */
export interface Candidate {
  readonly parsed: ParsedTransaction;
  readonly slot: number;
  readonly coins: readonly Coin[];
  readonly entry: NewEntry;
  readonly modifiedFee: number;
  /** Slots of conflicting entries, and of a sibling to be evicted. */
  readonly conflicts: Set<number>;
  siblingEviction: boolean;
  /** Slots of the parents in the mempool. */
  readonly parents: readonly number[];
}

/** Reason of a rejection, with data that lets a client resolve it. */
export interface RejectionDetails {
  readonly rejection: TxRejection;
  readonly conflicts: readonly Txid[];
  readonly missingInputs: readonly Outpoint[];
  /** Fee in satoshis and virtual bytes, if the fee was too low. */
  readonly paid?: { readonly fee: number; readonly vsize: number };
}

export interface PreCheckDeps {
  readonly mempool: Mempool;
  readonly chain: ChainView;
  readonly engine: SignatureEngine;
}

const rejected = (
  rejection: TxRejection,
  more: Partial<RejectionDetails> = {},
): { ok: false; details: RejectionDetails } => ({
  ok: false,
  details: { rejection, conflicts: [], missingInputs: [], ...more },
});

export type PreCheckResult =
  | { readonly ok: true; readonly candidate: Candidate }
  | { readonly ok: false; readonly details: RejectionDetails };

/** The properties of a transaction that passed the checks without scripts. Amounts in satoshis. */
export interface CheckedFacts {
  /** Spent coins in input order. */
  readonly spent: readonly Coin[];
  readonly weight: number;
  readonly sigopCost: number;
  readonly vsize: number;
  readonly fee: number;
  readonly feeDelta: number;
  /** Slots of conflicting entries. */
  readonly conflicts: Set<number>;
}

/**
 * All checks except scripts, in Core's order (PreChecks). An accepted transaction is staged in the graph without links
 * to its parents; staging must be open. The caller applies the TRUC rules.
 */
export function preCheck(
  parsed: ParsedTransaction,
  coins: MempoolCoins,
  deps: PreCheckDeps,
  options: ValidationOptions,
  time: number,
): PreCheckResult {
  const checked = checkWithoutScripts(parsed, coins, deps, options);
  if (!checked.ok) return checked;
  const { spent, weight, sigopCost, vsize, fee, feeDelta, conflicts } = checked.facts;
  const { mempool, chain } = deps;
  const { tx } = parsed;
  const modifiedFee = fee + feeDelta;
  const parents = new Set<number>();
  for (const { prevout } of tx.inputs) {
    const parent = mempool.entries.find(prevout.txid);
    if (parent >= 0) parents.add(parent);
  }
  const entry: NewEntry = {
    parsed,
    spent: undoRecords(spent, coins.unconfirmedPosition),
    fee,
    feeDelta,
    weight,
    vsize,
    sigopCost,
    time,
    height: chain.tip.height,
    locked: tx.locktime !== 0 || tx.inputs.some(isRelativelyLocked) || spent.some(isCoinbaseCoin),
  };
  const slot = mempool.graph.add(modifiedFee, adjustedWeight(weight, sigopCost, mempool.options.bytesPerSigop));
  return {
    ok: true,
    candidate: {
      parsed,
      slot,
      coins: spent,
      entry,
      modifiedFee,
      conflicts,
      siblingEviction: false,
      parents: [...parents],
    },
  };
}

/** The checks of `preCheck`, which change nothing. */
export function checkWithoutScripts(
  parsed: ParsedTransaction,
  coins: MempoolCoins,
  { mempool, chain }: Pick<PreCheckDeps, 'mempool' | 'chain'>,
  options: ValidationOptions,
): { readonly ok: true; readonly facts: CheckedFacts } | { readonly ok: false; readonly details: RejectionDetails } {
  const { tx, txid, wtxid, strippedSize } = parsed;
  const { entries, options: relay } = mempool;
  const bad = checkTransaction(tx, strippedSize);
  if (bad) return rejected(bad);
  if (isCoinbase(tx)) return rejected(reject('consensus', 'coinbase'));
  const weight = weightOf(parsed);
  if (relay.requireStandard) {
    const nonstandard = checkStandardTx(tx, { weight }, relay);
    if (nonstandard) return rejected(nonstandard);
  }
  if (strippedSize < MIN_STANDARD_STRIPPED_SIZE) return rejected(reject('policy', 'tx-size-small'));

  const { tip } = chain;
  const nextHeight = tip.height + 1;
  const medianTime = medianTimePast(tip);
  if (!isFinalTx(tx, nextHeight, medianTime)) return rejected(reject('premature-spend', 'non-final'));
  if (entries.findWtxid(wtxid) >= 0) return rejected(reject('conflict', 'txn-already-in-mempool'));
  if (entries.find(txid) >= 0) return rejected(reject('conflict', 'txn-same-nonwitness-data-in-mempool'));

  const conflicts = new Set<number>();
  for (const { prevout } of tx.inputs) {
    const spender = entries.spender(prevout);
    if (spender >= 0) conflicts.add(spender);
  }
  const conflicting = () => [...conflicts].map((slot) => entries.txid(slot).slice() as Txid);
  if (conflicts.size > 0 && !options.allowReplacement)
    return rejected(reject('policy', 'bip125-replacement-disallowed'), { conflicts: conflicting() });

  const spent: Coin[] = [];
  const missing: Outpoint[] = [];
  for (const { prevout } of tx.inputs) {
    const coin = coins.get(prevout);
    if (coin) spent.push(coin);
    else missing.push(prevout);
  }
  if (missing.length > 0) {
    for (let vout = 0; vout < tx.outputs.length; vout++)
      if (chain.coin({ txid, vout }) !== null) return rejected(reject('conflict', 'txn-already-known'));
    return rejected(reject('missing-inputs', 'bad-txns-inputs-missingorspent'), { missingInputs: missing });
  }

  if (!evaluateSequenceLocks(calculateSequenceLocks(tx, spent, tip), nextHeight, medianTime))
    return rejected(reject('premature-spend', 'non-BIP68-final'));
  const paid = checkSpentCoins(tx, spent, nextHeight);
  if (!paid.ok) return rejected(paid);
  const outputs = spent.map(({ output }) => output);
  if (relay.requireStandard) {
    const nonstandard = checkStandardInputs(tx, outputs);
    if (nonstandard) return rejected(nonstandard);
    if (tx.inputs.some(hasWitness)) {
      const witness = checkStandardWitness(tx, outputs);
      if (witness) return rejected(witness);
    }
  }
  const sigopCost = txSigopCost(tx, outputs, STANDARD_SCRIPT_FLAGS);
  const fee = Number(paid.value);
  const feeDelta = mempool.feeDelta(txid);
  const modifiedFee = fee + feeDelta;
  const vsize = virtualSize(weight, sigopCost, relay.bytesPerSigop);
  if (relay.requireStandard) {
    const dust = preCheckEphemeralTx(tx, relay.dustFeerate, BigInt(fee), BigInt(modifiedFee));
    if (dust) return rejected(dust);
  }
  if (sigopCost > MAX_STANDARD_TX_SIGOPS_COST)
    return rejected(reject('policy', 'bad-txns-too-many-sigops', String(sigopCost)));
  if (!options.bypassLimits && !options.packageFeerates) {
    const low = checkFeerate(mempool, modifiedFee, vsize);
    if (low) return rejected(low, { conflicts: conflicting(), paid: { fee: modifiedFee, vsize } });
  }
  return { ok: true, facts: { spent, weight, sigopCost, vsize, fee, feeDelta, conflicts } };
}

/** Returns a rejection if a fee (satoshis) is below the mempool's minimum for a virtual size. */
export function checkFeerate(mempool: Mempool, fee: number, vsize: number): TxRejection | null {
  const full = Number(feeForSize(BigInt(mempool.fullFeerate), vsize));
  if (full > 0 && fee < full) return reject('fee', 'mempool min fee not met', `${fee} < ${full}`);
  const least = Number(feeForSize(mempool.options.minRelayFeerate, vsize));
  return fee < least ? reject('fee', 'min relay fee not met', `${fee} < ${least}`) : null;
}

/** Verifies all scripts with the policy flags, which include the consensus flags. */
export function checkScripts({ parsed, coins }: Candidate, engine: SignatureEngine): TxRejection | null {
  const { tx, txid, wtxid } = parsed;
  const outputs = coins.map(({ output }) => output);
  const context = new DecodedTxContext(tx, outputs);
  for (let i = 0; i < tx.inputs.length; i++) {
    const error = checkInput(context, i, STANDARD_SCRIPT_FLAGS, engine);
    if (error === 'OK') continue;
    const { prevout } = tx.inputs[i]!;
    // If all witnesses are missing, another copy of the transaction may be valid.
    const stripped = !tx.inputs.some(hasWitness) && spendsNonAnchorWitnessProgram(tx, outputs);
    return reject(
      stripped ? 'witness-stripped' : 'script',
      `mempool-script-verify-flag-failed (${scriptErrorMessage(error)})`,
      `input ${i} of ${hashToHex(txid)} (wtxid ${hashToHex(wtxid)}), spending ${hashToHex(prevout.txid)}:${prevout.vout}`,
    );
  }
  return null;
}

/** Returns whether an input has a relative lock time (BIP-68), regardless of the transaction version. */
function isRelativelyLocked({ sequence }: TxInput): boolean {
  return sequence < SEQUENCE_LOCKTIME_DISABLE_FLAG;
}

/** Scratch space of one call. */
const writer = new ByteWriter(1024);

function undoRecords(coins: readonly Coin[], unconfirmedPosition: number): Uint8Array {
  writer.reset();
  for (const { position, output } of coins)
    writeUndoRecord(
      writer,
      position === unconfirmedPosition ? IN_MEMPOOL : position,
      output.value,
      output.scriptPubKey,
    );
  return writer.finish().slice();
}
