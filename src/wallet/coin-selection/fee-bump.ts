import { moneyText } from '../../consensus/money-text.ts';
import { feeForSize, feeratePerKvB } from '../../policy/feerate.ts';
import type { Amount } from '../../primitives/amount.ts';
import { hashToHex, type Txid } from '../../primitives/hash.ts';
import type { Outpoint } from '../../primitives/outpoint.ts';
import { sumOutputs, type Transaction, type TxOutput } from '../../primitives/transaction.ts';
import type { Result } from '../../util/result.ts';
import type { BuildOutcome, Recipient, TransactionPlan } from './build-transaction.ts';
import { type FeerateSources, minimumFeerate } from './feerates.ts';
import { type MeasuredInput, maxTxWeight, vsizeOfWeight } from './input-size.ts';
import { BUMP_FEES_UNKNOWN } from './select-coins.ts';

/** Kind of error, from which the API derives its code. */
type BumpErrorKind = 'invalid-address-or-key' | 'invalid-parameter' | 'wallet' | 'misc';

/** Core's message. */
export interface BumpError {
  readonly kind: BumpErrorKind;
  readonly message: string;
}

/** State of a transaction in wallet, mempool and chain, from which follows whether it can be bumped. */
export interface BumpStanding {
  readonly txid: Txid;
  /** Whether the wallet spends one of its outputs. */
  readonly spentInWallet: boolean;
  readonly hasMempoolDescendants: boolean;
  /** Confirmations; negative if the chain has a conflicting transaction. */
  readonly depth: number;
  readonly replacedBy: Txid | null;
  readonly allInputsMine: boolean;
}

/** Minimum increase of the feerate, satoshis per 1,000 vB, even if the node requires less. */
const WALLET_INCREMENTAL_RELAY_FEERATE: Amount = 5000n;

function refuse(kind: BumpErrorKind, message: string): { readonly ok: false } & BumpError {
  return { ok: false, kind, message };
}

/** Returns the reason why a transaction cannot be bumped; null if it can be. */
export function checkBumpable(standing: BumpStanding, requireMine: boolean): BumpError | null {
  const { depth, replacedBy, txid } = standing;
  if (standing.spentInWallet)
    return { kind: 'invalid-parameter', message: 'Transaction has descendants in the wallet' };
  if (standing.hasMempoolDescendants)
    return { kind: 'invalid-parameter', message: 'Transaction has descendants in the mempool' };
  if (depth !== 0)
    return { kind: 'wallet', message: 'Transaction has been mined, or is conflicted with a mined transaction' };
  if (replacedBy !== null)
    return {
      kind: 'wallet',
      message: `Cannot bump transaction ${hashToHex(txid)} which was already bumped by transaction ${hashToHex(replacedBy)}`,
    };
  if (requireMine && !standing.allInputsMine)
    return { kind: 'wallet', message: "Transaction contains inputs that don't belong to this wallet" };
  return null;
}

export interface BumpRequest {
  readonly original: Transaction;
  /** Virtual bytes of the original transaction. */
  readonly originalVsize: number;
  readonly standing: BumpStanding;
  /** Spent outputs in the order of the inputs; null for a coin that another transaction of the chain spends. */
  readonly spentOutputs: readonly (TxOutput | null)[];
  /** Sizes of the inputs, in their order. */
  readonly inputSizes: readonly MeasuredInput[];
  readonly requireMine: boolean;
  /** Replacements for the outputs of the original; empty to keep those. */
  readonly outputs: readonly TxOutput[];
  /** Index of the output that pays the fee; null if the user names none. */
  readonly changeIndex: number | null;
  readonly isChange: (output: TxOutput) => boolean;
  /** Feerates of the node and the wallet; `user` is the requested one. */
  readonly feerates: FeerateSources;
  /** Incremental relay feerate of the node, satoshis per 1,000 vB. */
  readonly incrementalRelay: Amount;
  readonly maxFee: Amount;
  readonly combinedBumpFee: (outpoints: readonly Outpoint[], feerate: Amount) => Amount | null;
}

/**
 * Data for building the replacement. It spends all inputs of the original, so that only one of the two can be mined,
 * and adds confirmed coins only (BIP-125).
 */
export interface BumpDraft {
  readonly oldFee: Amount;
  /** Feerate in satoshis per 1,000 vB, as if the user had requested it. */
  readonly feerate: Amount;
  readonly recipients: readonly Recipient[];
  /** Script of the change; null for a new one. */
  readonly changeScript: Uint8Array | null;
}

