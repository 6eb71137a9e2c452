import { type Amount, COIN, isMoneyRange } from '../../primitives/amount.ts';
import { type BlockHash, hashFromHex, type Txid } from '../../primitives/hash.ts';
import { DecodeError, hexToBytes, isHex } from '../../util/bytes.ts';
import { sharedText } from '../../util/secret-bytes.ts';
import { member, NumberText, type RpcObject, type RpcValue, SecretText, typeName } from './json.ts';
import { keyInText } from './repeated-keys.ts';
import { rpcFail } from './rpc-error.ts';
import { anyOf, anything, arr, bool, hashStr, hexStr, int, num, obj, type Schema, str } from './schema.ts';

/** One parameter of a method: its name, its JSON type, and the conversion to its value. */
export interface Param<T> {
  readonly name: string;
  /** Older names that are still accepted. */
  readonly aliases: readonly string[];
  /** The JSON type checked before the method runs; `any` is checked by `read` alone. */
  readonly type: 'string' | 'number' | 'bool' | 'array' | 'object' | 'any';
  readonly required: boolean;
  /** Text in the line of usage. */
  readonly oneline: string;
  /** Members that callers may give as named parameters of their own. */
  readonly members: readonly string[];
  /** Form and description for callers; any value if it is absent. */
  readonly schema?: Schema;
  /** JSON value that applies by default; undefined if no single value does. */
  readonly fallback?: unknown;
  /** Accepted for older clients only, without effect. */
  readonly placeholder?: boolean;
  /** Only tests give it, so help and the usual documents leave it out. A method's hidden parameters are its last. */
  readonly hidden?: boolean;
  /** The text is kept as bytes, which are overwritten after the reply. */
  readonly secret?: boolean;
  read(value: RpcValue): T;
}

interface Naming {
  readonly aliases?: readonly string[];
  readonly oneline?: string;
  /** Description in sentences. */
  readonly note?: string;
  /** Form, if the kind of parameter does not say it. */
  readonly schema?: Schema;
  readonly placeholder?: boolean;
  readonly hidden?: boolean;
}

function param<T>(
  name: string,
  type: Param<T>['type'],
  schema: Schema,
  read: (value: RpcValue) => T,
  naming: Naming = {},
): Param<T> {
  const {
    aliases = [],
    oneline = type === 'string' ? `"${name}"` : name,
    placeholder = false,
    hidden = false,
  } = naming;
  const shown = { ...(naming.schema ?? schema), note: naming.note ?? (naming.schema ?? schema).note };
  return { name, aliases, type, required: true, oneline, members: [], schema: shown, placeholder, hidden, read };
}

/** Returns the parameter as an optional one, for which `fallback` is the value if it is absent or null. */
export function optional<T, D>(inner: Param<T>, fallback: D): Param<T | D> {
  return {
    ...inner,
    required: false,
    ...(isShown(fallback) && { fallback: typeof fallback === 'bigint' ? coinText(fallback) : fallback }),
    read: (value) => (value === null ? fallback : inner.read(value)),
  };
}

function isShown(fallback: unknown): boolean {
  return ['string', 'number', 'boolean', 'bigint'].includes(typeof fallback);
}

function coinText(amount: bigint): string {
  return (Number(amount) / Number(COIN)).toFixed(2);
}

export function textParam(name: string, naming?: Naming): Param<string> {
  return param(name, 'string', str(), (value) => value as string, naming);
}

/** A secret text as UTF-8. The value is a string only if secrets were not extracted from the request. */
export function secret(name: string, naming?: Naming): Param<Uint8Array> {
  const read = (value: RpcValue) => (value instanceof SecretText ? value.bytes : sharedText(value as string));
  return { ...param(name, 'string', str(), read, naming), secret: true };
}

export function flagParam(name: string, naming?: Naming): Param<boolean> {
  return param(name, 'bool', bool(), (value) => value as boolean, naming);
}

/** A whole number of 32 bits, signed by default. */
export function integerParam(
  name: string,
  { unsigned = false, ...naming }: Naming & { unsigned?: boolean } = {},
): Param<number> {
  return param(name, 'number', int(), (value) => readInteger(value, unsigned), naming);
}

/** A hash in display order. `label` is its name in error texts. */
export function hashParam<H extends BlockHash | Txid>(name: string, label = name, naming?: Naming): Param<H> {
  return param(name, 'string', hashStr(), (value) => readHashValue<H>(value, label), naming);
}

export function hex(name: string, naming?: Naming): Param<Uint8Array> {
  return param(
    name,
    'string',
    hexStr(),
    (value) => {
      try {
        if (value !== '') return hexToBytes(value as string);
      } catch (error) {
        if (!(error instanceof DecodeError)) throw error;
      }
      return rpcFail('invalidParameter', `${name} must be hexadecimal string (not '${value}')`);
    },
    naming,
  );
}

