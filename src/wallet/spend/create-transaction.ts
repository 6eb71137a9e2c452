import { parseTransaction } from '../../primitives/block.ts';
import { hashToHex } from '../../primitives/hash.ts';
import { outpointKey } from '../../primitives/outpoint.ts';
import { type Transaction, transactionBytes } from '../../primitives/transaction.ts';
import { scriptType } from '../../script/templates.ts';
import { unixSeconds } from '../../util/clock.ts';
import type { Result } from '../../util/result.ts';
import type { Steps } from '../../util/slices.ts';
import { isCurrentTip } from '../coin-selection/anti-fee-sniping.ts';
import {
  type BuildOutcome,
  buildTransactionSteps,
  type ChangeDestination,
  type TransactionPlan,
} from '../coin-selection/build-transaction.ts';
import { chooseFeerate, discardFeerate, type FeerateSources } from '../coin-selection/feerates.ts';
import { maxInputVsize } from '../coin-selection/input-size.ts';
import { selectionRandom } from '../coin-selection/selection-random.ts';
import type { AddressType } from '../scripts/own-descriptors.ts';
import { type SignedTransaction, signTransactionSteps } from '../signing/sign-transaction.ts';
import type { Wallet } from '../wallet.ts';
import { walletFail } from '../wallet-error.ts';
import { ensureOwnOutputs } from './own-outputs.ts';
import type { RepeatableRequest } from './repeated-send.ts';
import { type FeeOptions, maxWeightOf, type SpendRequest } from './spend-request.ts';
import { findOutputs, InputSizes, presetInputs, signingDataSteps, spendableCoins } from './spendable.ts';

/** Target of the estimate below which change is never discarded, blocks. */
const FURTHEST_TARGET = 1008;

/** Returns the candidates for the feerate of a transaction. */
export function feerateSources(wallet: Wallet, fee: FeeOptions, replaceable: boolean): FeerateSources {
  const { fees, spending } = wallet.deps;
  // A replaceable transaction can start with a lower fee.
  const conservative = fee.mode === 'unset' ? !replaceable : fee.mode === 'conservative';
  return {
    user: fee.feerate,
    overrideLimits: fee.overrideLimits,
    estimate: fee.feerate === null ? BigInt(fees.estimate(fee.target ?? spending.confirmTarget, conservative)) : 0n,
    fallback: BigInt(fees.fallback),
    mempoolMin: BigInt(fees.mempoolMin),
    walletMin: spending.minFeerate,
    relayMin: BigInt(fees.relayMin),
  };
}

