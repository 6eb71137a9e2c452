import { MAX_SEQUENCE_NONFINAL, WITNESS_SCALE_FACTOR } from '../../consensus/limits.ts';
import { moneyText } from '../../consensus/money-text.ts';
import { dustThreshold, isDust } from '../../policy/dust.ts';
import { feeForSize } from '../../policy/feerate.ts';
import { MAX_BIP125_RBF_SEQUENCE } from '../../policy/rbf.ts';
import { MAX_STANDARD_TX_WEIGHT } from '../../policy/standard-tx.ts';
import type { Amount } from '../../primitives/amount.ts';
import { compactSizeLength } from '../../primitives/compact-size.ts';
import { type Outpoint, outpointKey } from '../../primitives/outpoint.ts';
import type { Transaction, TxInput, TxOutput } from '../../primitives/transaction.ts';
import { assert } from '../../util/assert.ts';
import { type RandomBelow, shuffled } from '../../util/random.ts';
import type { Result } from '../../util/result.ts';
import type { Steps } from '../../util/slices.ts';
import { antiSnipingLocktime, type SnipingTip } from './anti-fee-sniping.ts';
import { changeTarget } from './change-target.ts';
import type { FeeReason, FeerateChoice } from './feerates.ts';
import { type MeasuredInput, maxTxWeight, outputSize, vsizeOfWeight } from './input-size.ts';
import { checkPresetInputs, type PresetInput, pricePresetInput, type ScriptSolution } from './preset-inputs.ts';
import { type ChainLimits, type SelectionParams, selectCoins } from './select-coins.ts';
import { changeOf, type Selection, selectedValue, totalBumpFees } from './selection.ts';
import { type PricedCoin, priceCoins, type WalletCoin } from './wallet-coin.ts';

export interface Recipient {
  readonly scriptPubKey: Uint8Array;
  readonly value: Amount;
  /** Whether the fee is taken from this amount, in equal parts with others of the kind. */
  readonly subtractFee: boolean;
}

/** Destination of the change. */
export interface ChangeDestination {
  readonly scriptPubKey: Uint8Array;
  /** Virtual bytes of an input that spends the change; null if unknown. */
  readonly spendVsize: number | null;
}

/** Parameters of a new transaction. Feerates are in satoshis per 1,000 vB. */
export interface BuildRequest {
  readonly recipients: readonly Recipient[];
  /** Inputs that the transaction must have. */
  readonly presetInputs: readonly PresetInput[];
  /** Coins that it may spend, without the preset ones. */
  readonly coins: readonly WalletCoin[];
  readonly allowOtherInputs: boolean;
  readonly fee: FeerateChoice;
  readonly longTermFeerate: Amount;
  /** Result of `discardFeerate`. */
  readonly discardFeerate: Amount;
  /** Dust feerate of the node, for recipients. */
  readonly dustFeerate: Amount;
  /** An error matters only if the transaction needs change. */
  readonly change: Result<ChangeDestination, { readonly error: string }>;
  /** Index of the change among the outputs; null for a random one. */
  readonly changePosition: number | null;
  readonly txVersion: number;
  /** Locktime; null for one that discourages fee sniping. */
  readonly locktime: number | null;
  readonly tip: SnipingTip;
  /** Whether inputs say that the transaction may be replaced (BIP-125). */
  readonly signalRbf: boolean;
  /** Weight limit; null for that of a standard transaction. */
  readonly maxTxWeight: number | null;
  readonly maxFee: Amount;
  readonly avoidPartialSpends: boolean;
  /** Limit of the additional fee for spending all coins of a script at once, satoshis; negative to disable it. */
  readonly maxPartialSpendsFee: Amount;
  readonly includeUnsafe: boolean;
  readonly spendZeroConfChange: boolean;
  readonly rejectLongChains: boolean;
  readonly limits: ChainLimits;
  readonly random: RandomBelow;
  /**
   * Returns the satoshis that bump the unconfirmed ancestors of all these coins together; null if there are too many
   * ancestors.
   */
  readonly combinedBumpFee: (outpoints: readonly Outpoint[]) => Amount | null;
  /** Called with the fees of both transactions where coins are also spent in groups. */
  readonly onGrouping?: (fees: GroupingFees) => void;
}

