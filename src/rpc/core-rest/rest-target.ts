/** Formats of replies, by the ending of the path. */
export type RestFormat = 'bin' | 'hex' | 'json';

const FORMATS: readonly string[] = ['bin', 'hex', 'json'] satisfies RestFormat[];

/** The prefixes of Core's REST interface, in the order in which Core compares them with a path. */
const REST_PREFIXES = [
  '/rest/tx/',
  '/rest/block/notxdetails/',
  '/rest/block/',
  '/rest/blockpart/',
  '/rest/blockfilter/',
  '/rest/blockfilterheaders/',
  '/rest/chaininfo',
  '/rest/mempool/',
  '/rest/headers/',
  '/rest/getutxos',
  '/rest/deploymentinfo/',
  '/rest/deploymentinfo',
  '/rest/blockhashbyheight/',
  '/rest/spenttxouts/',
] as const;

type RestPrefix = (typeof REST_PREFIXES)[number];

/** A request of Core's REST interface, read as Core reads it: from the undecoded path and query. */
export interface RestTarget {
  readonly prefix: RestPrefix;
  /** The path behind the prefix, without the ending that names a known format. */
  readonly param: string;
  /** Null if the ending is missing or unknown. */
  readonly format: RestFormat | null;
  /** The query without its question mark. */
  readonly query: string;
}

/** Reads path and query of a request; null if no prefix fits. */
export function restTarget(target: string): RestTarget | null {
  const prefix = REST_PREFIXES.find((each) => target.startsWith(each));
  if (prefix === undefined) return null;
  const rest = target.slice(prefix.length);
  const first = target.indexOf('?');
  const query = first < 0 ? '' : target.slice(first + 1);
  const last = rest.lastIndexOf('?');
  const path = last < 0 ? rest : rest.slice(0, last);
  const dot = path.lastIndexOf('.');
  const ending = path.slice(dot + 1);
  if (dot < 0 || !(ending === '' || FORMATS.includes(ending))) return { prefix, param: path, format: null, query };
  return { prefix, param: path.slice(0, dot), format: ending === '' ? null : (ending as RestFormat), query };
}

/** The parameters of a query that a read reads, by its prefix. */
const READ_PARAMETERS: Partial<Record<RestPrefix, readonly string[]>> = {
  '/rest/blockpart/': ['offset', 'size'],
  '/rest/blockfilterheaders/': ['count'],
  '/rest/headers/': ['count'],
};

/** Returns the target of a read without what it ignores, so that most requests with the same reply are equal. */
export function restReadTarget(target: RestTarget): RestTarget {
  const names = READ_PARAMETERS[target.prefix] ?? [];
  const known = names.map((name) => queryParameter(target.query, name)).filter((param) => param !== null);
  return { ...target, query: known.join('&') };
}

/** Returns the value of a parameter of a query: that of the first one with the name; null without one. */
export function queryValue(query: string, name: string): string | null {
  const param = queryParameter(query, name);
  if (param === null) return null;
  const equals = param.indexOf('=');
  return equals < 0 ? '' : urlDecoded(param.slice(equals + 1));
}

/** Returns the first parameter with a name as it is written in the query; null without one. */
function queryParameter(query: string, name: string): string | null {
  for (const param of query.split('&')) {
    const equals = param.indexOf('=');
    if (urlDecoded(equals < 0 ? param : param.slice(0, equals)) === name) return param;
  }
  return null;
}

/** Returns a number of digits alone, which is at most `max`; null for every other text. */
export function digitsValue(text: string, max: number): number | null {
  if (!/^[0-9]+$/.test(text)) return null;
  const value = Number(text);
  return value <= max ? value : null;
}

/** Unlike a form, a query keeps its plus signs, and wrong escapes stay as they are. */
function urlDecoded(text: string): string {
  return text.replace(/%([0-9a-fA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