/** Creates an unsigned transaction and reserves its change address. Core's CreateTransaction. */
export function* createTransactionSteps(wallet: Wallet, request: SpendRequest): Steps<BuildOutcome> {
  const { chain, clock, fees, mempool, spending } = wallet.deps;
  const replaceable = request.replaceable ?? spending.replaceable;
  const fee = chooseFeerate(feerateSources(wallet, request.fee, replaceable));
  const feerate = fee.ok ? fee.value.feerate : 0n;
  const sizes = new InputSizes(wallet, request.solvingData);
  // The last entry of a repeated outpoint counts.
  const last = new Map(request.inputs.map((input) => [outpointKey(input.outpoint), input]));
  const inputs = request.inputs.filter((input) => last.get(outpointKey(input.outpoint)) === input);
  const presets = yield* presetInputs(wallet, inputs, sizes, feerate);
  const named = new Set(last.keys());
  const { tip } = chain;
  const coins = request.addInputs ? yield* spendableCoins(wallet, request, feerate, named) : [];
  if (!request.changeScript) yield* wallet.scripts.deriveNextSteps(changeType(wallet, request), true);
  const built = yield* buildTransactionSteps({
    recipients: request.recipients,
    presetInputs: presets,
    coins,
    allowOtherInputs: request.addInputs,
    fee,
    longTermFeerate: spending.consolidateFeerate,
    discardFeerate: discardFeerate(
      BigInt(fees.estimate(FURTHEST_TARGET, false)),
      spending.discardFeerate,
      BigInt(fees.dust),
    ),
    dustFeerate: BigInt(fees.dust),
    change: changeOf(wallet, request, sizes),
    changePosition: request.changePosition,
    txVersion: request.version,
    locktime: request.locktime,
    tip: { height: tip.height, isCurrent: isCurrentTip(tip.time, unixSeconds(clock), chain.initialSync) },
    signalRbf: replaceable,
    maxTxWeight: maxWeightOf(request),
    maxFee: spending.maxFee,
    avoidPartialSpends: spending.avoidPartialSpends || (wallet.hasFlag('avoid_reuse') && request.avoidReuse !== false),
    maxPartialSpendsFee: spending.avoidPartialSpendsMaxFee,
    includeUnsafe: request.includeUnsafe,
    spendZeroConfChange: spending.spendUnconfirmedChange,
    rejectLongChains: spending.rejectLongChains,
    limits: spending.chainLimits,
    random: selectionRandom(),
    combinedBumpFee: (outpoints) => mempool.bumpFees(outpoints, feerate).together,
    onGrouping: ({ plain, grouped, usesGroups }) =>
      wallet.deps.log.debug('fees with and without groups of coins', {
        wallet: wallet.name,
        plain: Number(plain),
        grouped: Number(grouped),
        usesGroups,
      }),
  });
  if (!built.ok) return built;
  const { tx, maxWeight } = built.value;
  const spent = tx.inputs.map(({ prevout }) => prevout);
  // A block that was connected in between may spend a chosen coin.
  for (const outpoint of spent) {
    yield;
    if (!named.has(outpointKey(outpoint)) && wallet.isSpent(outpoint))
      return { ok: false, error: 'A coin was spent while the transaction was made; please try again' };
  }
  const outputs = yield* findOutputs(wallet, tx);
  const paid = tx.outputs.reduce((sum, { value }) => sum + value, built.value.fee);
  const available = outputs.reduce((sum, output) => sum + (output?.value ?? 0n), 0n);
  if (!outputs.includes(null) && available !== paid) {
    wallet.integrity.fail('the amounts of its coins are not those of its transactions');
    return { ok: false, error: wallet.integrity.warnings[0]! };
  }
  if (spending.rejectLongChains && !mempool.hasRoom(spent, maxWeight))
    return { ok: false, error: 'too many unconfirmed transactions in cluster' };
  if (!request.changeScript) yield* wallet.scripts.deriveNextSteps(changeType(wallet, request), true);
  keepChange(wallet, request, built.value);
  return built;
}

function changeOf(
  wallet: Wallet,
  request: SpendRequest,
  sizes: InputSizes,
): Result<ChangeDestination, { readonly error: string }> {
  if (request.changeScript) {
    const size = sizes.ofScript(request.changeScript);
    return { ok: true, value: { scriptPubKey: request.changeScript, spendVsize: size && maxInputVsize(size) } };
  }
  wallet.integrity.ensureSound();
  const type = changeType(wallet, request);
  const owned = wallet.scripts.activeDescriptor(type, true);
  const scriptPubKey = wallet.scripts.peekNextScript(type, true);
  if (!owned || !scriptPubKey) {
    const reason = owned ? 'Keypool ran out, please call keypoolrefill first' : `No ${type} addresses available.`;
    return { ok: false, error: `Transaction needs a change address, but we can't generate it. Error: ${reason}` };
  }
  const size = sizes.ofDescriptor(owned.id);
  return { ok: true, value: { scriptPubKey, spendVsize: size && maxInputVsize(size) } };
}

