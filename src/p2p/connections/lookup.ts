import { abortable } from '../../util/abort.ts';
import { DialError } from './dial.ts';
import { type Timing, within } from './timing.ts';

/** Addresses behind a name, as text. Rejects when there is none. */
export type Lookup = (host: string) => Promise<readonly string[]>;

/** The system may try several servers, each for some seconds. */
const TIMEOUT_MS = 30_000;

/** As `lookup`, within a time. Rejects with DialError when that is over, or with the signal's reason. */
export function lookUp(
  host: string,
  { lookup, timing }: { readonly lookup: Lookup; readonly timing: Timing },
  signal: AbortSignal,
): Promise<readonly string[]> {
  return within(timing, TIMEOUT_MS, abortable(lookup(host), signal), () => new DialError('name lookup timed out'));
}
