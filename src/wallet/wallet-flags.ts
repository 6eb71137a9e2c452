/** Core's names of the wallet flags. */
export type WalletFlag =
  | 'avoid_reuse'
  | 'last_hardened_xpub_cached'
  | 'disable_private_keys'
  | 'blank'
  | 'descriptor_wallet';

/** Returns the flags of a new wallet. */
export function flagsOf({
  disablePrivateKeys,
  blank,
  avoidReuse,
}: {
  readonly disablePrivateKeys: boolean;
  readonly blank: boolean;
  readonly avoidReuse: boolean;
}): WalletFlag[] {
  const flags = new Set<WalletFlag>(['descriptor_wallet', 'last_hardened_xpub_cached']);
  if (disablePrivateKeys) flags.add('disable_private_keys');
  if (blank) flags.add('blank');
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
  ];
  return all.filter((flag) => flags.has(flag));
}
