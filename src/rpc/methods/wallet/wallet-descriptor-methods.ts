import { parseAddress } from '../../../script/address.ts';
import { RPC_ERROR } from '../../../util/rpc-error-codes.ts';
import { describeKnown, describeScript, originOf, pathText } from '../../../views/core/wallet-address.ts';
import { WalletTxViews } from '../../../views/core/wallet-tx.ts';
import type { DescriptorImport } from '../../../wallet/import-descriptors.ts';
import { solvedBy } from '../../../wallet/read/solved-script.ts';
import { readWallet, walletName, walletOf } from '../../engine/call-wallet.ts';
import { EXAMPLE, example } from '../../engine/example.ts';
import { isObject, member, NumberText, type RpcValue, typeName } from '../../engine/json.ts';
import { nodeMethod, type RpcMethod } from '../../engine/method.ts';
import { array, checkMembers, flagParam, optional, options, textParam } from '../../engine/params.ts';
import { orFail, rpcFail } from '../../engine/rpc-error.ts';
import { anyOf, arr, bool, int, maybe, num, obj, str, tuple } from '../../engine/schema.ts';
import { addressInfo, importOutcomes, listedDescriptors } from './wallet-schemas.ts';

const NO_SEED = '0'.repeat(40);

const getaddressinfo = nodeMethod({
  name: 'getaddressinfo',
  category: 'wallet',
  help: 'Returns the data of the wallet about an address.',
  params: [textParam('address', { note: 'Address, of the wallet or of others.' })],
  result: addressInfo,
  examples: [example([EXAMPLE.address])],
  scope: 'wallet.read',
  async run(env, given) {
    const { params } = env.ctx;
    const wallet = walletOf(env);
    const parsed = parseAddress(given, params.address);
    if (!parsed.ok) return rpcFail('invalidAddressOrKey', parsed.error);
    const { script, address } = parsed;
    const [record] = wallet.reads.keys.scripts(script);
    const solved =
      record && (record.solved ?? orFail(await env.ctx.node().call('walletSolve', wallet.state.name, script)));
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

const listdescriptors = nodeMethod({
  name: 'listdescriptors',
  category: 'wallet',
  help: 'Returns the descriptors of the wallet.',
  params: [
    optional(
      flagParam('private', {
        note: 'Whether they contain private keys; an encrypted wallet must be unlocked for that.',
      }),
      false,
    ),
  ],
  result: listedDescriptors,
  examples: [example([]), example([true])],
  scope: 'wallet.read',
  further: { scope: 'wallet.keys', where: 'private is true', applies: (withKeys) => withKeys },
  async run(env, withKeys) {
    const name = walletName(env);
    const texts = withKeys ? orFail(await env.ctx.node().call('walletPrivateDescriptors', name)) : [];
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
    desc: str('descriptor with its checksum'),
    active: maybe(bool('whether new addresses are derived from it; false by default')),
    range: maybe(anyOf(num('last index; the first one is 0'), tuple([num(), num()], 'first and last index'))),
    next_index: maybe(int('index of the next address; the first index of the range by default')),
    timestamp: anyOf(
      int('earliest time of use, Unix seconds; older blocks are not searched'),
      str('now, for a descriptor that was never used'),
    ),
    internal: maybe(bool('whether it is for change; false by default')),
    label: maybe(str('label of its addresses, at most 1,000 characters')),
  }),
);

const importdescriptors = nodeMethod({
  name: 'importdescriptors',
  category: 'wallet',
  help: 'Imports descriptors and finds their transactions by means of the address index, or block by block without it. A descriptor has at most 400,000 characters, 1,000 keys, 30 participants of musig() and 10 paths.',
  params: [array('requests', (value) => value, { schema: IMPORTS, note: 'Descriptors to import.' })],
  result: importOutcomes,
  examples: [
    example([[{ desc: EXAMPLE.descriptor, timestamp: 'now', label: 'cold storage' }]]),
    example([[{ desc: EXAMPLE.multipathDescriptor, timestamp: 1700000000, active: true, range: [0, 999] }]]),
  ],
  scope: 'wallet.keys',
  async run(env, requests) {
    const name = walletName(env);
    const imports = requests.map(readImport);
    const outcomes = orFail(await env.ctx.node().call('walletImport', name, imports));
    return outcomes.map(({ warnings, error }) => ({
      success: error === null,
      ...(error && { error: { code: RPC_ERROR[error.kind], message: error.message } }),
      ...(warnings.length > 0 && { warnings }),
    }));
  },
});

const IMPORT_MEMBERS = ['desc', 'active', 'range', 'next_index', 'timestamp', 'internal', 'label'];

/**
 * Returns the request as plain JSON. Only the timestamp is validated here, since the earliest one decides where the
 * search for all of them begins.
 */
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

const createwalletdescriptor = nodeMethod({
  name: 'createwalletdescriptor',
  category: 'wallet',
  help: 'Adds the descriptors of an address type that the wallet lacks, derived from one of its extended keys.',
  params: [
    textParam('type', { note: 'Address type: legacy, p2sh-segwit, bech32 or bech32m.' }),
    optional(
      options(
        'options',
        {
          internal: bool('true for change addresses only, false for receiving addresses only; both by default'),
          hdkey: str('extended public key to use; by default the only one of the active descriptors'),
        },
        { note: 'Extent and key of the descriptors.' },
      ),
      {},
    ),
  ],
  result: obj({ descs: arr(str(), 'added descriptors with public keys') }),
  examples: [example(['bech32m']), example(['bech32m', { internal: true }])],
  scope: 'wallet.keys',
  async run(env, type, given) {
    checkMembers(given, { internal: 'bool', hdkey: 'string' });
    const internal = member(given, 'internal') as boolean | null;
    const key = member(given, 'hdkey') as string | null;
    const node = env.ctx.node();
    return { descs: orFail(await node.call('walletCreateDescriptor', walletName(env), type, internal, key)) };
  },
});

export const walletDescriptorMethods: readonly RpcMethod[] = [
  getaddressinfo,
  listdescriptors,
  importdescriptors,
  createwalletdescriptor,
];
