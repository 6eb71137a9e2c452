import {
  type IssuedKey,
  issuedKeyView,
  type KeyAdmin,
  KeyError,
  type KeyProblem,
  keyView,
} from '../../../auth/key-admin.ts';
import { DEFAULT_SCOPES, SCOPES } from '../../../http/scopes.ts';
import { member, NumberText, type RpcObject, type RpcValue } from '../../engine/json.ts';
import { type FrontEnv, nodeMethod } from '../../engine/method.ts';
import { array, checkMembers, flag, integer, optional, options, readString, text } from '../../engine/params.ts';
import { type RPC_ERROR, rpcFail } from '../../engine/rpc-error.ts';
import { anyOf, arr, int, maybe, nil, num, obj, type Schema, str, unixTime } from '../../engine/schema.ts';

const orNull = (schema: Schema) => anyOf(schema, nil('none'));

const RATE = obj({ perSecond: num('calls a second'), burst: int('calls at once') });

const COMMON = {
  id: str('names the key in lists and logs'),
  label: str(),
  scopes: arr(str()),
  createdAt: unixTime(),
  expiresAt: orNull(unixTime()),
  allowedIps: orNull(arr(str('address or subnet'))),
  rate: orNull(RATE),
  wallets: orNull(arr(str('name of a wallet that the key may use'))),
};

const KEY = obj({ ...COMMON, lastUsedAt: orNull(unixTime()), revokedAt: orNull(unixTime()) });
const ISSUED = obj({ ...COMMON, key: str('the key; it is shown only this once') });

/** What of a key may be given; null takes a restriction away. */
const OPTIONS = {
  expiresAt: orNull(unixTime()),
  allowedIps: orNull(arr(str('address or subnet'))),
  rate: orNull(RATE),
  wallets: orNull(arr(str())),
};

const OPTION_TYPES = { expiresAt: 'number', allowedIps: 'array', rate: 'object', wallets: 'array' } as const;

const SCOPE_LIST = arr(str(SCOPES.join(', ')));

const PROBLEM_CODES: Readonly<Record<KeyProblem, keyof typeof RPC_ERROR>> = {
  unknown: 'invalidAddressOrKey',
  invalid: 'invalidParameter',
  revoked: 'misc',
  last_admin: 'misc',
  too_many: 'misc',
};

/** Makes a change that takes effect at once. Throws RpcError where it is refused. */
function changeKeys<T>({ ctx }: FrontEnv, change: (keys: KeyAdmin) => T): T {
  try {
    return change(ctx.keys());
  } catch (error) {
    if (error instanceof KeyError) return rpcFail(PROBLEM_CODES[error.problem], error.message);
    throw error;
  } finally {
    ctx.keysChanged();
  }
}

export const listapikeys = nodeMethod({
  name: 'listapikeys',
  category: 'control',
  help: 'All API keys, the revoked and expired ones too, without their secrets.',
  params: [],
  result: arr(KEY),
  scope: 'admin',
  run: ({ ctx }) => ctx.keys().list().map(keyView),
});

export const getapikey = nodeMethod({
  name: 'getapikey',
  category: 'control',
  help: 'One API key, without its secret.',
  params: [text('id')],
  result: KEY,
  scope: 'admin',
  run: (env, id) => changeKeys(env, (keys) => keyView(keys.get(id))),
});

export const createapikey = nodeMethod({
  name: 'createapikey',
  category: 'control',
  help: 'Makes an API key. Its text is in this answer only; the node keeps a hash.',
  params: [
    text('label', { note: 'what it is for' }),
    optional(array('scopes', readString, { schema: SCOPE_LIST }), [...DEFAULT_SCOPES]),
    optional(options('options', OPTIONS), {} as RpcObject),
  ],
  result: ISSUED,
  scope: 'admin',
  run: (env, label, scopes, given) => {
    checkMembers(given, OPTION_TYPES);
    return issued(changeKeys(env, (keys) => keys.create({ label, scopes, ...readOptions(given) })));
  },
});

export const rotateapikey = nodeMethod({
  name: 'rotateapikey',
  category: 'control',
  help: 'Gives an API key another secret. The old one stays valid for a while; connections opened with it then end.',
  params: [text('id'), optional(integer('overlap', { note: 'seconds' }), 86_400)],
  result: obj({ ...COMMON, key: str('the key; it is shown only this once'), oldValidUntil: unixTime() }),
  scope: 'admin',
  run: (env, id, overlap) => {
    if (overlap < 0) return rpcFail('invalidParameter', 'overlap must not be negative');
    const made = changeKeys(env, (keys) => keys.rotate(id, overlap));
    return { ...issued(made), oldValidUntil: made.oldValidUntil };
  },
});

export const setapikey = nodeMethod({
  name: 'setapikey',
  category: 'control',
  help: 'Changes an API key; what is not named stays. Takes effect at once, on open connections too.',
  params: [
    text('id'),
    options('changes', { label: maybe(str()), scopes: maybe(SCOPE_LIST), ...OPTIONS }),
    optional(flag('force', { note: 'also the last key with the scope admin' }), false),
  ],
  result: KEY,
  scope: 'admin',
  run: (env, id, given, force) => {
    checkMembers(given, { label: 'string', scopes: 'array', ...OPTION_TYPES });
    const label = member(given, 'label');
    const scopes = member(given, 'scopes');
    const changes = {
      ...(label !== null && { label: readString(label) }),
      ...(scopes !== null && { scopes: readStrings(scopes) }),
      ...readOptions(given),
    };
    if (Object.keys(changes).length === 0) return rpcFail('invalidParameter', 'changes names nothing to change');
    return changeKeys(env, (keys) => keyView(keys.change(id, changes, { force })));
  },
});

export const revokeapikey = nodeMethod({
  name: 'revokeapikey',
  category: 'control',
  help: 'Ends an API key for good, with its open connections; removes initial.key where that holds it.',
  params: [text('id'), optional(flag('force', { note: 'also the last key with the scope admin' }), false)],
  result: KEY,
  scope: 'admin',
  run: (env, id, force) => changeKeys(env, (keys) => keyView(keys.revoke(id, { force }))),
});

function issued({ key, record }: IssuedKey) {
  return issuedKeyView(key, record);
}

/** The members that are given; their types were checked. */
function readOptions({ expiresAt, allowedIps, rate, wallets }: RpcObject) {
  return {
    ...(expiresAt !== undefined && { expiresAt: expiresAt === null ? null : Number((expiresAt as NumberText).text) }),
    ...(allowedIps !== undefined && { allowedIps: allowedIps === null ? null : readStrings(allowedIps) }),
    ...(rate !== undefined && { rate: readRate(rate) }),
    ...(wallets !== undefined && { wallets: wallets === null ? null : readStrings(wallets) }),
  };
}

function readRate(value: RpcValue): { perSecond: number; burst: number } | null {
  if (value === null) return null;
  const rate = value as RpcObject;
  checkMembers(rate, { perSecond: 'number', burst: 'number' });
  const numberOf = (name: string) => {
    const given = member(rate, name);
    return given instanceof NumberText ? Number(given.text) : rpcFail('type', `rate lacks the number ${name}`);
  };
  return { perSecond: numberOf('perSecond'), burst: numberOf('burst') };
}

function readStrings(value: RpcValue): string[] {
  return (value as readonly RpcValue[]).map(readString);
}