/** Returns the address type of the change, after the types of the recipients. */
function changeType(wallet: Wallet, { changeType: requested, recipients }: SpendRequest): AddressType {
  if (requested !== null) return requested as AddressType;
  const { addressType, changeType: configured } = wallet.deps;
  if (configured !== null) return configured;
  if (addressType === 'legacy') return 'legacy';
  const types = new Set(recipients.map(({ scriptPubKey }) => scriptType(scriptPubKey).type));
  const has = (type: AddressType) => wallet.scripts.activeDescriptor(type, true) !== null;
  if (has('bech32m') && types.has('witness_v1_taproot')) return 'bech32m';
  if (has('bech32') && types.has('witness_v0_keyhash')) return 'bech32';
  if (has('p2sh-segwit') && types.has('scripthash')) return 'p2sh-segwit';
  if (has('legacy') && types.has('pubkeyhash')) return 'legacy';
  return has('bech32m') ? 'bech32m' : has('bech32') ? 'bech32' : addressType;
}

/** Marks the change address as used. */
function keepChange(wallet: Wallet, request: SpendRequest, { changePosition }: TransactionPlan): void {
  if (changePosition === null || request.changeScript) return;
  wallet.store.write(() => wallet.scripts.newAddress(changeType(wallet, request), true));
}

/** Signs a transaction as far as the wallet can; its keys must be unlocked. */
export function* signOwn(wallet: Wallet, tx: Transaction): Steps<SignedTransaction> {
  yield* ensureOwnOutputs(wallet, tx.outputs);
  const spent = yield* findOutputs(wallet, tx);
  const scripts = spent.flatMap((output) => output?.scriptPubKey ?? []);
  using data = yield* signingDataSteps(wallet, scripts, true);
  return yield* whileUnlocked(wallet, signTransactionSteps(tx, spent, data));
}

/** Runs steps that throw WalletError once the wallet is locked. */
export function* whileUnlocked<T>(wallet: Wallet, steps: Steps<T>): Steps<T> {
  try {
    for (;;) {
      const { done, value } = steps.next();
      if (done) return value;
      yield;
      wallet.ensureUnlocked();
    }
  } finally {
    steps.return(undefined as T);
  }
}

/** Data that is stored with a transaction of the wallet's own. */
export interface SpendNotes {
  readonly comment: string | null;
  readonly commentTo: string | null;
  /** A repeated call with this id sends nothing again. */
  readonly request?: RepeatableRequest | null;
  /** Txid of the transaction that this one replaces. */
  readonly replaces?: Uint8Array | null;
}

/**
 * Adds a signed transaction to the wallet and submits it, unless the operator has disabled that. A transaction that the mempool rejects stays in the wallet
 * and is submitted again later, as in Core. Returns its txid in display order.
 */
export async function commitTransaction(wallet: Wallet, tx: Transaction, notes: SpendNotes): Promise<string> {
  const { store, deps } = wallet;
  const parsed = parseTransaction(transactionBytes(tx));
  const txid = hashToHex(parsed.txid);
  store.write(() => {
    const id = wallet.ledger.addTransaction(parsed, { in: 'nothing' });
    store.txs.setDetails(id, { comment: notes.comment, commentTo: notes.commentTo });
    const original = notes.replaces ? store.txs.byTxid(notes.replaces) : null;
    if (original) store.txs.setReplacement(original.id, original.txid, id, parsed.txid);
    if (notes.request)
      store.requests.addRequest(notes.request.id, txid, notes.request.payment, unixSeconds(deps.clock));
  });
  wallet.sync.watchTransaction(parsed);
  if (!deps.spending.broadcast) return txid;
  const result = await deps.mempool.broadcast(parsed.raw);
  if (result.status !== 'accepted' && result.status !== 'in-mempool')
    deps.log.warn('wallet transaction not accepted by mempool', {
      wallet: wallet.name,
      txid,
      status: result.status,
      ...('rejection' in result && { reason: result.rejection.reason }),
    });
  return txid;
}

/** Throws WalletError unless the wallet can sign. */
export function ensureSigner(wallet: Wallet): void {
  wallet.ensureUnlocked();
  if (wallet.hasFlag('external_signer'))
    walletFail(
      'wallet',
      'Error: sendtoaddress and sendmany are not supported for wallets with external signers; use send instead',
    );
  if (wallet.hasFlag('disable_private_keys')) walletFail('wallet', 'Error: Private keys are disabled for this wallet');
}
