import type { NetworkName } from '../params/network-params.ts';

export interface Address {
  /** A name or an IP address; IPv6 has no brackets. */
  readonly host: string;
  readonly port: number;
}

/** The values that a default may depend on. */
export interface Surroundings {
  readonly network: NetworkName;
  /** Whether `dev.enabled` is set. */
  readonly dev: boolean;
  /** The default data directory: `$XDG_DATA_HOME/obverse`. */
  readonly dataHome: string;
  readonly cores: number;
  /** Memory that the process may use: that of the machine or of its control group, bytes. */
  readonly memory: number;
}

/** One key of the configuration: how its value is read, and its default. */
export interface Setting<T> {
  readonly kind: 'string' | 'boolean' | 'integer' | 'number' | 'address' | 'path' | 'enum' | 'list';
  /** The allowed values, as the end of "must be …". */
  readonly allowed: string;
  /** Reads text (of a flag or variable) or a value of the file; null when it is not allowed. */
  read(value: unknown, where: ReadContext): { readonly value: T } | null;
  fallback(around: Surroundings): T;
  readonly help: string;
  /** Unit of a number, for help. */
  readonly unit?: string;
  /** The default in words, where its value says too little. */
  readonly defaultText?: string;
  /** A secret never appears in errors or help. */
  readonly secret?: boolean;
  /** Whether SIGHUP applies a change; otherwise it applies after a restart. */
  readonly live?: boolean;
}

export interface ReadContext {
  /** Whether the value is text: flags and variables are, while the file has types of its own. */
  readonly fromText: boolean;
  readonly network: NetworkName;
  /** Returns the absolute path of the written one. */
  resolvePath(path: string): string;
}

type Fallback<T> = T | ((around: Surroundings) => T);
interface Options<T> {
  readonly fallback: Fallback<T>;
  readonly help: string;
  readonly unit?: string;
  readonly defaultText?: string;
  readonly secret?: boolean;
  readonly live?: boolean;
}

const ok = <T>(value: T) => ({ value });

/** A setting whose values are read by `read`. */
export function setting<T>(
  kind: Setting<T>['kind'],
  allowed: string,
  { fallback, ...rest }: Options<T>,
  read: Setting<T>['read'],
): Setting<T> {
  const fallbackOf = typeof fallback === 'function' ? (fallback as (around: Surroundings) => T) : () => fallback;
  return { kind, allowed, read, fallback: fallbackOf, ...rest };
}

/** A setting whose value is text that is not empty. */
export function string(options: Options<string> & { readonly pattern?: RegExp; readonly allowed?: string }) {
  const { pattern = /^[^\p{Cc}]+$/u, allowed = 'text that is not empty', ...rest } = options;
  return setting('string', allowed, rest, (value) =>
    typeof value === 'string' && pattern.test(value) ? ok(value) : null,
  );
}

/** A setting whose value is text or null. */
export function optionalString({
  allowed = 'text',
  ...options
}: Omit<Options<string | null>, 'fallback'> & { readonly allowed?: string }) {
  return setting<string | null>('string', allowed, { fallback: null, ...options }, (value) =>
    value === '' ? ok(null) : typeof value === 'string' && !/\p{Cc}/u.test(value) ? ok(value) : null,
  );
}

