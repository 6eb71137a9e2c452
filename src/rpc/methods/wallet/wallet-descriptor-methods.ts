import { parseAddress } from '../../../script/address.ts';
import { describeKnown, describeScript, originOf, pathText } from '../../../views/core/wallet-address.ts';
import { WalletTxViews } from '../../../views/core/wallet-tx.ts';
import type { DescriptorImport } from '../../../wallet/import-descriptors.ts';
import { solvedBy } from '../../../wallet/read/solved-script.ts';
import { isObject, member, NumberText, type RpcValue, typeName } from '../../engine/json.ts';
import { nodeMethod } from '../../engine/method.ts';
import { array, checkMembers, flag, optional, options, text } from '../../engine/params.ts';
import { orFail, RPC_ERROR, rpcFail } from '../../engine/rpc-error.ts';
import { anyOf, arr, bool, int, maybe, num, obj, str, tuple } from '../../engine/schema.ts';
import { readWallet, walletName, walletOf } from './wallet-env.ts';
import { addressInfo, importOutcomes, listedDescriptors } from './wallet-shapes.ts';

const NO_SEED = '0'.repeat(40);

export const getaddressinfo = nodeMethod({
  name: 'getaddressinfo',
  category: 'wallet',
  help: 'What the wallet knows of an address.',
  params: [text('address')],
  result: addressInfo,
  scope: 'wallet.read',
  async run(env, given) {
    const { params } = env.ctx;
    const wallet = walletOf(env);
    const parsed = parseAddress(given, params.address);
    if (!parsed.ok) return rpcFail('invalidAddressOrKey', parsed.error);
    const { script, address } = parsed;
    const [record] = wallet.reads.keys.scripts(script);
    const solved =
      record && (record.solved ?? orFail(await env.ctx.node().act('walletSolve', wallet.state.name, script)));
    return readWallet(env, (view) => {
      const views = new WalletTxViews(view, params);
      const known = solved ? solvedBy(solved, params) : null;
      const entry = view.reads.bookEntry(script);
      const origin = known && originOf(script, known.data);
      const descriptor = view.reads.keys.descriptors().find(({ id }) => id === record?.descriptor);
      return {
        address,
        scriptPubKey: script.toHex(),
        ismine: record !== undefined,
        solvable: known?.solvable ?? false,
        ...(known?.solvable && { desc: known.text }),
        ...(descriptor && { parent_desc: descriptor.normalized }),
        iswatchonly: false,
        ...describeScript(script),
        ...(known && describeKnown(script, known.data, params)),
        ischange: views.isChange(script),
        ...(origin && {
          timestamp: descriptor!.createdAt,
          hdkeypath: pathText(origin),
          hdseedid: NO_SEED,
          hdmasterfingerprint: origin.fingerprint.toHex(),
        }),
        labels: entry ? [entry.label] : [],
      };
    });
  },
});

export const listdescriptors = nodeMethod({
  name: 'listdescriptors',
  category: 'wallet',
  help: 'The descriptors of the wallet; with private keys where that is asked for.',
  params: [optional(flag('private'), false)],
  result: listedDescriptors,
  scope: 'wallet.read',
  further: { scope: 'wallet.keys', where: 'private is true', applies: (withKeys) => withKeys },
  async run(env, withKeys) {
    const name = walletName(env);
    const texts = withKeys ? orFail(await env.ctx.node().act('walletPrivateDescriptors', name)) : [];
    const privateTexts = new Map(texts.map(({ id, text: own }) => [id, own]));
    return readWallet(env, ({ reads }) => ({
      wallet_name: name,
      descriptors: reads.keys
        .descriptors()
        .map((record) => ({ ...record, desc: privateTexts.get(record.id) ?? record.normalized }))
        .sort((a, b) => (a.desc < b.desc ? -1 : 1))
        .map(({ desc, createdAt, active, internal, rangeStart, rangeEnd, nextIndex, text: own }) => ({
          desc,
          timestamp: createdAt,
          active: active !== null,
          ...(internal !== null && { internal }),
          ...(own.includes('*') && { range: [rangeStart, rangeEnd - 1], next: nextIndex, next_index: nextIndex }),
        })),
    }));
  },
});

const IMPORTS = arr(
  obj({
    desc: str('with its checksum'),
    active: maybe(bool('new addresses are made of it')),
    range: maybe(anyOf(num('end'), tuple([num(), num()], 'begin and end'))),
    next_index: maybe(int()),
    timestamp: anyOf(int('Unix seconds since when it may be in use'), str('now')),
    internal: maybe(bool('for change')),
    label: maybe(str()),
  }),
);

export const importdescriptors = nodeMethod({
  name: 'importdescriptors',
  category: 'wallet',
  help: 'Adds descriptors, and finds by way of the address index what concerns them. A descriptor may have 200,000 characters, 1,000 keys, 30 participants of musig() and 10 paths.',
  params: [array('requests', (value) => value, { schema: IMPORTS })],
  result: importOutcomes,
  scope: 'wallet.keys',
  async run(env, requests) {
    const name = walletName(env);
    const imports = requests.map(readImport);
    const outcomes = orFail(await env.ctx.node().act('walletImport', name, imports));
    return outcomes.map(({ warnings, error }) => ({
      success: error === null,
      ...(error && { error: { code: RPC_ERROR[error.kind], message: error.message } }),
      ...(warnings.length > 0 && { warnings }),
    }));
  },
});

const IMPORT_MEMBERS = ['desc', 'active', 'range', 'next_index', 'timestamp', 'internal', 'label'];

/** Plain JSON; only the time is checked here, as it decides how far back all of them are looked for. */
function readImport(value: RpcValue): DescriptorImport {
  if (!isObject(value)) return rpcFail('type', `JSON value of type ${typeName(value)} is not of expected type object`);
  const given = member(value, 'timestamp');
  const timestamp = given instanceof NumberText ? Number(given.text) : given === 'now' ? given : null;
  if (timestamp === null)
    return rpcFail(
      'type',
      Object.hasOwn(value, 'timestamp')
        ? `Expected number or "now" timestamp value for key. got type ${typeName(given)}`
        : 'Missing required timestamp field for key',
    );
  const plain = JSON.parse(JSON.stringify(value)) as Record<string, unknown>;
  return { ...Object.fromEntries(IMPORT_MEMBERS.map((key) => [key, plain[key]])), timestamp };
}

export const createwalletdescriptor = nodeMethod({
  name: 'createwalletdescriptor',
  category: 'wallet',
  help: "Adds the wallet's own descriptor for a type of address.",
  params: [
    text('type'),
    optional(options('options', { internal: bool('for change; both where it is left out'), hdkey: str() }), {}),
  ],
  result: obj({ descs: arr(str(), 'public descriptors that were added') }),
  scope: 'wallet.keys',
  async run(env, type, given) {
    checkMembers(given, { internal: 'bool', hdkey: 'string' });
    const internal = member(given, 'internal') as boolean | null;
    const key = member(given, 'hdkey') as string | null;
    const node = env.ctx.node();
    return { descs: orFail(await node.act('walletCreateDescriptor', walletName(env), type, internal, key)) };
  },
});
