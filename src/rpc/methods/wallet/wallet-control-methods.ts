import { fail } from '../../../http/errors.ts';
import { type FrontEnv, nodeMethod } from '../../engine/method.ts';
import { flag, largeInteger, optional, secret, text } from '../../engine/params.ts';
import { orFail, rpcFail } from '../../engine/rpc-error.ts';
import { arr, bool, maybe, nil, obj, str } from '../../engine/schema.ts';
import { checkWalletAllowed, maySeeWallet, walletName, walletOf } from './wallet-env.ts';
import { createdWallet, namedWallet } from './wallet-shapes.ts';

const FLAGS = ['avoid_reuse', 'key_origin_metadata', 'last_hardened_xpub_cached', 'disable_private_keys', 'blank'];
const IMMUTABLE_FLAGS = [...FLAGS.slice(1), 'descriptor_wallet', 'external_signer'];
const REUSE_CAVEAT =
  'You need to rescan the blockchain in order to correctly mark used destinations in the past. Until this is done, some destinations may be considered unused, even if the opposite is the case.';
const NOT_ENCRYPTED = 'Empty string given as passphrase, wallet will not be encrypted.';

export const listwalletdir = nodeMethod({
  name: 'listwalletdir',
  category: 'wallet',
  help: 'The wallets that are there, loaded or not.',
  params: [],
  result: obj({ wallets: arr(obj({ name: str(), warnings: arr(str(), 'always empty') })) }),
  scope: 'wallet.read',
  async run(env) {
    const names = orFail(await env.ctx.node().act('walletDirectory'));
    const visible = names.filter((name) => maySeeWallet(env, name));
    return { wallets: visible.map((name) => ({ name, warnings: [] })) };
  },
});

export const createwallet = nodeMethod({
  name: 'createwallet',
  category: 'wallet',
  help: 'Makes a wallet and loads it.',
  params: [
    text('wallet_name'),
    optional(flag('disable_private_keys'), false),
    optional(flag('blank'), false),
    optional(secret('passphrase'), null),
    optional(flag('avoid_reuse'), false),
    optional(flag('descriptors'), true),
    optional(flag('load_on_startup'), null),
    optional(flag('external_signer'), false),
  ],
  result: createdWallet,
  scope: 'wallet.keys',
  async run(env, name, disablePrivateKeys, blank, passphrase, avoidReuse, descriptors, onStartup, signer) {
    checkWalletAllowed(env, name);
    if (!descriptors)
      rpcFail(
        'wallet',
        'descriptors argument must be set to "true"; it is no longer possible to create a legacy wallet.',
      );
    if (signer) rpcFail('wallet', 'Compiled without external signing support (required for external signing)');
    const secrets = { passphrase: passphrase ?? new Uint8Array(0), caller: callerOf(env) };
    const wanted = { disablePrivateKeys, blank, avoidReuse, ...secrets };
    orFail(await env.ctx.node().act('walletCreate', name, wanted, onStartup));
    return { name, ...(passphrase?.length === 0 && { warnings: [NOT_ENCRYPTED] }) };
  },
});

export const loadwallet = nodeMethod({
  name: 'loadwallet',
  category: 'wallet',
  help: 'Loads a wallet.',
  params: [text('filename'), optional(flag('load_on_startup'), null)],
  result: namedWallet,
  scope: 'wallet.keys',
  async run(env, name, onStartup) {
    checkWalletAllowed(env, name);
    orFail(await env.ctx.node().act('walletLoad', name, onStartup));
    return { name };
  },
});

export const unloadwallet = nodeMethod({
  name: 'unloadwallet',
  category: 'wallet',
  help: 'Unloads a wallet; its file stays.',
  params: [optional(text('wallet_name'), null), optional(flag('load_on_startup'), null)],
  result: obj({}),
  scope: 'wallet.keys',
  async run(env, given, onStartup) {
    const name = uniqueName(env, given);
    checkWalletAllowed(env, name);
    orFail(await env.ctx.node().act('walletUnload', name, onStartup));
    // The file is to be closed when it is said to be.
    env.ctx.wallets.closeUnloaded();
    return {};
  },
});

/** The wallet of the path or of the argument, which must not be two. */
function uniqueName({ wallet }: FrontEnv, given: string | null): string {
  if (wallet !== null && given !== null && wallet !== given)
    rpcFail('invalidParameter', 'The RPC endpoint wallet and the wallet name parameter specify different wallets');
  return (
    wallet ??
    given ??
    rpcFail('invalidParameter', 'Either the RPC endpoint wallet or the wallet name parameter must be provided')
  );
}

