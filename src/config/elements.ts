import { paramsFor } from '../params/networks.ts';
import { parseIp, parseIpSubnet, parsePrefix } from '../util/ip-address.ts';
import { parseHostPort } from './setting.ts';

const MIB = 1024 * 1024;

/** The value of `storage.prune` that prunes only by pruneblockchain, and the least target, MiB (as in Core). */
export const MANUAL_PRUNE = 1;
export const MIN_PRUNE_TARGET = 550;

export function originElement(text: string): string | null {
  return URL.canParse(text) && /^https?:/.test(text) && new URL(text).origin === text ? text : null;
}

/** Parses an address, or an address with the length of its subnet prefix. */
export function subnetElement(text: string): string | null {
  return parseIpSubnet(text) === null || text.includes('%') ? null : text;
}

/** Reads the URL of a server without credentials and without what follows its path; the trailing slash is removed. */
export function serverUrlElement(text: string): string | null {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return null;
  const { username, password, search, hash } = new URL(text);
  return [username, password, search, hash].every((part) => part === '') ? text.replace(/\/+$/, '') : null;
}

/** Reads the name of a host, which may end in a dot: then no search domain of the system is added to it. */
export function hostElement(text: string): string | null {
  return text.includes(':') || text.includes('[') || parseHostPort(text, 1) === null ? null : text;
}

const PERMISSION_WORDS = /^(?:bloomfilter|bloom|noban|forcerelay|relay|mempool|download|addr|all|in|out)$/;

/**
 * Parses `words@subnet`, or a subnet alone. A flag was split at its commas before, so words that stand alone belong to
 * the next rule.
 */
export function permissionElement(text: string): string | null {
  const separator = text.indexOf('@');
  const words = separator < 0 ? [] : text.slice(0, separator).split(',');
  if (!words.every((word) => word === '' || PERMISSION_WORDS.test(word))) return null;
  const [address = '', prefix, more] = text.slice(separator + 1).split('/');
  if (separator < 0 && PERMISSION_WORDS.test(text)) return text;
  const bytes = parseIp(address);
  const isSubnet =
    bytes !== null && (prefix === undefined || parseIp(prefix) !== null || parsePrefix(prefix, bytes.length) !== null);
  return more === undefined && (isSubnet || (prefix === undefined && address.endsWith('.onion'))) ? text : null;
}

/** Reads `storage.prune`, as Core reads -prune. */
export function pruneTarget(value: unknown): { value: number } | null {
  if (typeof value === 'string' && !/^(?:0|[1-9][0-9]{0,9})$/.test(value)) return null;
  const target = Number(value);
  const allowed =
    Number.isSafeInteger(target) && (target === 0 || target === MANUAL_PRUNE || target >= MIN_PRUNE_TARGET);
  return (typeof value === 'string' || typeof value === 'number') && allowed ? { value: target } : null;
}

export function testActivationElement(text: string): string | null {
  try {
    paramsFor('regtest', { testActivationHeight: [text] });
    return text;
  } catch {
    return null;
  }
}

/** Returns the default size of the coins cache, MiB. */
export function coinsCacheFor(memory: number): number {
  return Math.min(512, Math.max(32, Math.floor(memory / 16 / MIB)));
}
