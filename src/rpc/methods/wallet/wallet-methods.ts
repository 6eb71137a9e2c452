import { coins } from '../../../http/core-number.ts';
import type { NetworkParams } from '../../../params/network-params.ts';
import { hashToHex } from '../../../primitives/hash.ts';
import { parseAddress } from '../../../script/address.ts';
import { balancesOf } from '../../../wallet/read/balances.ts';
import type { WalletView } from '../../../wallet/read/wallet-view.ts';
import { nodeMethod } from '../../engine/method.ts';
import { array, flag, integer, optional, readString, text } from '../../engine/params.ts';
import { orFail, rpcFail } from '../../engine/rpc-error.ts';
import { arr, coinAmount, nil, str } from '../../engine/schema.ts';
import { avoidReuseOf, checkLabel, readWallet, visibleWallets, walletName } from './wallet-env.ts';
import { addressesByLabel, walletBalances, walletInfo } from './wallet-shapes.ts';

/** Up to which block the wallet has followed the chain. */
export function lastProcessedBlock({ tipHash, tipHeight }: WalletView) {
  return { hash: hashToHex(tipHash), height: tipHeight };
}

export const getnewaddress = nodeMethod({
  name: 'getnewaddress',
  category: 'wallet',
  help: 'A new address of the wallet.',
  params: [optional(text('label'), ''), optional(text('address_type'), 'bech32')],
  result: str('the address'),
  scope: 'wallet.spend',
  async run(env, label, type) {
    const name = walletName(env);
    return orFail(await env.ctx.node().act('walletNewAddress', name, type, checkLabel(label)));
  },
});

export const getrawchangeaddress = nodeMethod({
  name: 'getrawchangeaddress',
  category: 'wallet',
  help: 'A new address of the wallet for change.',
  params: [optional(text('address_type'), 'bech32')],
  result: str('the address'),
  scope: 'wallet.spend',
  run: async (env, type) => orFail(await env.ctx.node().act('walletNewChangeAddress', walletName(env), type)),
});

export const getbalance = nodeMethod({
  name: 'getbalance',
  category: 'wallet',
  help: 'What the wallet can spend, coins.',
  params: [
    optional(text('dummy', { placeholder: true }), '*'),
    optional(integer('minconf'), 0),
    optional(flag('include_watchonly'), false),
    optional(flag('avoid_reuse'), null),
  ],
  result: coinAmount(),
  scope: 'wallet.read',
  run: (env, dummy, minDepth, _watchOnly, given) =>
    readWallet(env, (view, wallet) => {
      if (dummy !== '*') rpcFail('deprecated', 'dummy first argument must be excluded or set to "*".');
      const avoidReuse = avoidReuseOf(wallet, given);
      return coins(balancesOf(view, { minDepth, avoidReuse, includeNonMempool: false }).trusted);
    }),
});

export const getbalances = nodeMethod({
  name: 'getbalances',
  category: 'wallet',
  help: 'All balances of the wallet, coins.',
  params: [],
  result: walletBalances,
  scope: 'wallet.read',
  run: (env) =>
    readWallet(env, (view, wallet) => {
      const avoidReuse = avoidReuseOf(wallet, null);
      const balances = balancesOf(view, { minDepth: 0, avoidReuse, includeNonMempool: true });
      return {
        mine: {
          trusted: coins(balances.trusted),
          untrusted_pending: coins(balances.untrustedPending),
          immature: coins(balances.immature),
          nonmempool: coins(balances.nonMempool),
          ...(avoidReuse && { used: coins(balances.used) }),
        },
        lastprocessedblock: lastProcessedBlock(view),
      };
    }),
});

export const setlabel = nodeMethod({
  name: 'setlabel',
  category: 'wallet',
  help: 'Gives an address a label.',
  params: [text('address'), text('label')],
  result: nil(),
  scope: 'wallet.spend',
  async run(env, address, label) {
    const name = walletName(env);
    if (!parseAddress(address, env.ctx.params.address).ok) rpcFail('invalidAddressOrKey', 'Invalid Bitcoin address');
    orFail(await env.ctx.node().act('walletSetLabel', name, address, checkLabel(label)));
    return null;
  },
});

