import { loadConfig } from '../config/load.ts';
import { hostPortText } from '../config/setting.ts';
import type { Config } from '../config/settings.ts';
import { type Command, UsageError } from './command.ts';
import { COMMON_OPTIONS } from './help-text.ts';

const PATHS: Readonly<Record<string, string>> = { live: '/healthz', ready: '/readyz' };
/** Longer than the 5 s that /readyz may take by its contract. */
const TIMEOUT_MS = 6000;

export const command: Command = {
  usage: 'probe live|ready [options]',
  description: `Probes the node that runs with the same settings. live: it answers. ready: it is synced and healthy.
The exit status is 0 if it is, else 1, for container health checks and timers.`,
  options: COMMON_OPTIONS,
  examples: ['obverse probe live', 'obverse probe ready --network regtest'],
  async run(args, { signal, out, err }) {
    const { config, positionals } = loadConfig(args);
    const [what = '', ...rest] = positionals;
    if (!Object.hasOwn(PATHS, what) || rest.length > 0) throw new UsageError('probe takes one of live, ready');
    const url = `${ownOrigin(config)}${PATHS[what]}`;
    try {
      const response = await fetch(url, {
        signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
        redirect: 'error',
        // The connection goes to loopback, so the name in the certificate is not checked.
        tls: { rejectUnauthorized: false },
      });
      const body = await response.text();
      if (response.status === 200) {
        out(`${what}\n`);
        return 0;
      }
      err(`not ${what}: ${failing(body) ?? `HTTP ${response.status}`}\n`);
    } catch (error) {
      err(`not ${what}: no answer from ${url}: ${error instanceof Error ? error.message : error}\n`);
    }
    return 1;
  },
};

/**
 * Returns the URL at which this host reaches the node: that of the first address of `http.listen`. A wildcard address
 * becomes loopback. Throws UsageError for port 0.
 */
export function ownOrigin({ http }: Pick<Config, 'http'>): string {
  const { host, port } = http.listen[0]!;
  if (port === 0) throw new UsageError('http.listen has port 0: the port the node got is not known');
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `${http.tls.cert ? 'https' : 'http'}://${hostPortText({ host: reachable, port })}`;
}

/**
 * Returns the failed checks of a /readyz body, as `degraded (chain: initial block download, disk)`; null for any other
 * body.
 */
export function failing(body: string): string | null {
  let ready: unknown;
  try {
    ready = JSON.parse(body);
  } catch {
    return null;
  }
  if (!isRecord(ready) || typeof ready.status !== 'string' || !isRecord(ready.checks)) return null;
  const parts = Object.entries(ready.checks).flatMap(([name, check]) => {
    if (!isRecord(check) || check.status === 'ok') return [];
    return typeof check.message === 'string' ? `${name}: ${check.message}` : name;
  });
  return `${ready.status} (${parts.join(', ')})`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
