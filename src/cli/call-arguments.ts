import type { Param } from '../rpc/engine/params.ts';
import { RPC_METHODS } from '../rpc/methods/methods.ts';
import { UsageError } from './command.ts';

/** Methods whose arguments are texts, whatever they hold. */
const TEXT_METHODS = ['echo'];
const HASH = /^[0-9a-fA-F]{64}$/;
const TEXT_KINDS = ['string', 'hex', 'hash'];

/**
 * Returns the JSON text of positional arguments. The method's table of parameters decides which are texts and which are
 * JSON. Arguments of an unknown method are texts. Throws UsageError for invalid JSON.
 */
export function positionalParams(method: string, words: readonly string[]): string {
  const params = RPC_METHODS.get(method)?.params ?? [];
  return `[${words.map((word, i) => argumentJson(method, params[i] ?? null, word)).join(',')}]`;
}

/**
 * Returns the JSON text of arguments of the form `name=value`. Words without a name are positional, and come as the
 * member `args`, as in bitcoin-cli. Throws UsageError for invalid JSON and for a name that is given twice.
 */
export function namedParams(method: string, words: readonly string[]): string {
  const params = RPC_METHODS.get(method)?.params ?? [];
  const named = new Map<string, string>();
  const leading: string[] = [];
  for (const word of words) {
    const at = word.indexOf('=');
    if (at < 0) {
      leading.push(argumentJson(method, params[leading.length] ?? null, word));
      continue;
    }
    const name = word.slice(0, at);
    if (named.has(name)) throw new UsageError(`the argument ${name} is given twice`);
    named.set(name, namedJson(method, params, name, word.slice(at + 1)));
  }
  if (leading.length > 0) {
    if (named.has('args')) throw new UsageError('args goes with no arguments without a name');
    named.set('args', `[${leading.join(',')}]`);
  }
  return `{${[...named].map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(',')}}`;
}

function namedJson(method: string, params: readonly Param<unknown>[], name: string, text: string): string {
  if (name === 'args') return checkedJson(name, text);
  const param = params.find((each) => each.name === name || each.aliases.includes(name));
  if (param) return argumentJson(method, param, text);
  const schema = params.find((each) => each.members.includes(name))?.schema;
  const member = schema?.kind === 'object' ? schema.members[name] : null;
  if (!member) return JSON.stringify(text);
  return TEXT_KINDS.includes(member.kind) ? JSON.stringify(text) : jsonOrText(text);
}

function argumentJson(method: string, param: Param<unknown> | null, text: string): string {
  if (param === null || param.type === 'string' || TEXT_METHODS.includes(method)) return JSON.stringify(text);
  return param.type === 'any' && method !== 'echojson' ? jsonOrText(text) : checkedJson(param.name, text);
}

/** Text that is not JSON is a text, and so is a hash that happens to consist of digits. */
function jsonOrText(text: string): string {
  return isJson(text) && !HASH.test(text) ? text : JSON.stringify(text);
}

function checkedJson(name: string, text: string): string {
  if (!isJson(text)) throw new UsageError(`${name} must be JSON, such as 6, true or ["a"], not ${text}`);
  return text;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
