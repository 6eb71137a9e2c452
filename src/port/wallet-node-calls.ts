import type { Outpoint } from '../primitives/outpoint.ts';
import type { TxOutput } from '../primitives/transaction.ts';
import type { DerivedKeyView, HdKeyView } from '../wallet/hd-keys.ts';
import type { DescriptorImport, ImportOutcome } from '../wallet/import-descriptors.ts';
import type { PsbtVersion } from '../wallet/psbt/psbt.ts';
import type { ListedSigner } from '../wallet/signer/external-signer.ts';
import type { BumpOptions, BumpView } from '../wallet/spend/bump.ts';
import type { FillOptions } from '../wallet/spend/fill-psbt.ts';
import type { FinishedView, FinishOptions, FundedPsbtView, FundedView, SentView } from '../wallet/spend/send.ts';
import type { SendAllRequest } from '../wallet/spend/send-all.ts';
import type { ProcessedPsbtView, SignedView } from '../wallet/spend/sign-commands.ts';
import type { SpendRequest } from '../wallet/spend/spend-request.ts';
import type { NewWallet } from '../wallet/wallet-options.ts';
import type { Refusal } from './refusal.ts';

/** A descriptor with its private keys and the wallet's data about it. */
interface PrivateDescriptorView {
  readonly id: number;
  readonly text: string;
}

/** The calls that concern wallets. The first argument names the wallet, where there is one. */
export interface WalletCalls {
  /** Resolves when the wallet has reached the tip, or after a time limit. */
  walletSynced: { args: [name: string]; result: null | Refusal };
  walletDirectory: { args: []; result: readonly string[] | Refusal };
  walletCreate: { args: [name: string, options: NewWallet, loadOnStartup: boolean | null]; result: null | Refusal };
  walletLoad: { args: [name: string, loadOnStartup: boolean | null]; result: null | Refusal };
  walletUnload: { args: [name: string, loadOnStartup: boolean | null]; result: null | Refusal };
  walletBackup: { args: [name: string, file: string, replace: boolean]; result: null | Refusal };
  walletRestore: { args: [name: string, file: string, loadOnStartup: boolean | null]; result: null | Refusal };
  walletSetFlag: { args: [name: string, flag: string, on: boolean]; result: null | Refusal };

  /** Passphrases are UTF-8, and are overwritten when the call returns. Attempts are limited per `caller`. */
  walletEncrypt: { args: [name: string, passphrase: Uint8Array, caller: string]; result: null | Refusal };
  /** Unlocks the wallet for a number of seconds. */
  walletUnlock: {
    args: [name: string, passphrase: Uint8Array, seconds: number, caller: string];
    result: null | Refusal;
  };
  walletLock: { args: [name: string]; result: null | Refusal };
  walletChangePassphrase: {
    args: [name: string, old: Uint8Array, next: Uint8Array, caller: string];
    result: null | Refusal;
  };

  /** `type` is null for the configured one. */
  walletNewAddress: { args: [name: string, type: string | null, label: string]; result: string | Refusal };
  walletNewChangeAddress: { args: [name: string, type: string | null]; result: string | Refusal };
  walletRefillKeypool: { args: [name: string, size: number]; result: null | Refusal };
  walletSetLabel: { args: [name: string, address: string, label: string]; result: null | Refusal };
  /**
   * Returns the descriptor of an own script, even of one that was not yet given out; null where the script is not ours.
   */
  walletSolve: { args: [name: string, script: Uint8Array]; result: string | null | Refusal };

  /** Lists the connected external signers. */
  walletSigners: { args: []; result: readonly ListedSigner[] | Refusal };
  /** Resolves when the external signer has confirmed that it displays the address of an own script. */
  walletDisplayAddress: { args: [name: string, script: Uint8Array]; result: null | Refusal };

  walletPrivateDescriptors: { args: [name: string]; result: readonly PrivateDescriptorView[] | Refusal };
  walletImport: {
    args: [name: string, requests: readonly DescriptorImport[]];
    result: readonly ImportOutcome[] | Refusal;
  };
  walletCreateDescriptor: {
    args: [name: string, type: string, internal: boolean | null, key: string | null];
    result: readonly string[] | Refusal;
  };
  /** Rescans up to `to`, or up to the tip; returns the last scanned height. */
  walletRescan: { args: [name: string, from: number, to: number | null]; result: number | Refusal };
  walletAbortScan: { args: [name: string]; result: boolean | Refusal };

  walletLockCoins: {
    args: [name: string, unlock: boolean, outpoints: readonly Outpoint[] | null, persistent: boolean];
    result: null | Refusal;
  };
  /** Sends the transaction when it is complete. A repeated request id returns the txid of the first send. */
  walletSendMoney: {
    args: [
      name: string,
      request: SpendRequest,
      notes: { readonly comment: string | null; readonly commentTo: string | null; readonly requestId: string | null },
    ];
    result: SentView | Refusal;
  };
  walletSend: {
    args: [name: string, request: SpendRequest, finish: FinishOptions, requestId: string | null];
    result: FinishedView | Refusal;
  };
  walletSendAll: {
    args: [name: string, request: SendAllRequest, finish: FinishOptions];
    result: FinishedView | Refusal;
  };
  walletBump: { args: [name: string, txid: Uint8Array, options: BumpOptions]; result: BumpView | Refusal };
  walletFund: { args: [name: string, request: SpendRequest]; result: FundedView | Refusal };
  walletCreatePsbt: {
    args: [name: string, request: SpendRequest, version: PsbtVersion, derivations: boolean];
    result: FundedPsbtView | Refusal;
  };
  walletProcessPsbt: { args: [name: string, psbt: string, options: FillOptions]; result: ProcessedPsbtView | Refusal };
  /**
   * `outputs` are the spent outputs as the caller states them, in input order; `scripts` are redeem and witness
   * scripts.
   */
  walletSignTransaction: {
    args: [
      name: string,
      raw: Uint8Array,
      outputs: readonly (TxOutput | null)[],
      scripts: readonly Uint8Array[],
      hashType: number,
    ];
    result: SignedView | Refusal;
  };
  walletSignMessage: {
    args: [name: string, script: Uint8Array, keyId: Uint8Array, message: string];
    result: string | Refusal;
  };
  walletHdKeys: {
    args: [name: string, activeOnly: boolean, withPrivate: boolean];
    result: readonly HdKeyView[] | Refusal;
  };
  /** Adds an HD key, or creates one where none is given; returns its extended public key. */
  walletAddHdKey: { args: [name: string, key: string | null]; result: string | Refusal };
  walletDeriveHdKey: {
    args: [name: string, path: string, key: string | null, withPrivate: boolean];
    result: DerivedKeyView | Refusal;
  };
  /** Returns the path of the copy. */
  walletExportWatchOnly: { args: [name: string, file: string]; result: string | Refusal };
  /** `index` is the index of the transaction in the block; null where the proof does not include it. */
  walletImportPruned: {
    args: [name: string, raw: Uint8Array, block: Uint8Array, index: number | null];
    result: null | Refusal;
  };
  walletRemovePruned: { args: [name: string, txid: Uint8Array]; result: null | Refusal };
  walletAbandon: { args: [name: string, txid: Uint8Array]; result: null | Refusal };
}