/** A setting whose value is an http(s) URL or null. */
export function url(options: Omit<Options<string | null>, 'fallback'>) {
  return setting<string | null>('string', 'an http:// or https:// URL', { fallback: null, ...options }, (value) => {
    if (value === '') return ok(null);
    if (typeof value !== 'string' || !/^https?:\/\//i.test(value) || !URL.canParse(value)) return null;
    return ok(value.replace(/\/+$/, ''));
  });
}

/** A setting whose value is the URL of a database or null. */
export function databaseUrl(options: Omit<Options<string | null>, 'fallback'>) {
  const allowed = 'a postgres:// URL';
  return setting<string | null>('string', allowed, { fallback: null, ...options }, (value) => {
    if (value === '') return ok(null);
    if (typeof value !== 'string' || !/^postgres(?:ql)?:\/\//i.test(value) || !URL.canParse(value)) return null;
    return ok(value);
  });
}

export function boolean(options: Options<boolean>) {
  return setting('boolean', 'true or false', options, (value, { fromText }) => {
    if (fromText && (value === 'true' || value === 'false')) return ok(value === 'true');
    return typeof value === 'boolean' ? ok(value) : null;
  });
}

/** A setting whose value is true, false or null. */
export function optionalBoolean(options: Omit<Options<boolean | null>, 'fallback'>) {
  const given = boolean({ ...options, fallback: false });
  return setting<boolean | null>('boolean', given.allowed, { fallback: null, ...options }, given.read);
}

export function integer(options: Options<number> & { readonly min?: number; readonly max?: number }) {
  const { min = 0, max = Number.MAX_SAFE_INTEGER, ...rest } = options;
  const allowed = `an integer ${max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`}`;
  return setting('integer', allowed, rest, (value, { fromText }) => {
    if (fromText && !/^(?:0|-?[1-9][0-9]{0,15})$/.test(String(value))) return null;
    const number = fromText ? Number(value) : value;
    return Number.isSafeInteger(number) && min <= (number as number) && (number as number) <= max
      ? ok(number as number)
      : null;
  });
}

/** A setting whose value is an integer or null. */
export function optionalInteger(
  options: Omit<Options<number | null>, 'fallback'> & { readonly min?: number; readonly max?: number },
) {
  const given = integer({ ...options, fallback: 0 });
  const { min: _min, max: _max, ...rest } = options;
  return setting<number | null>('integer', given.allowed, { fallback: null, ...rest }, (value, context) =>
    value === '' || value === null ? ok(null) : given.read(value, context),
  );
}

/** A setting whose value is a number from 0, with at most three decimals. */
export function number(options: Options<number> & { readonly max: number }) {
  const { max, ...rest } = options;
  return setting('number', `a number from 0 to ${max} with up to three decimals`, rest, (value, { fromText }) => {
    if (fromText && !/^[0-9]{1,12}(?:\.[0-9]{1,3})?$/.test(String(value))) return null;
    const given = fromText ? Number(value) : value;
    return typeof given === 'number' && given >= 0 && given <= max && Number(given.toFixed(3)) === given
      ? ok(given)
      : null;
  });
}

/** A setting of the form of `number`; empty, the default, for null. */
export function numberOrNone({ max, ...options }: Omit<Options<number | null>, 'fallback'> & { readonly max: number }) {
  const given = number({ ...options, max, fallback: 0 });
  return setting<number | null>('number', given.allowed, { fallback: null, ...options }, (value, context) =>
    value === '' ? ok(null) : given.read(value, context),
  );
}

/** A setting whose value is a number from 0, or null. */
export function optionalNumber(options: Omit<Options<number | null>, 'fallback'>) {
  return setting<number | null>(
    'number',
    'a number of at least 0',
    { fallback: null, ...options },
    (value, context) => {
      if (value === '') return ok(null);
      if (context.fromText && !/^[0-9]{1,12}(?:\.[0-9]{1,8})?$/.test(String(value))) return null;
      const number = context.fromText ? Number(value) : value;
      return typeof number === 'number' && Number.isFinite(number) && number >= 0 ? ok(number) : null;
    },
  );
}

export function oneOf<const C extends string>(choices: readonly C[], options: Options<NoInfer<C>>) {
  return setting<C>('enum', choicesText(choices), options, (value) =>
    (choices as readonly unknown[]).includes(value) ? ok(value as C) : null,
  );
}

/** A setting of the form `host:port`; empty for none. */
export function optionalAddress({
  defaultPort,
  ...options
}: Options<Address | null> & { readonly defaultPort?: number }) {
  return setting<Address | null>('address', 'host:port, or empty for none', options, (value) =>
    value === '' ? ok(null) : wrap(parseHostPort(value, defaultPort)),
  );
}

/** A list of `host:port`; one of them is allowed as a string in the file as well. */
export function addresses(options: Options<readonly Address[]>) {
  return addressList('a list of host:port, or empty for none', options);
}

/** A list of at least one `host:port`; one of them is allowed as a string in the file as well. Port 0 lets the system choose. */
export function someAddresses(options: Options<readonly Address[]>) {
  const given = addressList('host:port, or a list of them', options);
  return setting<readonly Address[]>('list', given.allowed, options, (value, context) => {
    const read = given.read(value, context);
    return read !== null && read.value.length > 0 ? read : null;
  });
}

function addressList(allowed: string, options: Options<readonly Address[]>) {
  const given = list(allowed, (text) => parseHostPort(text), options);
  return setting<readonly Address[]>('list', allowed, options, (value, context) =>
    given.read(value, typeof value === 'string' ? { ...context, fromText: true } : context),
  );
}

export function path(options: Options<string>) {
  return setting('path', 'a path', options, (value, { resolvePath }) =>
    isPath(value) ? ok(resolvePath(value)) : null,
  );
}

/** A setting whose value is a path; empty for none. */
export function optionalPath(options: Omit<Options<string | null>, 'fallback'>) {
  return setting<string | null>('path', 'a path', { fallback: null, ...options }, (value, { resolvePath }) => {
    if (value === '') return ok(null);
    return isPath(value) ? ok(resolvePath(value)) : null;
  });
}

/** Reads one element of a list; null when it is not allowed. */
type ReadElement<T> = (text: string, context: ReadContext) => T | null;

/** A list of values: separated by commas in text, an array of strings in the file. A flag may be repeated. */
export function list<T>(
  allowed: string,
  readElement: ReadElement<T>,
  { max = Number.POSITIVE_INFINITY, ...options }: Options<readonly T[]> & { readonly max?: number },
) {
  return setting<readonly T[]>('list', allowed, options, (value, context) => {
    const parts = context.fromText ? [value as string | readonly string[]].flat().flatMap(splitList) : value;
    if (!Array.isArray(parts) || parts.length > max) return null;
    const elements = parts.map((part) => (typeof part === 'string' ? readElement(part, context) : null));
    return elements.includes(null) ? null : ok(elements as T[]);
  });
}

/** A list whose elements contain commas: one element per flag or variable, an array of strings in the file. */
export function lines<T>(
  allowed: string,
  readLines: (lines: readonly string[]) => readonly T[] | null,
  options: Options<readonly T[]>,
) {
  return setting<readonly T[]>('list', allowed, options, (value, { fromText }) => {
    const given = fromText ? [value].flat().filter((line) => line !== '') : value;
    if (!Array.isArray(given) || !given.every((line) => typeof line === 'string')) return null;
    return wrap(readLines(given));
  });
}

export function stringElement(pattern: RegExp): ReadElement<string> {
  return (text) => (pattern.test(text) ? text : null);
}

export function choiceElement<const C extends string>(choices: readonly C[]): ReadElement<C> {
  return (text) => choices.find((choice) => choice === text) ?? null;
}

export const pathElement: ReadElement<string> = (text, { resolvePath }) => (isPath(text) ? resolvePath(text) : null);

/** Returns `main, testnet4 or signet`. */
export function choicesText(choices: readonly string[]): string {
  return choices.length < 2 ? choices.join('') : `${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}`;
}

const HOST =
  /^(?:\[([0-9a-fA-F:.]+(?:%[\w.-]+)?)\]|([A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?\.?))(?::([0-9]{1,5}))?$/;

/** Parses `host:port`; null when the text is malformed, or has no port and no default applies. */
export function parseHostPort(value: unknown, defaultPort?: number): Address | null {
  const match = typeof value === 'string' ? HOST.exec(value) : null;
  // A name with an empty label has no address.
  if (!match || match[2]?.includes('..')) return null;
  const port = match[3] === undefined ? defaultPort : Number(match[3]);
  if (port === undefined || port > 65_535) return null;
  return { host: (match[1] ?? match[2])!, port };
}

/** Returns the address as it is written in a URL or a setting. */
export function hostPortText({ host, port }: Address): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function splitList(text: string): string[] {
  const parts = text.split(',').map((part) => part.trim());
  return parts.length === 1 && parts[0] === '' ? [] : parts;
}

function isPath(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && !value.includes('\0');
}

function wrap<T>(value: T | null): { readonly value: T } | null {
  return value === null ? null : { value };
}