export const backupwallet = nodeMethod({
  name: 'backupwallet',
  category: 'wallet',
  help: 'Copies the wallet into the directory of backups, under a name without a path; an existing backup is replaced only on request.',
  params: [text('destination'), optional(flag('replace'), false)],
  result: nil(),
  scope: 'wallet.keys',
  async run(env, file, replace) {
    orFail(await env.ctx.node().act('walletBackup', walletName(env), file, replace));
    return null;
  },
});

export const restorewallet = nodeMethod({
  name: 'restorewallet',
  category: 'wallet',
  help: 'Makes a wallet of a file in the directory of backups, and loads it.',
  params: [text('wallet_name'), text('backup_file'), optional(flag('load_on_startup'), null)],
  result: namedWallet,
  scope: 'wallet.keys',
  async run(env, name, file, onStartup) {
    // A backup may be of any wallet, whatever the name it is restored under.
    if (env.call?.principal.wallets)
      fail('insufficient_scope', 'a key that is bound to wallets cannot restore backups');
    orFail(await env.ctx.node().act('walletRestore', name, file, onStartup));
    return { name };
  },
});

export const setwalletflag = nodeMethod({
  name: 'setwalletflag',
  category: 'wallet',
  help: 'Changes a flag of the wallet: avoid_reuse.',
  params: [text('flag'), optional(flag('value'), true)],
  result: obj({ flag_name: str(), flag_state: bool(), warnings: maybe(str('where it was switched on')) }),
  scope: 'wallet.keys',
  async run(env, name, value) {
    const { state, reads } = walletOf(env);
    if (IMMUTABLE_FLAGS.includes(name)) rpcFail('invalidParameter', `Wallet flag is immutable: ${name}`);
    if (!FLAGS.includes(name)) rpcFail('invalidParameter', `Unknown wallet flag: ${name}`);
    if ((reads.meta('flags') ?? []).includes(name) === value)
      rpcFail('invalidParameter', `Wallet flag is already set to ${value}: ${name}`);
    orFail(await env.ctx.node().act('walletSetFlag', state.name, name, value));
    return { flag_name: name, flag_state: value, ...(value && { warnings: REUSE_CAVEAT }) };
  },
});

export const encryptwallet = nodeMethod({
  name: 'encryptwallet',
  category: 'wallet',
  help: 'Encrypts the private keys of the wallet with a passphrase.',
  params: [secret('passphrase')],
  result: str('what to do now'),
  scope: 'wallet.keys',
  async run(env, passphrase) {
    orFail(await env.ctx.node().act('walletEncrypt', walletName(env), passphrase, callerOf(env)));
    return 'wallet encrypted; The keypool has been flushed and a new HD seed was generated. You need to make a new backup with the backupwallet RPC.';
  },
});

/** In whose turn passphrases are tried. */
function callerOf({ call }: FrontEnv): string {
  return call?.principal.id ?? '';
}

export const walletpassphrase = nodeMethod({
  name: 'walletpassphrase',
  category: 'wallet',
  help: 'Opens the private keys of the wallet for some seconds.',
  params: [secret('passphrase'), largeInteger('timeout')],
  result: nil(),
  scope: 'wallet.spend',
  async run(env, passphrase, seconds) {
    orFail(await env.ctx.node().act('walletUnlock', walletName(env), passphrase, seconds, callerOf(env)));
    return null;
  },
});

export const walletlock = nodeMethod({
  name: 'walletlock',
  category: 'wallet',
  help: 'Closes the private keys of the wallet.',
  params: [],
  result: nil(),
  scope: 'wallet.spend',
  async run(env) {
    orFail(await env.ctx.node().act('walletLock', walletName(env)));
    return null;
  },
});

export const walletpassphrasechange = nodeMethod({
  name: 'walletpassphrasechange',
  category: 'wallet',
  help: 'Changes the passphrase of the wallet.',
  params: [secret('oldpassphrase'), secret('newpassphrase')],
  result: nil(),
  scope: 'wallet.keys',
  async run(env, old, next) {
    orFail(await env.ctx.node().act('walletChangePassphrase', walletName(env), old, next, callerOf(env)));
    return null;
  },
});
