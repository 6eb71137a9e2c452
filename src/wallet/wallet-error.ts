/** What a wallet cannot do, by the names of the RPC interface's errors. */
export type WalletErrorKind =
  | 'misc'
  | 'type'
  | 'invalidAddressOrKey'
  | 'invalidParameter'
  | 'deserialization'
  | 'verify'
  | 'verifyRejected'
  | 'wallet'
  | 'insufficientFunds'
  | 'invalidLabelName'
  | 'keypoolRanOut'
  | 'unlockNeeded'
  | 'passphraseIncorrect'
  | 'wrongEncryptionState'
  | 'encryptionFailed'
  | 'alreadyUnlocked'
  | 'walletNotFound'
  | 'walletNotSpecified'
  | 'walletAlreadyLoaded'
  | 'walletAlreadyExists';

/** Thrown for the caller; the message is Core's where Core has one, and holds no secret. */
export class WalletError extends Error {
  override readonly name = 'WalletError';
  readonly kind: WalletErrorKind;

  constructor(kind: WalletErrorKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

/** The rows of a wallet's file contradict each other, or its keys or MACs. The message names no secret. */
export class WalletDamage extends Error {
  override readonly name = 'WalletDamage';
}

/** Throws; an expression, so that it can stand behind `??`. */
export function walletFail(kind: WalletErrorKind, message: string): never {
  throw new WalletError(kind, message);
}
