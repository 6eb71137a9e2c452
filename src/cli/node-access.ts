import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readApiKey } from '../config/api-key.ts';
import type { Config } from '../config/settings.ts';
import { OperatorError } from '../util/operator-error.ts';
import { ownOrigin } from './probe-command.ts';

export interface NodeRequest {
  /** Path and query, such as `/wallet/default`. */
  readonly path: string;
  /** JSON text to post; a GET without it. */
  readonly body?: string;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** Uses the cookie file where there is one, also beside a key: what a call may name depends on it. */
  readonly prefersCookie?: boolean;
}

export interface NodeReply {
  readonly status: number;
  readonly text: string;
}

/**
 * Sends one request to the node that runs with these settings on this host, with the operator's key or the cookie.
 * Throws OperatorError where no node answers.
 */
export async function requestNode(
  config: Pick<Config, 'http' | 'networkDir'>,
  { path, body, signal, timeoutMs, prefersCookie = false }: NodeRequest,
): Promise<NodeReply> {
  const origin = ownOrigin(config);
  const authorization = (prefersCookie ? cookieOf(config) : null) ?? credentials(config);
  try {
    const response = await fetch(`${origin}${path}`, {
      headers: { authorization, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { method: 'POST', body }),
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      redirect: 'error',
      // The runtime gives up after five minutes otherwise.
      timeout: false,
      // The connection goes to this host, so the name in the certificate is not checked.
      tls: { rejectUnauthorized: false },
    });
    return { status: response.status, text: await response.text() };
  } catch (error) {
    if (signal.aborted) throw new OperatorError('interrupted');
    if (error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED')
      throw new OperatorError(
        `nothing listens on ${origin}: start the node, or give the http.listen that it has (--http.listen HOST:PORT)`,
      );
    throw new OperatorError(`no answer from ${origin}: ${error instanceof Error ? error.message : error}`);
  }
}

/** Returns the header of the cookie file; null where it cannot be read. */
function cookieOf({ networkDir }: Pick<Config, 'networkDir'>): string | null {
  try {
    return basic(readFileSync(join(networkDir, '.cookie'), 'utf8'));
  } catch {
    return null;
  }
}

function basic(cookie: string): string {
  return `Basic ${Buffer.from(cookie.trim()).toString('base64')}`;
}

/** Returns the header of the operator's own key, else of the cookie file. Throws OperatorError without either. */
function credentials({ networkDir }: Pick<Config, 'networkDir'>): string {
  const key = readApiKey(process.env)?.key;
  if (key) return `Bearer ${key}`;
  const file = join(networkDir, '.cookie');
  try {
    return basic(readFileSync(file, 'utf8'));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new OperatorError(
      code === 'EACCES'
        ? `${file} belongs to another user: run this as the user of the node, or set OBVERSE_API_KEY_FILE`
        : `no node runs on ${networkDir}: it has no cookie file, and neither OBVERSE_API_KEY nor OBVERSE_API_KEY_FILE is set`,
    );
  }
}
