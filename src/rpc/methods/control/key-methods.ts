import {
  type IssuedKey,
  issuedKeyView,
  type KeyAdmin,
  KeyError,
  type KeyProblem,
  keyView,
} from '../../../auth/key-admin.ts';
import { DEFAULT_SESSION_SCOPES, SESSION_SCOPES, sessionScopesOf } from '../../../auth/session-scopes.ts';
import { ANONYMOUS } from '../../../http/principal.ts';
import { DEFAULT_SCOPES, SCOPES } from '../../../http/scopes.ts';
import type { RpcErrorName } from '../../../util/rpc-error-codes.ts';
import { example } from '../../engine/example.ts';
import { member, NumberText, type RpcObject, type RpcValue } from '../../engine/json.ts';
import { type MainThreadEnv, nodeMethod, type RpcMethod } from '../../engine/method.ts';
import {
  array,
  checkMembers,
  flagParam,
  integerParam,
  optional,
  options,
  readString,
  textParam,
} from '../../engine/params.ts';
import { rpcFail } from '../../engine/rpc-error.ts';
import { anyOf, arr, int, nil, noted, num, obj, type Schema, str, unixTime } from '../../engine/schema.ts';

const orNull = (schema: Schema) => anyOf(schema, nil('no restriction'));

const idParam = textParam('id', { note: 'Id of the key, as listapikeys shows it.' });
const forceParam = optional(
  flagParam('force', { note: 'Whether even the last usable key with the scope admin may be changed so.' }),
  false,
);
const EXAMPLE_ID = 'k7f3q9xz2m';

const RATE = obj({ perSecond: num('calls per second'), burst: int('calls at once, at least 1') });

const COMMON = {
  id: str('id of the key in lists and logs'),
  label: str('label of the key'),
  scopes: arr(str(), 'rights of the key'),
  createdAt: unixTime('time of its creation'),
  expiresAt: orNull(unixTime('time from which the key is rejected')),
  allowedIps: orNull(arr(str('address or subnet'), 'clients that may use the key')),
  rate: orNull(noted(RATE, 'rate limit of the key')),
  wallets: orNull(arr(str('name'), 'wallets that the key may use')),
};

const KEY = obj({
  ...COMMON,
  lastUsedAt: anyOf(unixTime('time of the last request'), nil('never')),
  revokedAt: anyOf(unixTime('time of its revocation'), nil('not revoked')),
});
const ISSUED = obj({ ...COMMON, key: str('the key itself; no other call shows it') });

/** Restrictions of a key that a caller may set; null removes one. */
const OPTIONS = {
  expiresAt: orNull(unixTime('time from which the key is rejected')),
  allowedIps: orNull(arr(str('address or subnet'), 'clients that may use the key; at most 100')),
  rate: orNull(noted(RATE, 'rate limit of the key')),
  wallets: orNull(arr(str('name'), 'wallets that the key may use; at most 100')),
};

const OPTION_TYPES = { expiresAt: 'number', allowedIps: 'array', rate: 'object', wallets: 'array' } as const;

const SCOPE_LIST = arr(str(SCOPES.join(', ')));

const PROBLEM_CODES: Readonly<Record<KeyProblem, RpcErrorName>> = {
  unknown: 'invalidAddressOrKey',
  invalid: 'invalidParameter',
  revoked: 'misc',
  last_admin: 'misc',
  too_many: 'misc',
};

/** Makes a change that takes effect at once. Throws RpcError if the key store refuses it. */
async function changeKeys<T>({ ctx }: MainThreadEnv, change: (keys: KeyAdmin) => T): Promise<T> {
  try {
    return change(ctx.keys());
  } catch (error) {
    if (error instanceof KeyError) return rpcFail(PROBLEM_CODES[error.problem], error.message);
    throw error;
  } finally {
    await ctx.keysChanged();
  }
}

const listapikeys = nodeMethod({
  name: 'listapikeys',
  category: 'control',
  help: 'Returns all API keys without their secrets, including revoked and expired ones.',
  params: [],
  result: arr(KEY),
  scope: 'admin',
  run: ({ ctx }) => ctx.keys().list().map(keyView),
});

const getapikey = nodeMethod({
  name: 'getapikey',
  category: 'control',
  help: 'Returns one API key without its secret.',
  params: [idParam],
  result: KEY,
  examples: [example([EXAMPLE_ID])],
  scope: 'admin',
  run: (env, id) => changeKeys(env, (keys) => keyView(keys.get(id))),
});

