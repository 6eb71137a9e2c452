import { parseTransaction, weightOf } from '../../primitives/block.ts';
import type { Txid } from '../../primitives/hash.ts';
import type { Transaction, TxOutput } from '../../primitives/transaction.ts';
import type { AsciiText } from '../../util/ascii-text.ts';
import type { RpcErrorName } from '../../util/rpc-error-codes.ts';
import type { Steps } from '../../util/slices.ts';
import { type BumpDraft, bumpOutcome, draftBump } from '../coin-selection/fee-bump.ts';
import type { MeasuredInput } from '../coin-selection/input-size.ts';
import { maxSignedInputWeight } from '../coin-selection/signed-input-weight.ts';
import { encodePsbtBase64Steps } from '../psbt/encode.ts';
import type { PsbtVersion } from '../psbt/psbt.ts';
import { extractTransactionSteps } from '../psbt/sign-psbt.ts';
import { WalletView } from '../read/wallet-view.ts';
import { contextOf } from '../signing/sign-transaction.ts';
import { TxStateCode } from '../store/wallet-schema.ts';
import type { WalletTxRecord } from '../store/wallet-tx-reads.ts';
import type { Wallet } from '../wallet.ts';
import { WalletError, walletFail } from '../wallet-error.ts';
import { commitTransaction, createTransactionSteps, feerateSources, signOwn } from './create-transaction.ts';
import { fillAndSign } from './fill-psbt.ts';
import { rememberBumpDraft } from './repeated-send.ts';
import { psbtOf } from './send.ts';
import { type FeeOptions, ORDINARY_SPEND } from './spend-request.ts';
import { findUnspent, InputSizes } from './spendable.ts';

export interface BumpOptions {
  readonly fee: FeeOptions;
  readonly replaceable: boolean;
  /** Replace the outputs of the original; empty keeps them. */
  readonly outputs: readonly TxOutput[];
  readonly changeIndex: number | null;
  /** Null: the replacement is signed and sent. */
  readonly psbtVersion: PsbtVersion | null;
}

export interface BumpView {
  readonly txid: string | null;
  readonly psbt: AsciiText | null;
  /** Satoshis. */
  readonly oldFee: number;
  readonly newFee: number;
}

const ERROR_KINDS: Readonly<Record<string, RpcErrorName>> = {
  'invalid-address-or-key': 'invalidAddressOrKey',
  'invalid-parameter': 'invalidParameter',
  wallet: 'wallet',
  misc: 'misc',
};

/** Replaces a transaction by one that pays a higher fee. Core's bumpfee and psbtbumpfee. Throws WalletError. */
export async function bumpTransaction(wallet: Wallet, txid: Uint8Array, options: BumpOptions): Promise<BumpView> {
  const { store } = wallet;
  const requireMine = options.psbtVersion === null;
  const signsExternally = wallet.hasFlag('external_signer');
  if (wallet.hasFlag('disable_private_keys') && !signsExternally && requireMine)
    walletFail(
      'wallet',
      'bumpfee is not available with wallets that have private keys disabled. Use psbtbumpfee instead.',
    );
  wallet.ensureUnlocked();
  const record = store.txs.byTxid(txid) ?? walletFail('invalidAddressOrKey', 'Invalid or non-wallet transaction id');
  const { original, inputWeights, draft } = await wallet.inSlices(draftReplacement(wallet, record, options));
  const { recipients, changeScript, feerate, oldFee } = draft;
  const built = bumpOutcome(
    await wallet.inSlices(
      createTransactionSteps(wallet, {
        ...ORDINARY_SPEND,
        recipients,
        inputs: original.inputs.map(({ prevout }, i) => ({
          outpoint: prevout,
          sequence: null,
          weight: inputWeights[i]!,
        })),
        // BIP-125: a replacement adds confirmed coins only.
        minDepth: 1,
        fee: { ...options.fee, feerate, overrideLimits: false },
        replaceable: options.replaceable,
        changeScript,
      }),
    ),
  );
  if (!built.ok) return walletFail(ERROR_KINDS[built.kind]!, built.message);
  const fees = { oldFee: Number(oldFee), newFee: Number(built.value.fee) };
  if (options.psbtVersion !== null) {
    rememberBumpDraft(wallet, txid, built.value.tx);
    const psbt = await wallet.inSlices(psbtOf(wallet, built.value.tx, options.psbtVersion));
    return { txid: null, psbt: await wallet.inSlices(encodePsbtBase64Steps(psbt)), ...fees };
  }
  const tx = await (signsExternally ? signedExternally : signedByWallet)(wallet, built.value.tx);
  if (store.txs.byTxid(txid)!.state === TxStateCode.CONFIRMED)
    walletFail('wallet', 'Transaction has been mined, or is conflicted with a mined transaction');
  const { comment, commentTo } = record;
  const sent = await commitTransaction(wallet, tx, { comment, commentTo, replaces: txid });
  return { txid: sent, psbt: null, ...fees };
}