/** A whole number that a double holds exactly. */
export function largeInteger(name: string, naming?: Naming): Param<number> {
  return param(
    name,
    'number',
    int(),
    (value) => {
      const numberParam = Number((value as NumberText).text);
      return Number.isSafeInteger(numberParam) ? numberParam : rpcFail('misc', 'JSON integer out of range');
    },
    naming,
  );
}

/** Any number, as a double. */
export function numberParam(name: string, naming?: Naming): Param<number> {
  return param(name, 'number', num(), (value) => Number((value as NumberText).text), naming);
}

/** Coins as a number or a string, in satoshis. */
export function amount(name: string, naming?: Naming): Param<Amount> {
  return param(name, 'any', anyOf(num(), str()), readAmount, { oneline: name, ...naming });
}

/** Coins per 1,000 virtual bytes as a number or a string, in satoshis; below one coin. */
export function feerate(name: string, naming?: Naming): Param<Amount> {
  return param(
    name,
    'any',
    anyOf(num(), str()),
    (value) => {
      const rate = readAmount(value);
      return rate < COIN
        ? rate
        : rpcFail('invalidParameter', 'Fee rates larger than or equal to 1BTC/kvB are not accepted');
    },
    { oneline: name, ...naming },
  );
}

/** A level of detail as a number alone. */
export function level(name: string, naming?: Naming): Param<number> {
  const read = (value: RpcValue) =>
    typeof value === 'boolean' ? rpcFail('type', 'Verbosity was boolean but only integer allowed') : readInteger(value);
  return param(name, 'any', int(), read, { oneline: name, ...naming });
}

/** A level of detail; true means 1 and false means 0. */
export function verbosity(name: string, naming?: Naming): Param<number> {
  return param(
    name,
    'any',
    anyOf(int(), bool()),
    (value) => (typeof value === 'boolean' ? Number(value) : readInteger(value)),
    { oneline: name, ...naming },
  );
}

/** A height, or a hash in display order. */
export function hashOrHeight(name: string, naming?: Naming): Param<number | BlockHash> {
  return param(
    name,
    'any',
    anyOf(int(), str()),
    (value) => (value instanceof NumberText ? readInteger(value) : readHashValue<BlockHash>(value, name)),
    { oneline: name, ...naming },
  );
}

export function array<T>(name: string, read: (value: RpcValue) => T, naming: Naming = {}): Param<T[]> {
  const schema = arr(read === readString ? str() : anything());
  const oneline = `[${name},...]`;
  return param(name, 'array', schema, (value) => (value as RpcValue[]).map(read), { oneline, ...naming });
}

/** An object whose members may also be named parameters. `members` holds their names, or their schemas by name. */
export function options(
  name: string,
  members: readonly string[] | Readonly<Record<string, Schema>>,
  naming: Naming = {},
): Param<RpcObject> {
  const schemas: Readonly<Record<string, Schema>> = Array.isArray(members)
    ? Object.fromEntries((members as readonly string[]).map((key) => [key, anything()]))
    : (members as Readonly<Record<string, Schema>>);
  const shown = obj(
    Object.fromEntries(Object.entries(schemas).map(([key, schema]) => [key, { ...schema, optional: true }])),
  );
  const names = Object.keys(schemas);
  const oneline = `{${names.map((key) => `"${key}":…`).join(',')}}`;
  return { ...param(name, 'object', shown, (value) => value as RpcObject, { oneline, ...naming }), members: names };
}

/** A value that the method itself parses. */
export function any(name: string, naming: Naming = {}): Param<RpcValue> {
  return param(name, 'any', anything(), (value) => value, { oneline: name, ...naming });
}

/** An object whose members cannot be named parameters. */
export function object(name: string, naming: Naming = {}): Param<RpcObject> {
  return param(name, 'object', obj({}), (value) => value as RpcObject, naming);
}

/** Coins as a number or a string; at most eight decimals. */
export function readAmount(value: RpcValue): Amount {
  if (!(value instanceof NumberText) && typeof value !== 'string')
    return rpcFail('type', 'Amount is not a number or string');
  const amount = fixedPoint(value instanceof NumberText ? value.text : value);
  if (amount === null) return rpcFail('type', 'Invalid amount');
  return isMoneyRange(amount) ? amount : rpcFail('type', 'Amount out of range');
}

export function readInteger(value: RpcValue, unsigned = false): number {
  const { text: digits } = expect<NumberText>(value, 'number');
  const number = Number(digits);
  const [low, high] = unsigned ? [0, 0xffff_ffff] : [-0x8000_0000, 0x7fff_ffff];
  if (!/^-?\d+$/.test(digits) || (unsigned && digits.startsWith('-')) || number < low || number > high)
    return rpcFail('misc', 'JSON integer out of range');
  return number + 0;
}

export function readString(value: RpcValue): string {
  return expect<string>(value, 'string');
}