export const listlabels = nodeMethod({
  name: 'listlabels',
  category: 'wallet',
  help: 'The labels that addresses have.',
  params: [optional(text('purpose'), '')],
  result: arr(str()),
  scope: 'wallet.read',
  run: (env, purpose) =>
    readWallet(env, ({ reads }) => {
      if (purpose !== '' && purpose !== 'receive' && purpose !== 'send' && purpose !== 'refund')
        return rpcFail(
          'invalidParameter',
          "Invalid 'purpose' argument, must be a known purpose string, typically 'send', or 'receive'.",
        );
      return reads.labels(purpose === '' ? null : purpose);
    }),
});

export const getaddressesbylabel = nodeMethod({
  name: 'getaddressesbylabel',
  category: 'wallet',
  help: 'The addresses with a label.',
  params: [text('label')],
  result: addressesByLabel,
  scope: 'wallet.read',
  run: (env, label) =>
    readWallet(env, ({ reads }) => {
      const entries = reads.labelled(checkLabel(label));
      if (entries.length === 0) rpcFail('invalidLabelName', `No addresses with label ${label}`);
      return Object.fromEntries(entries.map(({ address, purpose }) => [address, { purpose: purpose ?? 'unknown' }]));
    }),
});

export const keypoolrefill = nodeMethod({
  name: 'keypoolrefill',
  category: 'wallet',
  help: 'Derives addresses ahead of the next one; answers when all are there.',
  params: [optional(integer('newsize', { note: 'of each type, at most 100,000; 0 for as many as are configured' }), 0)],
  result: nil(),
  scope: 'wallet.spend',
  async run(env, size) {
    const name = walletName(env);
    if (size < 0) rpcFail('invalidParameter', 'Invalid parameter, expected valid size.');
    orFail(await env.ctx.node().actUntil(env.signal, 'walletRefillKeypool', name, size));
    return null;
  },
});

export const listwallets = nodeMethod({
  name: 'listwallets',
  category: 'wallet',
  help: 'The wallets that are loaded.',
  params: [],
  result: arr(str()),
  scope: 'wallet.read',
  run: (env) => visibleWallets(env).map(({ name }) => name),
});

export const getwalletinfo = nodeMethod({
  name: 'getwalletinfo',
  category: 'wallet',
  help: 'What the wallet is, and its state.',
  params: [],
  result: walletInfo,
  scope: 'wallet.read',
  run: (env) =>
    readWallet(env, (view, { state, reads }) => {
      const flags = reads.meta('flags') ?? [];
      const birthTime = reads.meta('birthTime');
      let [external, internal] = [0, 0];
      for (const { active, internal: side, rangeEnd, nextIndex } of reads.keys.descriptors()) {
        if (active === null) continue;
        if (side) internal += rangeEnd - nextIndex;
        else external += rangeEnd - nextIndex;
      }
      return {
        walletname: state.name,
        walletversion: 169_900,
        format: 'sqlite',
        txcount: reads.txCount(),
        keypoolsize: external,
        keypoolsize_hd_internal: internal,
        ...(state.unlockedUntil !== null && { unlocked_until: state.unlockedUntil }),
        private_keys_enabled: !flags.includes('disable_private_keys'),
        avoid_reuse: flags.includes('avoid_reuse'),
        scanning: state.scanning ?? false,
        descriptors: true,
        external_signer: false,
        blank: flags.includes('blank'),
        ...(birthTime !== null && { birthtime: birthTime }),
        flags,
        lastprocessedblock: lastProcessedBlock(view),
        ...(state.warnings.length > 0 && { warnings: [...state.warnings] }),
      };
    }),
});

/** Addresses of a list, by their scripts in hex. Throws RpcError on one that is none, or given twice. */
export const addressList = array('addresses', readString);

export function scriptsOf(addresses: readonly string[], params: Pick<NetworkParams, 'address'>): Set<string> {
  const scripts = new Set<string>();
  for (const address of addresses) {
    const parsed = parseAddress(address, params.address);
    if (!parsed.ok) return rpcFail('invalidAddressOrKey', `Invalid Bitcoin address: ${address}`);
    const hex = parsed.script.toHex();
    if (scripts.has(hex)) rpcFail('invalidParameter', `Invalid parameter, duplicated address: ${address}`);
    scripts.add(hex);
  }
  return scripts;
}
