import type { WalletErrorKind } from '../wallet/wallet-error.ts';

/** Why an action was not carried out, as the RPC interface tells it. */
export interface Refusal {
  readonly refused: RefusalKind;
  /** For the caller, in Core's words where Core has some. */
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
