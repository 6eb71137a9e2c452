import { fail } from '../http/errors.ts';
import { parseIp } from '../util/ip-address.ts';

export const WRONG_HOST = 'Host names another server; http.allowedHosts lists further names of this one';

interface HostNames {
  readonly allowedHosts: readonly string[];
  readonly publicUrl: string | null;
  /** Addresses that the listeners are bound to. */
  readonly bindHosts: readonly string[];
}

/**
 * The host names of this server. A page of a foreign site can make its own name resolve to this address (DNS
 * rebinding), and the browser then lets it read replies; such requests carry that name in `Host`. An address in `Host`
 * cannot be redirected this way.
 */
export class HostPolicy {
  readonly #names: ReadonlySet<string>;
  /** The last value that was allowed: most clients send the same one. */
  #lastAllowed = '';

  constructor({ allowedHosts, publicUrl, bindHosts }: HostNames) {
    const names = [...bindHosts, ...(publicUrl === null ? [] : [new URL(publicUrl).host]), ...allowedHosts];
    this.#names = new Set(names.map(nameOf));
  }

  /**
   * Whether the value of a `Host` header is allowed. A request without the header, as of HTTP/1.0, cannot come from a
   * browser.
   */
  allows(host: string | null): boolean {
    if (host === null || host === '' || host === this.#lastAllowed) return true;
    const name = nameOf(host);
    const allowed =
      parseIp(name) !== null || name === 'localhost' || name.endsWith('.localhost') || this.#names.has(name);
    if (allowed) this.#lastAllowed = host;
    return allowed;
  }

  /** Throws ApiError if the request was made for another host. */
  check(request: Request): void {
    if (this.allows(request.headers.get('host'))) return;
    fail('misdirected_request', WRONG_HOST);
  }
}

/** Returns the host without its port, brackets and final dot, in lower case. */
function nameOf(host: string): string {
  const bracketed = /^\[([^\]]*)\](?::[0-9]*)?$/.exec(host);
  const name = bracketed?.[1] ?? (parseIp(host) ? host : host.replace(/:[0-9]*$/, ''));
  return name.toLowerCase().replace(/\.$/, '');
}
