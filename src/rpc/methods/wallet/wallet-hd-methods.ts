import { member, type RpcObject } from '../../engine/json.ts';
import { nodeMethod } from '../../engine/method.ts';
import { checkMembers, optional, options, text } from '../../engine/params.ts';
import { orFail } from '../../engine/rpc-error.ts';
import { arr, bool, maybe, obj, str } from '../../engine/schema.ts';
import { walletName } from './wallet-env.ts';

function asksForPrivate(given: RpcObject): boolean {
  return member(given, 'private') === true;
}

export const gethdkeys = nodeMethod({
  name: 'gethdkeys',
  category: 'wallet',
  help: 'The extended keys of the wallet (BIP-32), and the descriptors that have them.',
  params: [
    optional(
      options('options', { active_only: bool('of active descriptors'), private: bool('with private keys') }),
      {},
    ),
  ],
  result: arr(
    obj({
      xpub: str(),
      has_private: bool('the wallet has the private key'),
      xprv: maybe(str('where private is true')),
      descriptors: arr(obj({ desc: str(), active: bool('new addresses come from it') })),
    }),
  ),
  scope: 'wallet.read',
  further: { scope: 'wallet.keys', where: 'private is true', applies: asksForPrivate },
  async run(env, given) {
    checkMembers(given, { active_only: 'bool', private: 'bool' });
    const withPrivate = asksForPrivate(given);
    const activeOnly = member(given, 'active_only') === true;
    const keys = orFail(await env.ctx.node().act('walletHdKeys', walletName(env), activeOnly, withPrivate));
    return keys.map(({ xpub, xprv, hasPrivate, descriptors }) => ({
      xpub,
      has_private: hasPrivate,
      ...(xprv !== null && { xprv }),
      descriptors: descriptors.map(({ text: desc, active }) => ({ desc, active })),
    }));
  },
});

export const addhdkey = nodeMethod({
  name: 'addhdkey',
  category: 'wallet',
  help: 'Keeps an extended private key (BIP-32), for createwalletdescriptor and derivehdkey; a new one unless one is given.',
  params: [optional(text('hdkey'), null)],
  result: obj({ xpub: str() }),
  scope: 'wallet.keys',
  run: async (env, key) => ({ xpub: orFail(await env.ctx.node().act('walletAddHdKey', walletName(env), key)) }),
});

export const derivehdkey = nodeMethod({
  name: 'derivehdkey',
  category: 'wallet',
  help: 'The extended key that an extended key of the wallet has at a path with a hardened step.',
  params: [
    text('path', { note: 'm/87h/0h/0h' }),
    optional(
      options('options', {
        private: bool('with the private key'),
        hdkey: str('extended public key to derive from; that of unused() or the only active one unless it is given'),
      }),
      {},
    ),
  ],
  result: obj({ origin: str('[fingerprint/path]'), xpub: str(), xprv: maybe(str('where private is true')) }),
  scope: 'wallet.spend',
  further: { scope: 'wallet.keys', where: 'private is true', applies: (_path, given) => asksForPrivate(given) },
  async run(env, path, given) {
    checkMembers(given, { private: 'bool', hdkey: 'string' });
    const withPrivate = asksForPrivate(given);
    const key = member(given, 'hdkey') as string | null;
    const node = env.ctx.node();
    const found = orFail(await node.act('walletDeriveHdKey', walletName(env), path, key, withPrivate));
    const { origin, xpub, xprv } = found;
    return { origin, xpub, ...(xprv !== null && { xprv }) };
  },
});
