import { hasDescriptors } from '../util/descriptors.ts';
import { parseIp } from '../util/ip-address.ts';
import { DeliveryError, type DeliveryOutcome } from './delivery-outcome.ts';
import { type PostLimits, type PostTarget, postExchange } from './post-exchange.ts';
import { type AllowedNetworks, literalAddress } from './target-address.ts';

/** One delivery to one receiver. */
export interface WebhookPost {
  /** http:// or https://, as WHATWG URL writes it. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The surroundings of a delivery. */
export interface PostMeans {
  readonly allowed: AllowedNetworks;
  readonly limits: PostLimits;
  readonly authorities: readonly string[] | null;
  readonly userAgent: string;
  /** Resolves a name to the texts of its addresses; the system's resolver by default. */
  resolve?(name: string): Promise<readonly string[]>;
  /** Sends one request; over the network by default. */
  exchange?(target: PostTarget, limits: PostLimits): Promise<number>;
}

/** Addresses of one name that are tried, one after the other. Each gets its share of the time that is left. */
const MAX_ADDRESSES = 4;

/**
 * Delivers one message and resolves with its outcome. The name is resolved once and every address is checked; a name with
 * one forbidden address is refused. The connection is then made to an address that was checked, with the name in SNI,
 * certificate and Host, so a second resolution (DNS rebinding) has no place. Redirects are not followed, and the proxies
 * of the environment are not used.
 */
export async function deliverPost(post: WebhookPost, means: PostMeans): Promise<DeliveryOutcome> {
  try {
    const status = await sendPost(post, means);
    if (status < 300) return { ok: true, status };
    if (status < 400) throw new DeliveryError('redirect', `the receiver redirects (${status})`, { status });
    throw new DeliveryError('status', `the receiver answered ${status}`, { status });
  } catch (error) {
    if (!(error instanceof DeliveryError))
      return { ok: false, code: 'internal', message: 'the delivery failed', status: null };
    const { code, message, status } = error;
    return { ok: false, code, message, status };
  }
}

async function sendPost(post: WebhookPost, means: PostMeans): Promise<number> {
  const url = new URL(post.url);
  const secure = url.protocol === 'https:';
  const { limits, authorities, exchange = postExchange } = means;
  if (!hasDescriptors(1)) throw new DeliveryError('internal', 'the node has no free file descriptor');
  const deadline = performance.now() + limits.connectMs;
  const addresses = await checkedAddresses(url.hostname, secure, means);
  const port = url.port === '' ? (secure ? 443 : 80) : Number(url.port);
  const tlsName = secure ? url.hostname.replace(/^\[|\]$/g, '') : null;
  const bytes = requestBytes(url, post, means.userAgent);
  let failure = new DeliveryError('timeout', 'the connection was not open in time');
  const tried = familiesInTurn(addresses).slice(0, MAX_ADDRESSES);
  for (const [i, address] of tried.entries()) {
    const connectMs = (deadline - performance.now()) / (tried.length - i);
    if (connectMs <= 0) break;
    try {
      return await exchange({ address, port, tlsName, authorities, bytes }, { ...limits, connectMs });
    } catch (error) {
      if (!(error instanceof DeliveryError) || !error.isUnsent) throw error;
      failure = error;
    }
  }
  throw failure;
}

/** Returns the addresses with IPv6 and IPv4 in turn (RFC 8305), so that no family that is unreachable hides the other. */
function familiesInTurn(addresses: readonly Uint8Array[]): readonly Uint8Array[] {
  const [first = []] = addresses;
  const preferred = addresses.filter(({ length }) => length === first.length);
  const others = addresses.filter(({ length }) => length !== first.length);
  const longest = Math.max(preferred.length, others.length);
  return Array.from({ length: longest }, (_, i) => [preferred[i], others[i]])
    .flat()
    .filter((address) => address !== undefined);
}

/** Returns the addresses of a host. Throws DeliveryError if one of them is forbidden. */
async function checkedAddresses(hostname: string, secure: boolean, means: PostMeans): Promise<readonly Uint8Array[]> {
  const literal = literalAddress(hostname);
  const addresses = literal ? [literal] : await resolveName(hostname, means);
  for (const address of addresses) {
    const refusal = means.allowed.refusal(address, { secure });
    if (refusal !== null) throw new DeliveryError('forbidden_address', refusal);
  }
  return addresses;
}

async function resolveName(name: string, { limits, resolve = resolveBySystem }: PostMeans): Promise<Uint8Array[]> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new DeliveryError('timeout', 'the name was not resolved in time')),
    limits.connectMs,
  );
  const failed = () => {
    throw new DeliveryError('dns', 'the name cannot be resolved');
  };
  try {
    const texts = await Promise.race([resolve(name).catch(failed), late.promise]);
    const addresses = texts.map(parseIp).filter((address) => address !== null);
    return addresses.length > 0 && addresses.length === texts.length ? addresses : failed();
  } finally {
    clearTimeout(timer);
  }
}

async function resolveBySystem(name: string): Promise<string[]> {
  const found = await Bun.dns.lookup(name, { socketType: 'tcp' });
  return found.map(({ address }) => address);
}

/** The URL is in the form of WHATWG, so none of its parts has spaces or line breaks. */
function requestBytes({ host, pathname, search }: URL, { headers, body }: WebhookPost, userAgent: string): Uint8Array {
  const bytes = Buffer.from(body);
  const lines = [
    `POST ${pathname}${search} HTTP/1.1`,
    `Host: ${host}`,
    `User-Agent: ${userAgent}`,
    'Accept: */*',
    'Content-Type: application/json',
    `Content-Length: ${bytes.length}`,
    'Connection: close',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), bytes]);
}
