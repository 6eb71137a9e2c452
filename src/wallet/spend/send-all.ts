import { MAX_SEQUENCE_NONFINAL } from '../../consensus/limits.ts';
import { isDust } from '../../policy/dust.ts';
import { feeForSize } from '../../policy/feerate.ts';
import { MAX_BIP125_RBF_SEQUENCE } from '../../policy/rbf.ts';
import { MAX_STANDARD_TX_WEIGHT } from '../../policy/standard-tx.ts';
import { TRUC_VERSION } from '../../policy/truc.ts';
import { hashToHex } from '../../primitives/hash.ts';
import type { Transaction, TxInput, TxOutput } from '../../primitives/transaction.ts';
import { unixSeconds } from '../../util/clock.ts';
import type { Steps } from '../../util/slices.ts';
import { antiSnipingLocktime, isCurrentTip } from '../coin-selection/anti-fee-sniping.ts';
import { chooseFeerate } from '../coin-selection/feerates.ts';
import { type InputSize, maxInputVsize, maxTxWeight, vsizeOfWeight } from '../coin-selection/input-size.ts';
import { versionConflict } from '../coin-selection/preset-inputs.ts';
import { TRUC_CHILD_MAX_WEIGHT } from '../coin-selection/select-coins.ts';
import { selectionRandom } from '../coin-selection/selection-random.ts';
import type { Wallet } from '../wallet.ts';
import { walletFail } from '../wallet-error.ts';
import { feerateSources } from './create-transaction.ts';
import { type FinishedView, type FinishOptions, finishTransaction, lockInputs } from './send.ts';
import { maxWeightOf, type SpendRequest } from './spend-request.ts';
import { findOutputs, InputSizes, spendableCoins, unconfirmedVersion } from './spendable.ts';

const NO_NOTES = { comment: null, commentTo: null };

/** The coins to spend: all, or those worth more than their fee. The change options of the request are ignored. */
export interface SendAllRequest extends SpendRequest {
  /** Indexes of the recipients that share the remainder. */
  readonly sharers: readonly number[];
  readonly onlyWorthwhile: boolean;
  /** Addresses for messages. */
  readonly addresses: readonly string[];
}

/** Spends all coins without change. Core's sendall. Throws WalletError. */
export async function sendAll(wallet: Wallet, request: SendAllRequest, options: FinishOptions): Promise<FinishedView> {
  const tx = await wallet.inSlices(sweep(wallet, request));
  return finishTransaction(wallet, tx, options, NO_NOTES);
}