async function signedByWallet(wallet: Wallet, unsigned: Transaction): Promise<Transaction> {
  const { tx, errors } = await wallet.inSlices(signOwn(wallet, unsigned));
  return errors.size > 0 ? walletFail('wallet', "Can't sign transaction.") : tx;
}

async function signedExternally(wallet: Wallet, unsigned: Transaction): Promise<Transaction> {
  const incomplete = () => walletFail('wallet', 'Transaction incomplete. Try psbtbumpfee instead.');
  const psbt = await wallet.inSlices(psbtOf(wallet, unsigned, 2));
  const signed = await fillAndSign(wallet, psbt, { sign: true, derivations: true }).catch((error) => {
    // The log has the reason.
    if (error instanceof WalletError && error.kind === 'verify') return incomplete();
    throw error;
  });
  const tx = signed.complete ? await wallet.inSlices(extractTransactionSteps(signed.psbt)) : null;
  return tx ?? incomplete();
}

/** Collects the data for the replacement, one input or output of the original in each step. Throws WalletError. */
function* draftReplacement(
  wallet: Wallet,
  record: WalletTxRecord,
  options: BumpOptions,
): Steps<{ original: Transaction; inputWeights: readonly (number | null)[]; draft: BumpDraft }> {
  const { store, deps } = wallet;
  const parsed = parseTransaction(store.txs.raw(record.id));
  const { tx: original, txid } = parsed;
  const view = new WalletView(store.reads);
  const sizes = new InputSizes(wallet);
  const spentOutputs: (TxOutput | null)[] = [];
  let allInputsMine = true;
  for (const { prevout } of original.inputs) {
    yield;
    spentOutputs.push(findUnspent(wallet, prevout));
    allInputsMine &&= store.txs.coin(prevout) !== null;
  }
  const context = contextOf(original, spentOutputs);
  const inputSizes: MeasuredInput[] = [];
  for (const [i, output] of spentOutputs.entries()) {
    yield;
    const size = output && sizes.ofScript(output.scriptPubKey);
    // The size of another signer's input follows from its present signature.
    inputSizes.push(
      size ? { weight: null, size } : { weight: output && maxSignedInputWeight(context, i), size: null, output },
    );
  }
  let spentInWallet = false;
  for (let vout = 0; vout < original.outputs.length && !spentInWallet; vout++) {
    yield;
    spentInWallet = wallet.isSpent({ txid, vout });
  }
  const change = new Set<TxOutput>();
  for (const output of options.outputs.length > 0 ? options.outputs : original.outputs) {
    yield;
    if (view.isChange(output.scriptPubKey, deps.params)) change.add(output);
  }
  yield;
  const draft = draftBump({
    original,
    originalVsize: Math.ceil(weightOf(parsed) / 4),
    standing: {
      txid,
      spentInWallet,
      hasMempoolDescendants: deps.mempool.standing(txid)?.hasDescendants ?? false,
      depth: view.depth(record),
      replacedBy: record.replacedBy as Txid | null,
      allInputsMine,
    },
    spentOutputs,
    inputSizes,
    requireMine: options.psbtVersion === null,
    outputs: options.outputs,
    changeIndex: options.changeIndex,
    isChange: (output) => change.has(output),
    feerates: feerateSources(wallet, options.fee, options.replaceable),
    incrementalRelay: BigInt(deps.fees.incremental),
    maxFee: deps.spending.maxFee,
    combinedBumpFee: (outpoints, feerate) => deps.mempool.bumpFees(outpoints, feerate).together,
  });
  if (!draft.ok) return walletFail(ERROR_KINDS[draft.kind]!, draft.message);
  return { original, inputWeights: inputSizes.map(({ weight }) => weight), draft: draft.value };
}
