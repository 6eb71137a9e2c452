import { parseAddress } from '../../../script/address.ts';
import { walletName } from '../../engine/call-wallet.ts';
import { EXAMPLE, example } from '../../engine/example.ts';
import { nodeMethod, type RpcMethod } from '../../engine/method.ts';
import { textParam } from '../../engine/params.ts';
import { orFail, rpcFail } from '../../engine/rpc-error.ts';
import { arr, obj, str } from '../../engine/schema.ts';

const enumeratesigners = nodeMethod({
  name: 'enumeratesigners',
  category: 'signer',
  help: 'Returns the external signers that the program of wallet.signer finds, each fingerprint once.',
  params: [],
  result: obj({
    signers: arr(
      obj({
        fingerprint: str('fingerprint of the master key (BIP-32)'),
        name: str('model of the device; may be empty'),
      }),
      'the signers',
    ),
  }),
  scope: 'wallet.keys',
  run: async (env) => ({
    signers: orFail(await env.ctx.node().call('walletSigners')).map((signer) => ({ ...signer })),
  }),
});

const walletdisplayaddress = nodeMethod({
  name: 'walletdisplayaddress',
  category: 'wallet',
  help: 'Displays an address of the wallet on its external signer, so that a person can compare it.',
  params: [textParam('address', { note: 'Address of the wallet.' })],
  result: obj({ address: str('address that the signer has confirmed') }),
  examples: [example([EXAMPLE.address])],
  scope: 'wallet.spend',
  async run(env, address) {
    const parsed = parseAddress(address, env.ctx.params.address);
    if (!parsed.ok) return rpcFail('invalidAddressOrKey', 'Invalid address');
    orFail(await env.ctx.node().call('walletDisplayAddress', walletName(env), parsed.script));
    return { address };
  },
});

export const signerMethods: readonly RpcMethod[] = [enumeratesigners, walletdisplayaddress];
