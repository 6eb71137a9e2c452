import type { ProxyHeader } from '../http/options.ts';
import { type IpSubnet, inSubnet, isLoopback, parseIp, parseIpSubnet } from '../util/ip-address.ts';

/** The other end of a connection. */
interface SocketAddress {
  readonly address: string;
  readonly port: number;
}

/** The part of Bun's server that knows the connections of requests. */
export interface PeerSource {
  requestIP(request: Request): SocketAddress | null;
}

/**
 * The source of a request. The members are looked up when they are first needed: the runtime asks the system and makes an
 * object of the answer, which takes a tenth of the time of a short request. After the connection has closed, it knows
 * nothing, so a request that waits needs the look-up before.
 */
export interface Client {
  /** Null where the connection has closed already, and for a request of the server's own. */
  readonly peer: SocketAddress | null;
  /** `unknown` when a trusted proxy names no readable address. */
  readonly ip: string;
  /** Whether the request comes from this host itself, and through no proxy. */
  isLocal(): boolean;
}

const UNKNOWN = 'unknown';
/** Maximum number of proxies in a row; a client behind more of them is unknown. */
const MAX_HOPS = 32;
const MAX_ENTRY = 64;
const MAX_FORWARDED = 4096;
/** Headers that proxies add. A client that sends one itself only loses the privileges of local clients. */
const PROXY_HEADERS = ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via'];

/** Finds the address of a client: the other end of the connection, or the address that a trusted proxy names. */
export class ClientAddresses {
  readonly #trusted: readonly IpSubnet[];
  readonly #header: ProxyHeader;

  constructor({
    trustedProxies,
    proxyHeader,
  }: { readonly trustedProxies: readonly string[]; readonly proxyHeader: ProxyHeader }) {
    this.#trusted = trustedProxies.map(parseIpSubnet).filter((subnet) => subnet !== null);
    this.#header = proxyHeader;
  }

  isTrustedProxy(ip: string): boolean {
    return this.#trusted.some((subnet) => inSubnet(ip, subnet));
  }

  /** Returns the client of a request that `source` has received. */
  clientOf(source: PeerSource, request: Request): Client {
    return new RequestClient(this, source, request);
  }

  /** Returns the address of the client behind `direct`, the plain address at the other end of the connection. */
  addressBehind(direct: string, headers: Headers): string {
    const isProxy = this.#trusted.length > 0 && this.isTrustedProxy(direct);
    return isProxy ? this.#forwardedFor(direct, headers) : direct;
  }

  /** Returns the last address that is not a trusted proxy. The client may have forged everything before it. */
  #forwardedFor(peer: string, headers: Headers): string {
    const value = headers.get(this.#header);
    // The request comes from the proxy itself.
    if (value === null) return peer;
    let client = peer;
    let hops = 0;
    for (const entry of this.#header === 'forwarded' ? forwardedFromLast(value) : entriesFromLast(value)) {
      const address = entry === null ? null : addressOf(entry);
      if (address === null || ++hops > MAX_HOPS) return UNKNOWN;
      client = address;
      if (!this.isTrustedProxy(client)) break;
    }
    return client;
  }
}

class RequestClient implements Client {
  readonly #addresses: ClientAddresses;
  readonly #source: PeerSource;
  readonly #request: Request;
  /** Undefined until it is looked up. */
  #peer: SocketAddress | null | undefined = undefined;
  #ip: string | null = null;

  constructor(addresses: ClientAddresses, source: PeerSource, request: Request) {
    this.#addresses = addresses;
    this.#source = source;
    this.#request = request;
  }

  get peer(): SocketAddress | null {
    if (this.#peer === undefined) this.#peer = this.#source.requestIP(this.#request);
    return this.#peer;
  }

  get ip(): string {
    return (this.#ip ??= this.#addresses.addressBehind(this.#direct, this.#request.headers));
  }

  isLocal(): boolean {
    const { headers } = this.#request;
    return isLoopback(this.#direct) && PROXY_HEADERS.every((name) => headers.get(name) === null);
  }

  get #direct(): string {
    return plainAddress(this.peer?.address ?? '');
  }
}

/** Returns an IPv4 address without the prefix that it has on a dual-stack socket. */
function plainAddress(ip: string): string {
  return ip.startsWith('::ffff:') && parseIp(ip)?.length === 4 ? ip.slice(7) : ip;
}

/** Returns the address without port and brackets; null where the text is not an IP address. */
function addressOf(text: string): string | null {
  if (text.length > MAX_ENTRY) return null;
  const bracketed = /^\[([^\]]+)\](?::[0-9]{1,5})?$/.exec(text)?.[1];
  const bare = bracketed ?? /^([0-9.]+):[0-9]{1,5}$/.exec(text)?.[1] ?? text;
  return parseIp(bare) ? plainAddress(bare) : null;
}

/**
 * Yields the entries of a comma-separated list, last first. It is lazy: the caller stops at the first untrusted entry.
 */
function* entriesFromLast(list: string): Generator<string> {
  for (let end = list.length; end >= 0; ) {
    const comma = end === 0 ? -1 : list.lastIndexOf(',', end - 1);
    yield list.slice(comma + 1, end).trim();
    end = comma;
  }
}

const FORWARDED_PAIR =
  /[ \t]*([!#$%&'*+.^_`|~0-9A-Za-z-]+)=(?:([!#$%&'*+.^_`|~0-9A-Za-z-]+)|"((?:[^"\\]|\\.)*)")[ \t]*([;,]|$)/y;

/**
 * Returns `for` of each element of RFC 7239, last first; null for an element without it, and a single null for a
 * malformed header.
 */
function forwardedFromLast(value: string): readonly (string | null)[] {
  if (value.length > MAX_FORWARDED) return [null];
  const clients: (string | null)[] = [];
  let client: string | null = null;
  FORWARDED_PAIR.lastIndex = 0;
  for (;;) {
    const pair = FORWARDED_PAIR.exec(value);
    // Unbalanced quotes could hide an element that a proxy added.
    if (!pair) return [null];
    const [, name, token, quoted, separator] = pair;
    if (name!.toLowerCase() === 'for') client = token ?? quoted!.replaceAll(/\\(.)/g, '$1');
    if (separator === ';') continue;
    clients.push(client);
    client = null;
    if (separator === '') return clients.reverse();
  }
}
