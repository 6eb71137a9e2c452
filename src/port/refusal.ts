import type { WalletErrorKind } from '../wallet/wallet-error.ts';

/** The reason why a call was refused, for the RPC interface. */
export interface Refusal {
  readonly refused: RefusalKind;
  /** The message for the caller, in Core's words where Core has some. */
  readonly message: string;
}

type RefusalKind =
  | 'misc'
  | 'internal'
  | 'deserialization'
  | 'invalidAddressOrKey'
  | 'invalidParameter'
  | 'verify'
  | 'invalidParams'
  | 'clientNodeAlreadyAdded'
  | 'clientNodeNotAdded'
  | 'clientNodeNotConnected'
  | 'clientInvalidIpOrSubnet'
  | 'clientNodeCapacityReached'
  | 'clientP2pDisabled'
  | WalletErrorKind;

export function isRefusal(value: unknown): value is Refusal {
  return typeof value === 'object' && value !== null && 'refused' in value;
}