/** Creates the unsigned transaction. */
function* sweep(wallet: Wallet, request: SendAllRequest): Steps<Transaction> {
  const { deps } = wallet;
  const replaceable = request.replaceable ?? wallet.deps.spending.replaceable;
  const sources = feerateSources(wallet, request.fee, replaceable);
  const fee = chooseFeerate(sources);
  if (!fee.ok) return walletFail(sources.user === null ? 'wallet' : 'invalidParameter', fee.error);
  const { feerate } = fee.value;
  const sequence = replaceable ? MAX_BIP125_RBF_SEQUENCE : MAX_SEQUENCE_NONFINAL;
  const inputs =
    request.inputs.length > 0
      ? yield* namedInputs(wallet, request, sequence)
      : yield* allInputs(wallet, request, feerate, sequence);
  const sizes = new InputSizes(wallet);
  const spent = (yield* findOutputs(wallet, { inputs })) as TxOutput[];
  const total = spent.reduce((sum, { value }) => sum + value, 0n);
  const outputs = request.recipients.map(({ scriptPubKey, value }) => ({ scriptPubKey, value }));
  const measured: { weight: null; size: InputSize | null }[] = [];
  for (const { scriptPubKey } of spent) {
    yield;
    measured.push({ weight: null, size: sizes.ofScript(scriptPubKey) });
  }
  const weight = maxTxWeight(measured, outputs);
  if (weight === null)
    return walletFail(
      'wallet',
      'Unable to determine the size of the transaction, the wallet contains unsolvable descriptors',
    );
  const sizeFee = feeForSize(feerate, vsizeOfWeight(weight));
  const { together } = deps.mempool.bumpFees(
    inputs.map(({ prevout }) => prevout),
    feerate,
  );
  const effective = total - sizeFee - together;
  if (sizeFee > deps.spending.maxFee)
    walletFail('wallet', 'Fee exceeds maximum configured by user (e.g. -maxtxfee, maxfeerate)');
  if (effective <= 0n)
    walletFail(
      'insufficientFunds',
      request.onlyWorthwhile
        ? 'Total value of UTXO pool too low to pay for transaction, try using lower feerate.'
        : "Total value of UTXO pool too low to pay for transaction. Try using lower feerate or excluding uneconomic UTXOs with 'send_max' option.",
    );
  let isChild = false;
  for (const { prevout } of inputs) {
    yield;
    isChild ||= unconfirmedVersion(wallet, prevout) === TRUC_VERSION;
  }
  const maxWeight = maxWeightOf(request) ?? MAX_STANDARD_TX_WEIGHT;
  if (weight > (isChild ? Math.min(maxWeight, TRUC_CHILD_MAX_WEIGHT) : maxWeight))
    walletFail('wallet', 'Transaction too large.');
  const claimed = outputs.reduce((sum, { value }) => sum + value, 0n);
  if (claimed > total) walletFail('insufficientFunds', 'Assigned more value to outputs than available funds.');
  const left = effective - claimed;
  if (left < 0n) walletFail('insufficientFunds', 'Insufficient funds for fees after creating specified outputs.');
  const count = BigInt(request.sharers.length);
  for (const [i, index] of request.sharers.entries())
    outputs[index]!.value = left / count + (i === 0 ? left % count : 0n);
  for (const [i, output] of outputs.entries()) {
    if (!isDust(output, BigInt(deps.fees.dust))) continue;
    if (request.sharers.includes(i))
      walletFail('insufficientFunds', 'Dynamically assigned remainder results in dust output.');
    walletFail('invalidParameter', `Specified output amount to ${request.addresses[i]} is below dust threshold.`);
  }
  const { tip } = deps.chain;
  const current = isCurrentTip(tip.time, unixSeconds(deps.clock), deps.chain.initialSync);
  const usual = inputs.every(
    (input) => input.sequence === MAX_SEQUENCE_NONFINAL || input.sequence === MAX_BIP125_RBF_SEQUENCE,
  );
  const locktime =
    request.locktime ??
    (usual ? antiSnipingLocktime({ height: tip.height, isCurrent: current }, selectionRandom()) : 0);
  const tx: Transaction = { version: request.version, inputs, outputs, locktime };
  lockInputs(wallet, request, tx);
  return tx;
}

function* namedInputs(wallet: Wallet, { inputs, version }: SendAllRequest, usual: number): Steps<TxInput[]> {
  const seen = new Set<string>();
  const found: TxInput[] = [];
  for (const { outpoint, sequence } of inputs) {
    yield;
    const name = `${hashToHex(outpoint.txid)}:${outpoint.vout}`;
    if (seen.has(name)) walletFail('invalidParameter', `Invalid parameter, duplicated input: ${name}`);
    seen.add(name);
    if (wallet.isSpent(outpoint))
      walletFail('invalidParameter', `Input not available. UTXO (${name}) was already spent.`);
    if (wallet.store.txs.coin(outpoint) === null)
      walletFail('invalidParameter', `Input not found. UTXO (${name}) is not part of wallet.`);
    const conflict = versionConflict(unconfirmedVersion(wallet, outpoint), version);
    if (conflict !== null) walletFail('invalidParameter', conflict);
    found.push(emptyInput(outpoint, sequence ?? usual));
  }
  return found;
}

function* allInputs(wallet: Wallet, request: SendAllRequest, feerate: bigint, sequence: number): Steps<TxInput[]> {
  const coins = yield* spendableCoins(wallet, request, feerate);
  return coins
    .filter(
      ({ size, output }) =>
        !request.onlyWorthwhile || (size !== null && feeForSize(feerate, maxInputVsize(size)) <= output.value),
    )
    .map(({ outpoint }) => emptyInput(outpoint, sequence));
}

function emptyInput(prevout: TxInput['prevout'], sequence: number): TxInput {
  return { prevout, scriptSig: new Uint8Array(0), sequence, witness: [] };
}