/** Fees in satoshis without groups of coins and with them, and whether the groups are spent. */
interface GroupingFees {
  readonly plain: Amount;
  readonly grouped: Amount;
  readonly usesGroups: boolean;
}

/** An unsigned transaction. */
export interface TransactionPlan {
  readonly tx: Transaction;
  readonly fee: Amount;
  readonly changePosition: number | null;
  readonly feeReason: FeeReason;
  /** Spent coins in the order of the inputs. */
  readonly coins: readonly PricedCoin[];
  readonly selection: Selection;
  /** Upper bound of the weight of the signed transaction. */
  readonly maxWeight: number;
}

export type BuildOutcome = Result<TransactionPlan, { readonly error: string }>;

/** Core's assumption for change of unknown type: P2WPKH in P2SH. */
const UNKNOWN_CHANGE_SPEND_VSIZE = 91;
const MIN_STANDARD_TX_NONWITNESS_SIZE = 65;
/** Virtual bytes of version, locktime, number of inputs, and of the marker, flag and item counts of witnesses. */
const TX_OVERHEAD_VSIZE = 10;

const failed = (error: string): { readonly ok: false; readonly error: string } => ({ ok: false, error });

/**
 * Returns a transaction that pays the recipients. A second attempt spends all coins of a script at once, and wins if it
 * costs little more. Errors are Core's. The caller signs the transaction and checks the limits of the mempool.
 */
export function* buildTransactionSteps(request: BuildRequest): Steps<BuildOutcome> {
  const { recipients, avoidPartialSpends, maxPartialSpendsFee } = request;
  if (recipients.length === 0) return failed('Transaction must have at least one recipient');
  if (recipients.some(({ value }) => value < 0n)) return failed('Transaction amounts must not be negative');
  const plain = yield* buildOnce(request);
  if (!plain.ok || plain.value.fee <= 0n || maxPartialSpendsFee < 0n || avoidPartialSpends) return plain;
  yield;
  const grouped = yield* buildOnce({ ...request, avoidPartialSpends: true });
  if (!grouped.ok) return plain;
  const usesGroups = grouped.value.fee <= plain.value.fee + maxPartialSpendsFee;
  request.onGrouping?.({ plain: plain.value.fee, grouped: grouped.value.fee, usesGroups });
  return usesGroups ? grouped : plain;
}

