import { fail } from '../../../http/errors.ts';
import { checkWalletAllowed, maySeeWallet, walletName, walletOf } from '../../engine/call-wallet.ts';
import { example } from '../../engine/example.ts';
import { type MainThreadEnv, nodeMethod, type RpcMethod } from '../../engine/method.ts';
import { flagParam, largeInteger, optional, secret, textParam } from '../../engine/params.ts';
import { orFail, rpcFail } from '../../engine/rpc-error.ts';
import { arr, bool, maybe, nil, obj, str } from '../../engine/schema.ts';
import { createdWallet, namedWallet } from './wallet-schemas.ts';

const FLAGS = ['avoid_reuse', 'key_origin_metadata', 'last_hardened_xpub_cached', 'disable_private_keys', 'blank'];
const IMMUTABLE_FLAGS = [...FLAGS.slice(1), 'descriptor_wallet', 'external_signer'];
const REUSE_CAVEAT =
  'You need to rescan the blockchain in order to correctly mark used destinations in the past. Until this is done, some destinations may be considered unused, even if the opposite is the case.';
const NOT_ENCRYPTED = 'Empty string given as passphrase, wallet will not be encrypted.';

const startupParam = optional(
  flagParam('load_on_startup', {
    note: 'Whether the wallet is loaded at each start of the node from now on; nothing changes by default.',
  }),
  null,
);

const listwalletdir = nodeMethod({
  name: 'listwalletdir',
  category: 'wallet',
  help: 'Returns the names of all wallets in the directory of wallets, loaded or not.',
  params: [],
  result: obj({
    wallets: arr(
      obj({ name: str('name of the wallet'), warnings: arr(str(), 'empty') }),
      'wallets that the API key may access',
    ),
  }),
  scope: 'wallet.read',
  async run(env) {
    const names = orFail(await env.ctx.node().call('walletDirectory'));
    const visible = names.filter((name) => maySeeWallet(env, name));
    return { wallets: visible.map((name) => ({ name, warnings: [] })) };
  },
});

const createwallet = nodeMethod({
  name: 'createwallet',
  category: 'wallet',
  help: 'Creates a wallet and loads it.',
  params: [
    textParam('wallet_name', { note: 'Name of the new wallet; a path where wallet.pathRoot is set.' }),
    optional(
      flagParam('disable_private_keys', { note: 'Whether the wallet is watch-only and can never hold private keys.' }),
      false,
    ),
    optional(flagParam('blank', { note: 'Whether the wallet is created without keys.' }), false),
    optional(
      secret('passphrase', { note: 'Passphrase that encrypts the private keys; without one they are not encrypted.' }),
      null,
    ),
    optional(
      flagParam('avoid_reuse', {
        note: 'Whether coins on used addresses are treated separately and not mixed with others.',
      }),
      false,
    ),
    optional(flagParam('descriptors', { note: 'Must be true, since legacy wallets are not supported.' }), true),
    startupParam,
    optional(
      flagParam('external_signer', {
        note: 'Whether an external signer (wallet.signer) has the keys; disable_private_keys must be true. The wallet gets the descriptors of the connected signer.',
      }),
      false,
    ),
  ],
  result: createdWallet,
  examples: [
    example(['savings']),
    example({ wallet_name: 'savings', passphrase: 'correct horse battery staple', load_on_startup: true }),
  ],
  scope: 'wallet.keys',
  async run(env, name, disablePrivateKeys, blank, passphrase, avoidReuse, descriptors, onStartup, externalSigner) {
    checkWalletAllowed(env, name);
    if (!descriptors)
      rpcFail(
        'wallet',
        'descriptors argument must be set to "true"; it is no longer possible to create a legacy wallet.',
      );
    const secrets = { passphrase: passphrase ?? new Uint8Array(0), caller: callerOf(env) };
    const wanted = { disablePrivateKeys, blank, avoidReuse, externalSigner, ...secrets };
    orFail(await env.ctx.node().call('walletCreate', name, wanted, onStartup));
    return { name, ...(passphrase?.length === 0 && { warnings: [NOT_ENCRYPTED] }) };
  },
});

