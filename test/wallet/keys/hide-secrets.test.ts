import { expect, test } from 'bun:test';
import { hideSecrets } from '../../../src/wallet/keys/hide-secrets.ts';

test('private keys in a message are shortened, and other words stay', () => {
  const wif = 'cUeKHd5orzT3mz8P9pxyREHfsWtVfgsfDjiZZBcjUBAaGk1BTj7N';
  const xprv = `tprv${'8'.repeat(107)}`;
  expect(hideSecrets(`key '${wif}' or ${xprv}/0`)).toBe("key 'cUeK…' or tprv…/0");
  const harmless = 'musig(): derivation requires all participants to be xpubs or xprvs';
  expect(hideSecrets(harmless)).toBe(harmless);
  expect(hideSecrets('02'.repeat(33))).toBe('02'.repeat(33));
  expect(hideSecrets('bcrt1qt7pza5a6n0awfj0shwp7hyyrpqammac6rj05c6')).toContain('bcrt1qt7pza5');
});
