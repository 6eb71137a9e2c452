import { abortable } from '../../util/abort.ts';
import { DialError } from './dial.ts';
import { type Timing, within } from './timing.ts';

/** Resolves a host name to numeric addresses. Rejects if there is none. */
export type Lookup = (host: string) => Promise<readonly string[]>;

/** The system may query several servers for some seconds each. */
const TIMEOUT_MS = 30_000;

/** Resolves a host name with a time limit. Rejects with DialError after it, or with the signal's reason. */
export function lookUp(
  host: string,
  { lookup, timing }: { readonly lookup: Lookup; readonly timing: Timing },
  signal: AbortSignal,
): Promise<readonly string[]> {
  return within(timing, TIMEOUT_MS, abortable(lookup(host), signal), () => new DialError('name lookup timed out'));
}