const loadwallet = nodeMethod({
  name: 'loadwallet',
  category: 'wallet',
  help: 'Loads a wallet.',
  params: [textParam('filename', { note: 'Name of the wallet; a path where wallet.pathRoot is set.' }), startupParam],
  result: namedWallet,
  examples: [example(['savings']), example(['savings', true])],
  scope: 'wallet.keys',
  async run(env, name, onStartup) {
    checkWalletAllowed(env, name);
    orFail(await env.ctx.node().call('walletLoad', name, onStartup));
    return { name };
  },
});

const unloadwallet = nodeMethod({
  name: 'unloadwallet',
  category: 'wallet',
  help: 'Unloads a wallet. Its files are kept.',
  params: [
    optional(
      textParam('wallet_name', { note: 'Name of the wallet; needed unless the path of the request names it.' }),
      null,
    ),
    startupParam,
  ],
  result: obj({}),
  examples: [example(['savings'])],
  scope: 'wallet.keys',
  async run(env, given, onStartup) {
    const name = uniqueName(env, given);
    checkWalletAllowed(env, name);
    // The node removes the log beside the file where no reader has it open.
    env.ctx.wallets.closeReader(name);
    orFail(await env.ctx.node().call('walletUnload', name, onStartup));
    // The file must be closed when the reply says so.
    env.ctx.wallets.closeUnloaded();
    return {};
  },
});

/** Returns the wallet of the path or of the argument. Throws RpcError if they differ or both are absent. */
function uniqueName({ wallet }: MainThreadEnv, given: string | null): string {
  if (wallet !== null && given !== null && wallet !== given)
    rpcFail('invalidParameter', 'The RPC endpoint wallet and the wallet name parameter specify different wallets');
  return (
    wallet ??
    given ??
    rpcFail('invalidParameter', 'Either the RPC endpoint wallet or the wallet name parameter must be provided')
  );
}

const backupwallet = nodeMethod({
  name: 'backupwallet',
  category: 'wallet',
  help: 'Writes a backup of the wallet into the directory of backups.',
  params: [
    textParam('destination', { note: 'Name of the backup; a path where wallet.pathRoot is set.' }),
    optional(flagParam('replace', { note: 'Whether an existing backup with this name is replaced.' }), false),
  ],
  result: nil(),
  examples: [example(['savings-2026-11.dat'])],
  scope: 'wallet.keys',
  async run(env, file, replace) {
    orFail(await env.ctx.node().call('walletBackup', walletName(env), file, replace));
    return null;
  },
});

const restorewallet = nodeMethod({
  name: 'restorewallet',
  category: 'wallet',
  help: 'Restores a wallet from a file in the directory of backups, and loads it.',
  params: [
    textParam('wallet_name', {
      note: 'Name of the restored wallet, which must not exist yet; a path where wallet.pathRoot is set.',
    }),
    textParam('backup_file', { note: 'Name of the backup; a path where wallet.pathRoot is set.' }),
    startupParam,
  ],
  result: namedWallet,
  examples: [example(['savings', 'savings-2026-11.dat'])],
  scope: 'wallet.keys',
  async run(env, name, file, onStartup) {
    // The backup may be one of any wallet, regardless of the new name.
    if (env.call?.principal.wallets)
      fail('insufficient_scope', 'a key that is bound to wallets cannot restore backups');
    orFail(await env.ctx.node().call('walletRestore', name, file, onStartup));
    return { name };
  },
});

