import type { NetworkParams } from '../params/network-params.ts';
import type { Clock } from '../util/clock.ts';
import type { Log } from '../util/log.ts';
import type { NodeVoucher } from './node-voucher.ts';
import type { AddressType } from './scripts/own-descriptors.ts';
import type { ExternalSigner } from './signer/external-signer.ts';
import type { SpendPolicy } from './spend/spend-policy.ts';
import type { WalletChain, WalletFees, WalletMempool } from './wallet-chain.ts';

/** The surroundings of a wallet, and the settings of all wallets. */
export interface WalletDeps {
  readonly params: NetworkParams;
  readonly chain: WalletChain;
  readonly mempool: WalletMempool;
  readonly fees: WalletFees;
  readonly spending: SpendPolicy;
  readonly clock: Clock;
  readonly log: Log;
  /** Number of indexes that are derived ahead of the last used one. */
  readonly keypool: number;
  /** Type of new addresses, and of change addresses; null chooses that of change by the recipients. */
  readonly addressType: AddressType;
  readonly changeType: AddressType | null;
  /** Vouches for encrypted wallets while they are locked. */
  readonly voucher: NodeVoucher;
  /** The program by which wallets of external signers sign. */
  readonly signer: ExternalSigner;
  /** Ends all background work. */
  readonly signal: AbortSignal;
}

/** Options of a new wallet. */
export interface NewWallet {
  readonly disablePrivateKeys: boolean;
  readonly blank: boolean;
  readonly avoidReuse: boolean;
  /** Whether an external signer has the keys; the wallet gets its descriptors. */
  readonly externalSigner?: boolean;
  /** UTF-8, overwritten by the caller; empty for a wallet with unencrypted keys. */
  readonly passphrase: Uint8Array;
  /** The caller, by which passphrase attempts are queued. */
  readonly caller?: string;
}