function* buildOnce(request: BuildRequest): Steps<BuildOutcome> {
  const { recipients, presetInputs, random, change } = request;
  const maxWeight = request.maxTxWeight ?? MAX_STANDARD_TX_WEIGHT;
  const minWeight = MIN_STANDARD_TX_NONWITNESS_SIZE * WITNESS_SCALE_FACTOR;
  if (maxWeight < minWeight || maxWeight > MAX_STANDARD_TX_WEIGHT)
    return failed(`Maximum transaction weight must be between ${minWeight} and ${MAX_STANDARD_TX_WEIGHT}`);
  if (recipients.some((recipient) => isDust(recipient, request.dustFeerate)))
    return failed('Transaction amount too small');
  if (!request.fee.ok) return request.fee;

  const { feerate, reason } = request.fee.value;
  const params = selectionParams(request, feerate, maxWeight);
  const recipientsSum = recipients.reduce((sum, { value }) => sum + value, 0n);
  const nonInputFee = params.subtractFeeOutputs ? 0n : feeForSize(feerate, params.txNoInputsSize);
  const target = recipientsSum + nonInputFee;
  if (target === 0n && presetInputs.length === 0)
    return failed(
      'Transaction requires one destination of non-zero value, a non-zero feerate, or a pre-selected input',
    );
  const refused = checkPresetInputs(presetInputs, request.txVersion);
  if (refused !== null) return failed(refused);
  const preset = presetInputs.map((input) => pricePresetInput(input, feerate));
  const available = request.allowOtherInputs ? request.coins : [];
  const selected = yield* selectCoins(available, preset, target, request.allowOtherInputs, params);
  if (!selected.ok) {
    if (selected.error !== '') return selected;
    return failed(yield* shortfall(available, preset, recipientsSum, target, feerate));
  }
  const selection = selected.value;

  yield;
  const outputs: TxOutput[] = recipients.map(({ scriptPubKey, value }) => ({ scriptPubKey, value }));
  const changeAmount = changeOf(selection, params);
  let changePosition: number | null = null;
  if (changeAmount > 0n) {
    changePosition = request.changePosition ?? random(outputs.length + 1);
    if (changePosition > outputs.length) return failed('Transaction change output index out of range');
    const scriptPubKey = change.ok ? change.value.scriptPubKey : new Uint8Array(0);
    outputs.splice(changePosition, 0, { scriptPubKey, value: changeAmount });
  }

  yield;
  const ordered = orderedCoins(selection, presetInputs, random);
  yield;
  const { inputs, locktime } = makeInputs(ordered, request);
  yield;
  const measured = maxTxWeight(measuredInputs(ordered, request), outputs);
  if (measured === null) return failed('Missing solving data for estimating transaction size');
  yield;
  const feeNeeded = feeForSize(feerate, vsizeOfWeight(measured)) + totalBumpFees(selection);
  const adjusted = settleFee(outputs, selectedValue(selection), feeNeeded, changePosition, request);
  if (!adjusted.ok) return adjusted;
  if (changePosition !== null && !change.ok) return failed(change.error);
  if (measured > MAX_STANDARD_TX_WEIGHT) return failed('Transaction too large');
  const fee = adjusted.value;
  if (fee > request.maxFee) return failed('Fee exceeds maximum configured by user (e.g. -maxtxfee, maxfeerate)');
  const tx = { version: request.txVersion, inputs, outputs, locktime };
  return {
    ok: true,
    value: { tx, fee, changePosition, feeReason: reason, coins: ordered, selection, maxWeight: measured },
  };
}

function selectionParams(request: BuildRequest, feerate: Amount, maxTxWeight: number): SelectionParams {
  const { recipients, change, discardFeerate, random } = request;
  const script = change.ok ? change.value.scriptPubKey : new Uint8Array(0);
  const changeOutputSize = outputSize({ scriptPubKey: script });
  const spendVsize = (change.ok ? change.value.spendVsize : null) ?? UNKNOWN_CHANGE_SPEND_VSIZE;
  const changeFee = feeForSize(feerate, changeOutputSize);
  const spendFee = feeForSize(discardFeerate, spendVsize);
  const dust = dustThreshold({ scriptPubKey: script }, discardFeerate);
  const average = recipients.reduce((sum, { value }) => sum + value, 0n) / BigInt(recipients.length);
  const outputSizes = recipients.reduce((sum, recipient) => sum + outputSize(recipient), 0);
  return {
    feerates: { effective: feerate, longTerm: request.longTermFeerate },
    changeOutputSize,
    changeFee,
    costOfChange: spendFee + changeFee,
    minViableChange: spendFee + 1n > dust ? spendFee + 1n : dust,
    minChangeTarget: changeTarget(average, changeFee, random),
    txNoInputsSize: TX_OVERHEAD_VSIZE + compactSizeLength(recipients.length) + outputSizes,
    maxTxWeight,
    txVersion: request.txVersion,
    subtractFeeOutputs: recipients.some(({ subtractFee }) => subtractFee),
    avoidPartialSpends: request.avoidPartialSpends,
    includeUnsafe: request.includeUnsafe,
    spendZeroConfChange: request.spendZeroConfChange,
    rejectLongChains: request.rejectLongChains,
    limits: request.limits,
    random,
    combinedBumpFee: request.combinedBumpFee,
  };
}

/** Returns the reason for a failed selection: the coins do not cover the amount, or they do not cover the fee. */
function* shortfall(
  available: readonly WalletCoin[],
  preset: readonly PricedCoin[],
  recipientsSum: Amount,
  target: Amount,
  feerate: Amount,
): Steps<string> {
  let balance = preset.reduce((sum, { output }) => sum + output.value, 0n);
  let effective = preset.reduce((sum, { effectiveValue }) => sum + effectiveValue, 0n);
  for (const { output, effectiveValue } of yield* priceCoins(available, { effective: feerate, longTerm: 0n })) {
    balance += output.value;
    effective += effectiveValue;
  }
  if (balance >= recipientsSum && effective < target)
    return `The total exceeds your balance when the ${moneyText(target - recipientsSum)} transaction fee is included.`;
  return 'Insufficient funds';
}

