import { type FrontEnv, nodeMethod } from './method.ts';
import { flag, integer, optional, text } from './params.ts';
import { rpcFail } from './rpc-error.ts';
import { coinAmount, str } from './schema.ts';

/** No wallet is there to be found. Core's words. */
function noWallet({ wallet }: FrontEnv): never {
  return rpcFail(
    'walletNotFound',
    wallet === null
      ? 'No wallet is loaded. Load a wallet using loadwallet or create a new one with createwallet. (Note: A default wallet is no longer automatically created)'
      : 'Requested wallet does not exist or is not loaded',
  );
}

export const getnewaddress = nodeMethod({
  name: 'getnewaddress',
  category: 'wallet',
  help: 'A new address of the wallet.',
  params: [optional(text('label'), ''), optional(text('address_type'), 'bech32')],
  result: str('the address'),
  scope: 'wallet',
  run: noWallet,
});

export const getbalance = nodeMethod({
  name: 'getbalance',
  category: 'wallet',
  help: 'What the wallet can spend, coins.',
  params: [
    optional(text('dummy', { placeholder: true }), '*'),
    optional(integer('minconf'), 0),
    optional(flag('include_watchonly'), false),
    optional(flag('avoid_reuse'), true),
  ],
  result: coinAmount(),
  scope: 'wallet.read',
  run: noWallet,
});
