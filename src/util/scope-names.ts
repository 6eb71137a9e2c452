/**
 * The scopes of a key. `admin` includes every other scope; `wallet` is the sum of `wallet.read`, `wallet.spend` and
 * `wallet.keys`, which do not include each other.
 */
export const SCOPES = [
  'read',
  'broadcast',
  'wallet.read',
  'wallet.spend',
  'wallet.keys',
  'wallet',
  'mining',
  'metrics',
  'webhooks',
  'admin',
] as const;
