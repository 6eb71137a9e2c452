import { WHOLE } from '../feed/event-cursor.ts';
import { CURSOR_FAULTS, type ResumePoint } from '../feed/event-history.ts';
import type { EventLog } from '../feed/event-log.ts';
import { fail } from '../http/errors.ts';
import { invalid } from '../http/input.ts';
import type { RestContext } from './rest-context.ts';

/** Time limit for loading the watches of keys, milliseconds. */
const LOAD_MS = 5000;
const SEQ = /^(?:0|[1-9][0-9]{0,15})$/;
const NUMBER = /^-?[0-9.]+$/;

/**
 * Returns the point that a client resumes from, by a cursor or by a number; the present end of the log without either.
 * `parameter` names the source of the text in errors.
 */
export function resumePoint(
  after: string | undefined,
  events: EventLog,
  parameter: string,
): { readonly from: ResumePoint; readonly byCursor: boolean } {
  if (after === undefined || NUMBER.test(after)) {
    const seq = after === undefined ? events.end.seq : SEQ.test(after) ? Number(after) : Number.POSITIVE_INFINITY;
    const from = events.behind(seq, WHOLE);
    return from ? { from, byCursor: false } : invalid(parameter, 'must be the cursor or the seq of an event');
  }
  const found = events.locate(after);
  if (typeof found !== 'string') return { from: found, byCursor: true };
  return fail('invalid_cursor', CURSOR_FAULTS[found], { parameter, reason: found });
}

/** Waits for the stored watches of keys, which derived events depend on. Throws ApiError `warming_up` after a time. */
export async function watchesLoaded({ watches }: Pick<RestContext, 'watches'>): Promise<void> {
  if (!watches.isLoaded) await Promise.race([watches.loaded, Bun.sleep(LOAD_MS)]);
  if (!watches.isLoaded) fail('warming_up', 'the watches of keys are still loading');
}
