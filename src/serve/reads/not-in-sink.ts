import { fail } from '../../http/errors.ts';

/** Throws `feature_disabled` for data that the tables of a sink do not have. */
export function notInSink(data: string): never {
  return fail('feature_disabled', `a server that reads the tables of a sink has no ${data}`, { feature: 'sink_reads' });
}