const setwalletflag = nodeMethod({
  name: 'setwalletflag',
  category: 'wallet',
  help: 'Changes a flag of the wallet.',
  params: [
    textParam('flag', { note: 'avoid_reuse; the other flags cannot be changed.' }),
    optional(flagParam('value', { note: 'New state of the flag.' }), true),
  ],
  result: obj({
    flag_name: str('name of the flag'),
    flag_state: bool('new state of the flag'),
    warnings: maybe(str('if value is true')),
  }),
  examples: [example(['avoid_reuse']), example(['avoid_reuse', false])],
  scope: 'wallet.keys',
  async run(env, name, value) {
    const { state, reads } = walletOf(env);
    if (IMMUTABLE_FLAGS.includes(name)) rpcFail('invalidParameter', `Wallet flag is immutable: ${name}`);
    if (!FLAGS.includes(name)) rpcFail('invalidParameter', `Unknown wallet flag: ${name}`);
    if ((reads.meta('flags') ?? []).includes(name) === value)
      rpcFail('invalidParameter', `Wallet flag is already set to ${value}: ${name}`);
    orFail(await env.ctx.node().call('walletSetFlag', state.name, name, value));
    return { flag_name: name, flag_state: value, ...(value && { warnings: REUSE_CAVEAT }) };
  },
});

const encryptwallet = nodeMethod({
  name: 'encryptwallet',
  category: 'wallet',
  help: 'Encrypts the private keys of the wallet with a passphrase and creates a new seed. Earlier backups lack that seed, so a new one is needed.',
  params: [secret('passphrase', { note: 'New passphrase; without it the coins are lost.' })],
  result: str('advice on the next steps'),
  examples: [example(['correct horse battery staple'])],
  scope: 'wallet.keys',
  async run(env, passphrase) {
    orFail(await env.ctx.node().call('walletEncrypt', walletName(env), passphrase, callerOf(env)));
    return 'wallet encrypted; The keypool has been flushed and a new HD seed was generated. You need to make a new backup with the backupwallet RPC.';
  },
});

/** Returns the caller in whose queue passphrases are tried. */
function callerOf({ call }: MainThreadEnv): string {
  return call?.principal.id ?? '';
}

const walletpassphrase = nodeMethod({
  name: 'walletpassphrase',
  category: 'wallet',
  help: 'Unlocks the private keys of the wallet for some time.',
  params: [
    secret('passphrase', { note: 'Passphrase of the wallet.' }),
    largeInteger('timeout', {
      note: 'Seconds until the wallet locks itself again; above 100,000,000 means 100,000,000.',
    }),
  ],
  result: nil(),
  examples: [example(['correct horse battery staple', 60])],
  scope: 'wallet.spend',
  async run(env, passphrase, seconds) {
    orFail(await env.ctx.node().call('walletUnlock', walletName(env), passphrase, seconds, callerOf(env)));
    return null;
  },
});

const walletlock = nodeMethod({
  name: 'walletlock',
  category: 'wallet',
  help: 'Locks the private keys of the wallet.',
  params: [],
  result: nil(),
  scope: 'wallet.spend',
  async run(env) {
    orFail(await env.ctx.node().call('walletLock', walletName(env)));
    return null;
  },
});

const walletpassphrasechange = nodeMethod({
  name: 'walletpassphrasechange',
  category: 'wallet',
  help: 'Changes the passphrase of the wallet.',
  params: [
    secret('oldpassphrase', { note: 'Present passphrase.' }),
    secret('newpassphrase', { note: 'New passphrase.' }),
  ],
  result: nil(),
  examples: [example(['correct horse battery staple', 'a better passphrase'])],
  scope: 'wallet.keys',
  async run(env, old, next) {
    orFail(await env.ctx.node().call('walletChangePassphrase', walletName(env), old, next, callerOf(env)));
    return null;
  },
});

export const walletControlMethods: readonly RpcMethod[] = [
  listwalletdir,
  createwallet,
  loadwallet,
  unloadwallet,
  backupwallet,
  restorewallet,
  setwalletflag,
  encryptwallet,
  walletpassphrase,
  walletlock,
  walletpassphrasechange,
];