const createapikey = nodeMethod({
  name: 'createapikey',
  category: 'control',
  help: 'Creates an API key. Only this reply contains the key itself, since the node stores a hash of it.',
  params: [
    textParam('label', { note: 'Purpose of the key, at most 128 characters.' }),
    optional(
      array('scopes', readString, {
        schema: SCOPE_LIST,
        note: `Rights of the key; ${DEFAULT_SCOPES.join(' and ')} by default.`,
      }),
      [...DEFAULT_SCOPES],
    ),
    optional(options('options', OPTIONS, { note: 'Restrictions of the key; none by default.' }), {} as RpcObject),
  ],
  result: ISSUED,
  examples: [
    example(['block explorer']),
    example(['shop', ['read', 'wallet.read'], { wallets: ['shop'], rate: { perSecond: 10, burst: 20 } }]),
  ],
  scope: 'admin',
  run: async (env, label, scopes, given) => {
    checkMembers(given, OPTION_TYPES);
    return issued(await changeKeys(env, (keys) => keys.create({ label, scopes, ...readOptions(given) })));
  },
});

const rotateapikey = nodeMethod({
  name: 'rotateapikey',
  category: 'control',
  help: 'Gives an API key a new secret. The old secret stays valid for a while, after which its connections are closed.',
  params: [
    idParam,
    optional(
      integerParam('overlap', { note: 'Seconds for which the old secret stays valid; 0 ends it at once.' }),
      86_400,
    ),
  ],
  result: obj({
    ...COMMON,
    key: str('the key with its new secret; no other call shows it'),
    oldValidUntil: unixTime('end of the old secret'),
  }),
  examples: [example([EXAMPLE_ID]), example([EXAMPLE_ID, 3600])],
  scope: 'admin',
  run: async (env, id, overlap) => {
    if (overlap < 0) return rpcFail('invalidParameter', 'overlap must not be negative');
    const made = await changeKeys(env, (keys) => keys.rotate(id, overlap));
    return { ...issued(made), oldValidUntil: made.oldValidUntil };
  },
});

const setapikey = nodeMethod({
  name: 'setapikey',
  category: 'control',
  help: 'Changes an API key. The change takes effect at once, for open connections as well.',
  params: [
    idParam,
    options(
      'changes',
      { label: str('at most 128 characters'), scopes: SCOPE_LIST, ...OPTIONS },
      { note: 'Members to change, at least one; the others stay as they are.' },
    ),
    forceParam,
  ],
  result: KEY,
  examples: [example([EXAMPLE_ID, { scopes: ['read', 'broadcast'] }]), example([EXAMPLE_ID, { expiresAt: null }])],
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

const revokeapikey = nodeMethod({
  name: 'revokeapikey',
  category: 'control',
  help: 'Revokes an API key permanently and closes its connections. The file initial.key is removed if it holds the key.',
  params: [idParam, forceParam],
  result: KEY,
  examples: [example([EXAMPLE_ID])],
  scope: 'admin',
  run: (env, id, force) => changeKeys(env, (keys) => keyView(keys.revoke(id, { force }))),
});

const createlogincode = nodeMethod({
  name: 'createlogincode',
  category: 'control',
  help:
    'Creates a code that opens one session of a browser, which obverse login prints. It is valid once, for ten minutes, ' +
    'and ends with a restart. Only this reply contains the code, since the node stores a hash of it.',
  params: [
    optional(
      array('scopes', readString, {
        schema: arr(str(SESSION_SCOPES.join(', '))),
        note:
          `Rights of the session; ${DEFAULT_SESSION_SCOPES.join(' and ')} by default. admin reads keys and the audit ` +
          'log, for 30 minutes.',
      }),
      [...DEFAULT_SESSION_SCOPES],
    ),
  ],
  result: obj({
    id: str('id of the session in the audit log'),
    code: str('the code; no other call shows it'),
    expiresAt: unixTime('time from which the code is rejected'),
    scopes: arr(str(), 'rights of the session; admin includes the other scopes that read'),
  }),
  examples: [example([]), example([['read', 'broadcast']])],
  scope: 'admin',
  run: ({ ctx, call }, scopes) => {
    const known = sessionScopesOf(scopes);
    if (known === null)
      return rpcFail('invalidParameter', `a session has at least one of the scopes ${SESSION_SCOPES.join(', ')}`);
    const { kind, id, secretId } = call?.principal ?? ANONYMOUS;
    return ctx.sessions.createLoginCode(kind === 'key' ? { id, secretId } : null, known);
  },
});

function issued({ key, record }: IssuedKey) {
  return issuedKeyView(key, record);
}

/** Returns the given members. Their types are checked before. */
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

export const keyMethods: readonly RpcMethod[] = [
  listapikeys,
  getapikey,
  createapikey,
  rotateapikey,
  setapikey,
  revokeapikey,
  createlogincode,
];
