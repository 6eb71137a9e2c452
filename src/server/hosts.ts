import { fail } from '../http/errors.ts';
import { parseIp } from '../http/ip.ts';

export const WRONG_HOST = 'Host names another server; http.allowedHosts lists further names of this one';

interface HostNames {
  readonly allowedHosts: readonly string[];
  readonly publicUrl: string | null;
  /** Of the listener. */
  readonly bindHost: string;
}

/**
 * The host names of this server. A page of a foreign site can have its own name resolve to this address (DNS rebinding),
 * and the browser then lets it read replies; such requests carry that name in `Host`. An address in `Host` cannot be
 * made to point elsewhere.
 */
export class HostPolicy {
  readonly #names: ReadonlySet<string>;

  constructor({ allowedHosts, publicUrl, bindHost }: HostNames) {
    const names = [bindHost, ...(publicUrl === null ? [] : [new URL(publicUrl).host]), ...allowedHosts];
    this.#names = new Set(names.map(nameOf));
  }

  /** `host` is the header's value. A request without one, as of HTTP/1.0, comes from no browser. */
  allows(host: string | null): boolean {
    if (host === null || host === '') return true;
    const name = nameOf(host);
    return parseIp(name) !== null || name === 'localhost' || name.endsWith('.localhost') || this.#names.has(name);
  }

  /** Throws ApiError on a request that was made for another host. */
  check(request: Request): void {
    if (this.allows(request.headers.get('host'))) return;
    fail('misdirected_request', WRONG_HOST);
  }
}

/** The host without its port, brackets and final dot, in lower case. */
function nameOf(host: string): string {
  const bracketed = /^\[([^\]]*)\](?::[0-9]*)?$/.exec(host);
  const name = bracketed?.[1] ?? (parseIp(host) ? host : host.replace(/:[0-9]*$/, ''));
  return name.toLowerCase().replace(/\.$/, '');
}
