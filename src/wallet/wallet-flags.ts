/** Core's names of the wallet flags. */
export type WalletFlag =
  | 'avoid_reuse'
  | 'last_hardened_xpub_cached'
  | 'disable_private_keys'
  | 'blank'
  | 'descriptor_wallet'
  | 'external_signer';

/** Returns the flags of a new wallet. */
export function flagsOf({
  disablePrivateKeys,
  blank,
  avoidReuse,
  externalSigner = false,
}: {
  readonly disablePrivateKeys: boolean;
  readonly blank: boolean;
  readonly avoidReuse: boolean;
  readonly externalSigner?: boolean;
}): WalletFlag[] {
  const flags = new Set<WalletFlag>(['descriptor_wallet', 'last_hardened_xpub_cached']);
  if (disablePrivateKeys) flags.add('disable_private_keys');
  // The descriptors of the signer are in it from the beginning.
  if (blank && !externalSigner) flags.add('blank');
  if (externalSigner) flags.add('external_signer');
  if (avoidReuse) flags.add('avoid_reuse');
  return inOrder(flags);
}

/** Core's bit numbers. */
export function inOrder(flags: ReadonlySet<string>): WalletFlag[] {
  const all: WalletFlag[] = [
    'avoid_reuse',
    'last_hardened_xpub_cached',
    'disable_private_keys',
    'blank',
    'descriptor_wallet',
    'external_signer',
  ];
  return all.filter((flag) => flags.has(flag));
}
