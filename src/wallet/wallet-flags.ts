/** Core's names of what a wallet may be. */
export type WalletFlag =
  | 'avoid_reuse'
  | 'last_hardened_xpub_cached'
  | 'disable_private_keys'
  | 'blank'
  | 'descriptor_wallet';

/** Those of a wallet that is made. */
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

/** As Core numbers them. */
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
