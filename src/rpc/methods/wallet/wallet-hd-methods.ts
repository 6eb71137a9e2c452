import { walletName } from '../../engine/call-wallet.ts';
import { EXAMPLE, example } from '../../engine/example.ts';
import { member, type RpcObject } from '../../engine/json.ts';
import { nodeMethod, type RpcMethod } from '../../engine/method.ts';
import { checkMembers, optional, options, textParam } from '../../engine/params.ts';
import { orFail } from '../../engine/rpc-error.ts';
import { arr, bool, maybe, obj, str } from '../../engine/schema.ts';

function requestsPrivateKeys(given: RpcObject): boolean {
  return member(given, 'private') === true;
}

const gethdkeys = nodeMethod({
  name: 'gethdkeys',
  category: 'wallet',
  help: 'Returns the extended keys (BIP-32) of the wallet with the descriptors that use them.',
  params: [
    optional(
      options(
        'options',
        {
          active_only: bool('whether only keys of active descriptors are returned; false by default'),
          private: bool('whether extended private keys are returned; false by default'),
        },
        { note: 'Extent of the result.' },
      ),
      {},
    ),
  ],
  result: arr(
    obj({
      xpub: str('extended public key'),
      has_private: bool('whether the wallet has the private key'),
      xprv: maybe(str('only if private is true')),
      descriptors: arr(
        obj({ desc: str('the descriptor'), active: bool('whether new addresses are derived from it') }),
        'descriptors that use the key',
      ),
    }),
  ),
  examples: [example([]), example([{ active_only: true }])],
  scope: 'wallet.read',
  further: { scope: 'wallet.keys', where: 'private is true', applies: requestsPrivateKeys },
  async run(env, given) {
    checkMembers(given, { active_only: 'bool', private: 'bool' });
    const withPrivate = requestsPrivateKeys(given);
    const activeOnly = member(given, 'active_only') === true;
    const keys = orFail(await env.ctx.node().call('walletHdKeys', walletName(env), activeOnly, withPrivate));
    return keys.map(({ xpub, xprv, hasPrivate, descriptors }) => ({
      xpub,
      has_private: hasPrivate,
      ...(xprv !== null && { xprv }),
      descriptors: descriptors.map(({ text: desc, active }) => ({ desc, active })),
    }));
  },
});

const addhdkey = nodeMethod({
  name: 'addhdkey',
  category: 'wallet',
  help: 'Adds an extended private key (BIP-32) to the wallet, for createwalletdescriptor and derivehdkey.',
  params: [optional(textParam('hdkey', { note: 'Extended private key; a new random one by default.' }), null)],
  result: obj({ xpub: str('extended public key') }),
  examples: [example([]), example([EXAMPLE.extendedPrivateKey])],
  scope: 'wallet.keys',
  run: async (env, key) => ({ xpub: orFail(await env.ctx.node().call('walletAddHdKey', walletName(env), key)) }),
});

const derivehdkey = nodeMethod({
  name: 'derivehdkey',
  category: 'wallet',
  help: 'Derives an extended key (BIP-32) from an extended key of the wallet.',
  params: [
    textParam('path', { note: 'Derivation path with at least one hardened step, such as m/87h/0h/0h.' }),
    optional(
      options(
        'options',
        {
          private: bool('whether the extended private key is returned; false by default'),
          hdkey: str('extended public key to derive from; by default that of unused(), or the only active one'),
        },
        { note: 'Key and extent of the result.' },
      ),
      {},
    ),
  ],
  result: obj({
    origin: str('[fingerprint/path]'),
    xpub: str('extended public key'),
    xprv: maybe(str('only if private is true')),
  }),
  examples: [example(['m/87h/0h/0h'])],
  scope: 'wallet.spend',
  further: { scope: 'wallet.keys', where: 'private is true', applies: (_path, given) => requestsPrivateKeys(given) },
  async run(env, path, given) {
    checkMembers(given, { private: 'bool', hdkey: 'string' });
    const withPrivate = requestsPrivateKeys(given);
    const key = member(given, 'hdkey') as string | null;
    const node = env.ctx.node();
    const found = orFail(await node.call('walletDeriveHdKey', walletName(env), path, key, withPrivate));
    const { origin, xpub, xprv } = found;
    return { origin, xpub, ...(xprv !== null && { xprv }) };
  },
});

export const walletHdMethods: readonly RpcMethod[] = [gethdkeys, addhdkey, derivehdkey];
