import { coins } from '../../../http/core-number.ts';
import type { NetworkParams } from '../../../params/network-params.ts';
import { hashToHex } from '../../../primitives/hash.ts';
import { parseAddress } from '../../../script/address.ts';
import { balancesOf } from '../../../wallet/read/balances.ts';
import type { WalletView } from '../../../wallet/read/wallet-view.ts';
import {
  avoidReuseOf,
  checkLabel,
  readWallet,
  visibleWallets,
  WATCH_ONLY_NOTE,
  walletName,
} from '../../engine/call-wallet.ts';
import { EXAMPLE, example } from '../../engine/example.ts';
import { nodeMethod, type RpcMethod } from '../../engine/method.ts';
import { array, flagParam, integerParam, optional, readString, textParam } from '../../engine/params.ts';
import { orFail, rpcFail } from '../../engine/rpc-error.ts';
import { arr, coinAmount, nil, str } from '../../engine/schema.ts';
import { addressesByLabel, walletBalances, walletInfo } from './wallet-schemas.ts';

/** Returns the last block that the wallet has processed. */
export function lastProcessedBlock({ tipHash, tipHeight }: WalletView) {
  return { hash: hashToHex(tipHash), height: tipHeight };
}

const LABEL_NOTE = 'Label of the address, at most 1,000 characters; may be empty, and not *.';
const ADDRESS_TYPE_NOTE =
  'legacy, p2sh-segwit, bech32 or bech32m; by default the configured type (wallet.addressType).';
const LABEL_FILTER_NOTE = 'Label to search for; the empty label is a label as well.';

const getnewaddress = nodeMethod({
  name: 'getnewaddress',
  category: 'wallet',
  help: 'Returns a new address to receive coins.',
  params: [
    optional(textParam('label', { note: LABEL_NOTE }), ''),
    optional(textParam('address_type', { note: ADDRESS_TYPE_NOTE }), null),
  ],
  result: str('address'),
  examples: [example([]), example(['donations', 'bech32m'])],
  scope: 'wallet.spend',
  async run(env, label, type) {
    const name = walletName(env);
    return orFail(await env.ctx.node().call('walletNewAddress', name, type, checkLabel(label)));
  },
});

const getrawchangeaddress = nodeMethod({
  name: 'getrawchangeaddress',
  category: 'wallet',
  help: 'Returns a new address for change, for use in raw transactions.',
  params: [optional(textParam('address_type', { note: ADDRESS_TYPE_NOTE }), null)],
  result: str('address'),
  examples: [example([]), example(['bech32m'])],
  scope: 'wallet.spend',
  run: async (env, type) => orFail(await env.ctx.node().call('walletNewChangeAddress', walletName(env), type)),
});

const getbalance = nodeMethod({
  name: 'getbalance',
  category: 'wallet',
  help: 'Returns the balance that the wallet can spend: confirmed coins and own unconfirmed change.',
  params: [
    optional(textParam('dummy', { placeholder: true, note: 'Must be * or null; kept for older clients.' }), '*'),
    optional(integerParam('minconf', { note: 'Confirmations that a transaction needs to count.' }), 0),
    optional(flagParam('include_watchonly', { note: WATCH_ONLY_NOTE }), false),
    optional(
      flagParam('avoid_reuse', {
        note: 'Whether coins on used addresses are excluded. True is possible and the default for a wallet with the flag avoid_reuse.',
      }),
      null,
    ),
  ],
  result: coinAmount(),
  examples: [example([]), example(['*', 6])],
  scope: 'wallet.read',
  run: (env, dummy, minDepth, _watchOnly, given) =>
    readWallet(env, (view, wallet) => {
      if (dummy !== '*') rpcFail('deprecated', 'dummy first argument must be excluded or set to "*".');
      const avoidReuse = avoidReuseOf(wallet, given);
      return coins(balancesOf(view, { minDepth, avoidReuse, includeNonMempool: false }).trusted);
    }),
});

