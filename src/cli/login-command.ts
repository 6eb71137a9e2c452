import { DEFAULT_SESSION_SCOPES, SESSION_SCOPES, sessionScopesOf } from '../auth/session-scopes.ts';
import { loadConfig } from '../config/load.ts';
import type { Config } from '../config/settings.ts';
import { hostClock, unixSeconds } from '../util/clock.ts';
import { durationText } from '../util/duration.ts';
import { type Command, UsageError } from './command.ts';
import { COMMON_OPTIONS } from './help-text.ts';
import { requestNode } from './node-access.ts';
import { splitOwnFlags } from './own-flags.ts';
import { ownOrigin } from './probe-command.ts';

const REQUEST_MS = 30_000;

interface Issued {
  readonly id: string;
  readonly code: string;
  readonly expiresAt: number;
  readonly scopes: readonly string[];
}

export const command: Command = {
  usage: 'login [--scopes LIST] [--json] [options]',
  description: `Prints a code with which a browser logs in to the dashboard of the node that runs with the same settings on this
host. The code is valid once, for ten minutes; no API key reaches the browser.

The session ends after eight hours, thirty minutes without a request, or a restart of the node. With the scope admin it
ends after thirty minutes, and reads the keys and the audit log; it changes neither.

The key is OBVERSE_API_KEY or the file that OBVERSE_API_KEY_FILE names, else the cookie file of the data directory; it
needs the scope admin. A session ends with the key that made its code.

Scopes: ${SESSION_SCOPES.join(', ')}.`,
  options: [
    ['--scopes LIST', `rights of the session, by comma (default ${DEFAULT_SESSION_SCOPES.join(',')})`],
    ['--json', 'print the code, its end, its scopes and the URL as JSON'],
    ...COMMON_OPTIONS,
  ],
  examples: [
    'obverse login',
    'obverse login --scopes read,broadcast',
    'obverse login --scopes admin --network regtest',
  ],
  async run(args, { signal, out, err }) {
    const { values, rest } = splitOwnFlags(args, { '--scopes': 'list', '--json': 'switch' });
    const { config, positionals } = loadConfig(rest);
    if (positionals.length > 0) throw new UsageError(`login takes no argument: ${positionals[0]}`);
    const scopes = readScopes(values.get('--scopes'));
    const { status, text } = await requestNode(config, {
      path: '/',
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'createlogincode', params: [scopes] }),
      signal,
      timeoutMs: REQUEST_MS,
    });
    const reply = readReply(text);
    if (reply.result === undefined) {
      err(`obverse: there is no code: ${reply.problem ?? `the node answers with HTTP ${status}`}\n`);
      return 1;
    }
    const url = dashboardUrl(config);
    const issued = reply.result;
    out(values.has('--json') ? `${JSON.stringify({ ...issued, url })}\n` : codeText(issued, url));
    return 0;
  },
};

function codeText({ code, expiresAt, scopes }: Issued, url: string): string {
  const left = durationText(Math.max(0, expiresAt - unixSeconds(hostClock)));
  return `${code}\n\nEnter this code at ${url}\nIt is valid once, for ${left}. Scopes: ${scopes.join(', ')}.\n`;
}

function readScopes(given: readonly string[] | undefined): readonly string[] {
  if (given === undefined) return DEFAULT_SESSION_SCOPES;
  const texts = given.flatMap((list) => list.split(',')).map((text) => text.trim());
  const known = sessionScopesOf(texts);
  if (known) return known;
  const unknown = texts.find((text) => sessionScopesOf([text]) === null);
  throw new UsageError(`a session cannot hold the scope '${unknown}': it can hold ${SESSION_SCOPES.join(', ')}`);
}

/** Returns the page at the public URL, where there is one, since that is how a browser reaches the node. */
function dashboardUrl(config: Pick<Config, 'http'>): string {
  const base = config.http.publicUrl?.replace(/\/+$/, '') ?? ownOrigin(config);
  return `${base}/dashboard`;
}

function readReply(text: string): { readonly result?: Issued; readonly problem?: string } {
  try {
    const { result, error } = JSON.parse(text) as { result?: Issued | null; error?: { message: string } | null };
    return error ? { problem: error.message } : result ? { result } : {};
  } catch {
    return {};
  }
}
