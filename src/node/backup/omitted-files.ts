import { resolve } from 'node:path';
import type { Config } from '../../config/settings.ts';
import type { OmittedFile } from '../../storage/backup/create-backup.ts';

/**
 * Returns the files of the operator that settings name, which no backup holds: other programs renew them, or they would open
 * the wallets beside them.
 */
export function omittedFiles(
  { http, wallet, webhooks }: Pick<Config, 'http' | 'wallet' | 'webhooks'>,
  env: Readonly<Record<string, string | undefined>>,
): OmittedFile[] {
  const named: readonly (readonly [setting: string, path: string | null | undefined])[] = [
    ['http.tls.cert', http.tls.cert],
    ['http.tls.key', http.tls.key],
    ['wallet.passphraseFile', wallet.passphraseFile],
    ['webhooks.authorities', webhooks.authorities],
    ['OBVERSE_API_KEY_FILE', env.OBVERSE_API_KEY_FILE],
  ];
  return named.flatMap(([setting, path]) => (path ? [{ setting, path: resolve(path) }] : []));
}