/** Core's CreateRateBumpTransaction up to the point where the transaction is built. */
export function draftBump(request: BumpRequest): Result<BumpDraft, BumpError> {
  const { original, outputs, changeIndex } = request;
  if (outputs.length > 0 && changeIndex !== null)
    return refuse(
      'invalid-parameter',
      "The options 'outputs' and 'original_change_index' are incompatible. You can only either specify a new set of outputs, or designate a change output to be recycled.",
    );
  if (changeIndex !== null && changeIndex >= original.outputs.length)
    return refuse('invalid-parameter', 'Change position is out of range');
  let inputValue = 0n;
  for (const [i, { prevout }] of original.inputs.entries()) {
    const spent = request.spentOutputs[i];
    if (!spent) return refuse('misc', `${hashToHex(prevout.txid)}:${prevout.vout} is already spent`);
    inputValue += spent.value;
  }
  const unfit = checkBumpable(request.standing, request.requireMine);
  if (unfit !== null) return { ok: false, ...unfit };

  const oldFee = inputValue - sumOutputs(original);
  const newOutputs = outputs.length > 0 ? outputs : original.outputs;
  const paid = payments(newOutputs, request);
  if (paid === null)
    return refuse('invalid-parameter', 'Unable to create transaction. Transaction must have at least one recipient');
  const { user } = request.feerates;
  if (user === null) return { ok: true, value: { oldFee, feerate: steppedFeerate(oldFee, request), ...paid } };
  const tooLow = checkBumpFeerate(newOutputs, user, oldFee, request);
  return tooLow === null ? { ok: true, value: { oldFee, feerate: user, ...paid } } : { ok: false, ...tooLow };
}

/**
 * Returns the recipients of the replacement. Where all outputs are change, the amount less the fee goes there again.
 * Null without any output.
 */
function payments(
  outputs: readonly TxOutput[],
  { changeIndex, isChange }: BumpRequest,
): Pick<BumpDraft, 'recipients' | 'changeScript'> | null {
  const recipients: Recipient[] = [];
  let changeScript: Uint8Array | null = null;
  for (const [i, output] of outputs.entries()) {
    if (changeIndex === null ? isChange(output) : changeIndex === i) changeScript = output.scriptPubKey;
    else recipients.push({ ...output, subtractFee: false });
  }
  if (recipients.length > 0) return { recipients, changeScript };
  if (changeScript === null) return null;
  const value = outputs.reduce((sum, output) => sum + output.value, 0n);
  return { recipients: [{ scriptPubKey: changeScript, value, subtractFee: true }], changeScript: null };
}

/** Returns the feerate of the original plus one increment, or what the wallet would pay otherwise if that is more. */
function steppedFeerate(oldFee: Amount, request: BumpRequest): Amount {
  const { incrementalRelay } = request;
  const step =
    incrementalRelay > WALLET_INCREMENTAL_RELAY_FEERATE ? incrementalRelay : WALLET_INCREMENTAL_RELAY_FEERATE;
  // One satoshi more, since the division rounds down.
  const stepped = feeratePerKvB({ fee: oldFee, vsize: request.originalVsize }) + 1n + step;
  const { feerate } = minimumFeerate(request.feerates);
  return stepped > feerate ? stepped : feerate;
}

/** Returns the reason why the replacement cannot have a feerate; null if it can. */
function checkBumpFeerate(
  outputs: readonly TxOutput[],
  feerate: Amount,
  oldFee: Amount,
  request: BumpRequest,
): BumpError | null {
  const { mempoolMin, walletMin, relayMin } = request.feerates;
  if (feerate < mempoolMin)
    return {
      kind: 'wallet',
      message: `New fee rate (${moneyText(feerate)}) is lower than the minimum fee rate (${moneyText(mempoolMin)}) to get into the mempool -- `,
    };
  const bumpFee = request.combinedBumpFee(
    request.original.inputs.map(({ prevout }) => prevout),
    feerate,
  );
  if (bumpFee === null) return { kind: 'wallet', message: BUMP_FEES_UNKNOWN };
  const weight = maxTxWeight(request.inputSizes, outputs);
  const vsize = weight === null ? -1 : vsizeOfWeight(weight);
  const newFee = feeForSize(feerate, vsize) + bumpFee;
  const increment = feeForSize(request.incrementalRelay, vsize);
  if (newFee < oldFee + increment)
    return {
      kind: 'invalid-parameter',
      message: `Insufficient total fee ${moneyText(newFee)}, must be at least ${moneyText(oldFee + increment)} (oldFee ${moneyText(oldFee)} + incrementalFee ${moneyText(increment)})`,
    };
  const required = feeForSize(walletMin > relayMin ? walletMin : relayMin, vsize);
  if (newFee < required)
    return {
      kind: 'invalid-parameter',
      message: `Insufficient total fee (cannot be less than required fee ${moneyText(required)})`,
    };
  if (newFee > request.maxFee)
    return {
      kind: 'wallet',
      message: `Specified or calculated fee ${moneyText(newFee)} is too high (cannot be higher than -maxtxfee ${moneyText(request.maxFee)})`,
    };
  return null;
}

/** Converts the result of building the replacement. */
export function bumpOutcome(built: BuildOutcome): Result<TransactionPlan, BumpError> {
  return built.ok ? built : refuse('wallet', `Unable to create transaction. ${built.error}`);
}