export function readBool(value: RpcValue): boolean {
  return expect<boolean>(value, 'bool');
}

export function readHashValue<H extends BlockHash | Txid>(value: RpcValue, label: string): H {
  const digits = readString(value);
  if (digits.length !== 64)
    return rpcFail('invalidParameter', `${label} must be of length 64 (not ${digits.length}, for '${digits}')`);
  if (!isHex(digits)) return rpcFail('invalidParameter', `${label} must be hexadecimal string (not '${digits}')`);
  return hashFromHex<H>(digits);
}

/** Returns an object with exactly the expected members, which have Core's type names. Throws RpcError. */
export function readObject(value: RpcValue, expected: Readonly<Record<string, string>>): RpcObject {
  const object = expect<RpcObject>(value, 'object');
  for (const key of Object.keys(expected)) if (member(object, key) === null) rpcFail('type', `Missing ${key}`);
  checkMembers(object, expected);
  return object;
}

/**
 * Checks the members of an object against Core's type names; a member may be absent or null. `strict` allows no others.
 * Throws RpcError.
 */
export function checkMembers(
  object: RpcObject,
  expected: Readonly<Record<string, string>>,
  { strict = true }: { readonly strict?: boolean } = {},
): void {
  for (const [key, type] of Object.entries(expected)) {
    const value = member(object, key);
    if (value !== null && typeName(value) !== type)
      rpcFail('type', `JSON value of type ${typeName(value)} for field ${key} is not of expected type ${type}`);
  }
  if (!strict) return;
  for (const key of Object.keys(object))
    if (!Object.hasOwn(expected, keyInText(key))) rpcFail('type', `Unexpected key ${key}`);
}

function expect<T extends RpcValue>(value: RpcValue, type: string): T {
  if (typeName(value) === type) return value as T;
  return rpcFail('type', `JSON value of type ${typeName(value)} is not of expected type ${type}`);
}

/** Core's ParseFixedPoint with eight decimals. Returns null for fractions of a satoshi and for leading zeros. */
function fixedPoint(digits: string): Amount | null {
  const match = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d{1,4}))?$/.exec(digits);
  if (!match || digits.length > 100) return null;
  const [, sign, whole, fraction = '', exponent = '0'] = match;
  const mantissa = BigInt(whole! + fraction);
  const shift = Number(exponent) - fraction.length + 8;
  if (mantissa === 0n) return 0n;
  if (shift > 30) return null;
  let amount: bigint;
  if (shift >= 0) amount = mantissa * 10n ** BigInt(shift);
  else {
    const divisor = 10n ** BigInt(-shift);
    if (mantissa % divisor !== 0n) return null;
    amount = mantissa / divisor;
  }
  // Core's parser stops at 10^18.
  if (amount >= 10n ** 10n * COIN) return null;
  return sign ? -amount : amount;
}

/** Converts named arguments to positional ones; gaps become null. Throws RpcError as Core does. */
export function positional(named: RpcObject, params: readonly Param<unknown>[]): RpcValue[] {
  const left = new Map<string, RpcValue>();
  for (const [key, value] of Object.entries(named)) {
    const name = keyInText(key);
    if (left.has(name)) rpcFail('invalidParameter', `Parameter ${name} specified multiple times`);
    left.set(name, value);
  }
  const out: RpcValue[] = [];
  let holes = 0;
  let initialHoles = 0;
  let first: Param<unknown> | null = null;
  for (const param of params) {
    const flat = Object.fromEntries(param.members.filter((key) => left.has(key)).map((key) => [key, left.get(key)!]));
    for (const key of Object.keys(flat)) left.delete(key);
    const flatKey = Object.keys(flat)[0];
    const key = [param.name, ...param.aliases].find((name) => left.has(name));
    if (flatKey === undefined && key === undefined) {
      holes++;
      if (out.length === 0) initialHoles = holes;
      continue;
    }
    for (; holes > 0; holes--) out.push(null);
    first ??= param;
    if (key !== undefined && flatKey !== undefined)
      rpcFail('invalidParameter', `Parameter ${key} conflicts with parameter ${flatKey}`);
    out.push(key === undefined ? flat : left.get(key)!);
    if (key !== undefined) left.delete(key);
  }
  const leading = left.get('args');
  left.delete('args');
  const unknown = left.keys().next().value;
  if (Array.isArray(leading)) {
    const names = first && [first.name, ...first.aliases].join('|');
    if (names && initialHoles < leading.length)
      rpcFail('invalidParameter', `Parameter ${names} specified twice both as positional and named argument`);
    if (unknown !== undefined) rpcFail('invalidParameter', `Unknown named parameter ${unknown}`);
    return [...leading, ...out.slice(leading.length)];
  }
  if (unknown !== undefined) rpcFail('invalidParameter', `Unknown named parameter ${unknown}`);
  return out;
}