const getbalances = nodeMethod({
  name: 'getbalances',
  category: 'wallet',
  help: 'Returns all balances of the wallet, coins.',
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

const setlabel = nodeMethod({
  name: 'setlabel',
  category: 'wallet',
  help: 'Sets the label of an address, which need not belong to the wallet.',
  params: [textParam('address', { note: 'Address to label.' }), textParam('label', { note: LABEL_NOTE })],
  result: nil(),
  examples: [example([EXAMPLE.address, 'donations'])],
  scope: 'wallet.spend',
  async run(env, address, label) {
    const name = walletName(env);
    if (!parseAddress(address, env.ctx.params.address).ok) rpcFail('invalidAddressOrKey', 'Invalid Bitcoin address');
    orFail(await env.ctx.node().call('walletSetLabel', name, address, checkLabel(label)));
    return null;
  },
});

const listlabels = nodeMethod({
  name: 'listlabels',
  category: 'wallet',
  help: 'Returns the labels in use, in alphabetical order.',
  params: [
    optional(
      textParam('purpose', {
        note: 'receive for addresses of the wallet, send or refund for addresses of others; all labels if it is empty.',
      }),
      '',
    ),
  ],
  result: arr(str('label')),
  examples: [example([]), example(['receive'])],
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

const getaddressesbylabel = nodeMethod({
  name: 'getaddressesbylabel',
  category: 'wallet',
  help: 'Returns the addresses with a label.',
  params: [textParam('label', { note: LABEL_FILTER_NOTE })],
  result: addressesByLabel,
  examples: [example(['donations'])],
  scope: 'wallet.read',
  run: (env, label) =>
    readWallet(env, ({ reads }) => {
      const entries = reads.entriesWithLabel(checkLabel(label));
      if (entries.length === 0) rpcFail('invalidLabelName', `No addresses with label ${label}`);
      return Object.fromEntries(entries.map(({ address, purpose }) => [address, { purpose: purpose ?? 'unknown' }]));
    }),
});

const keypoolrefill = nodeMethod({
  name: 'keypoolrefill',
  category: 'wallet',
  help: 'Fills the keypool: derives addresses in advance, and returns when all of them are stored.',
  params: [
    optional(
      integerParam('newsize', {
        note: 'Addresses of each type and chain to derive in advance, at most 100,000; 0 for the number in wallet.keypool.',
      }),
      0,
    ),
  ],
  result: nil(),
  examples: [example([]), example([2000])],
  scope: 'wallet.spend',
  async run(env, size) {
    const name = walletName(env);
    if (size < 0) rpcFail('invalidParameter', 'Invalid parameter, expected valid size.');
    orFail(await env.ctx.node().callUntil(env.signal, 'walletRefillKeypool', name, size));
    return null;
  },
});

const listwallets = nodeMethod({
  name: 'listwallets',
  category: 'wallet',
  help: 'Returns the names of the loaded wallets.',
  params: [],
  result: arr(str('name')),
  scope: 'wallet.read',
  run: (env) => visibleWallets(env).map(({ name }) => name),
});

const getwalletinfo = nodeMethod({
  name: 'getwalletinfo',
  category: 'wallet',
  help: 'Returns the state of the wallet.',
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
        external_signer: flags.includes('external_signer'),
        blank: flags.includes('blank'),
        ...(birthTime !== null && { birthtime: birthTime }),
        flags,
        lastprocessedblock: lastProcessedBlock(view),
        ...(state.warnings.length > 0 && { warnings: [...state.warnings] }),
      };
    }),
});

export const addressList = array('addresses', readString, {
  note: 'Addresses whose outputs are listed, each once; all outputs if it is empty.',
});

/** Returns the scripts of addresses as hex. Throws RpcError if one is invalid or occurs twice. */
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

export const walletMethods: readonly RpcMethod[] = [
  getnewaddress,
  getrawchangeaddress,
  getbalance,
  getbalances,
  setlabel,
  listlabels,
  getaddressesbylabel,
  keypoolrefill,
  listwallets,
  getwalletinfo,
];