/** Returns the preset inputs in the order of the request, then the others in random order. */
function orderedCoins({ coins }: Selection, presetInputs: readonly PresetInput[], random: RandomBelow): PricedCoin[] {
  const positions = new Map(presetInputs.map(({ outpoint, position }) => [outpointKey(outpoint), position]));
  // Looked up once for each coin, not in each comparison.
  const placed = shuffled(coins, random).map((coin) => ({
    coin,
    position: positions.get(outpointKey(coin.outpoint)) ?? Number.POSITIVE_INFINITY,
  }));
  placed.sort((a, b) => (a.position === b.position ? 0 : a.position - b.position));
  return placed.map(({ coin }) => coin);
}

function makeInputs(
  coins: readonly PricedCoin[],
  request: BuildRequest,
): { readonly inputs: readonly TxInput[]; readonly locktime: number } {
  const presets = new Map(request.presetInputs.map((input) => [outpointKey(input.outpoint), input]));
  const defaultSequence = request.signalRbf ? MAX_BIP125_RBF_SEQUENCE : MAX_SEQUENCE_NONFINAL;
  const none: ScriptSolution = { scriptSig: new Uint8Array(0), witness: [] };
  const inputs = coins.map(({ outpoint }) => {
    const preset = presets.get(outpointKey(outpoint));
    const { scriptSig, witness } = preset?.solution ?? none;
    return { prevout: outpoint, scriptSig, sequence: preset?.sequence ?? defaultSequence, witness };
  });
  if (request.locktime !== null) return { inputs, locktime: request.locktime };
  // A caller who sets sequences depends on them.
  const chosen = coins.some(({ outpoint }) => (presets.get(outpointKey(outpoint))?.sequence ?? null) !== null);
  return { inputs, locktime: chosen ? 0 : antiSnipingLocktime(request.tip, request.random) };
}

function measuredInputs(coins: readonly PricedCoin[], { presetInputs }: BuildRequest): MeasuredInput[] {
  const presets = new Map<string, MeasuredInput>(presetInputs.map((input) => [outpointKey(input.outpoint), input]));
  return coins.map(({ outpoint, size }) => presets.get(outpointKey(outpoint)) ?? { weight: null, size });
}

/** Makes the outputs pay exactly the fee that is needed, or more where there is no change. Yields the fee. */
function settleFee(
  outputs: TxOutput[],
  inputValue: Amount,
  feeNeeded: Amount,
  changePosition: number | null,
  request: BuildRequest,
): Result<Amount, { readonly error: string }> {
  const paid = () => inputValue - outputs.reduce((sum, { value }) => sum + value, 0n);
  assert(paid() >= 0n, 'fee is not negative');
  if (changePosition !== null && feeNeeded < paid()) {
    const output = outputs[changePosition]!;
    outputs[changePosition] = { ...output, value: output.value + paid() - feeNeeded };
  }
  const payers = request.recipients.filter(({ subtractFee }) => subtractFee).length;
  if (payers > 0) {
    const reduce = feeNeeded - paid();
    const share = reduce / BigInt(payers);
    let remainder = reduce % BigInt(payers);
    for (const [i, { subtractFee }] of request.recipients.entries()) {
      if (!subtractFee) continue;
      const at = changePosition !== null && i >= changePosition ? i + 1 : i;
      const output = { ...outputs[at]!, value: outputs[at]!.value - share - remainder };
      // The first output also pays the remainder of the division.
      remainder = 0n;
      outputs[at] = output;
      if (!isDust(output, request.dustFeerate)) continue;
      return failed(
        output.value < 0n
          ? 'The transaction amount is too small to pay the fee'
          : 'The transaction amount is too small to send after the fee has been deducted',
      );
    }
  }
  assert(feeNeeded <= paid(), 'the fee is paid');
  return { ok: true, value: paid() };
}
