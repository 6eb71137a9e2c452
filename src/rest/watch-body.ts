import type { WatchRequest } from '../feed/stored-watches.ts';
import { readTarget, readThresholds, WATCH_KINDS } from '../feed/watch-values.ts';
import { ApiError, fail } from '../http/errors.ts';
import { invalid } from '../http/input.ts';
import { slicePauses } from '../http/slice-pauses.ts';
import type { NetworkParams } from '../params/network-params.ts';
import { readJsonBody } from './json-body.ts';

/** Maximum number of watches, or ids, of one request. */
export const MAX_BULK = 1000;
/** Limit of the body, bytes: the maximum number of watches with long labels. */
export const WATCHES_BODY = 1024 ** 2;
/** Maximum number of JSON values of that many watches with their numbers of confirmations. */
const MAX_VALUES = 30_000;
const MAX_LABEL = 200;
const WATCH_ID = /^[a-z2-7]{16}$/;
/** Time limit of one slice, milliseconds; the check of an address takes microseconds. */
const SLICE_MS = 1.5;
/** The text type is that of strings in fetch, and the last type is the default of curl. */
const JSON_TYPES: readonly string[] = ['application/json', 'text/plain', 'application/x-www-form-urlencoded'];

type Members = Readonly<Record<string, unknown>>;

/** The watches of a request: one watch, or a list. */
export interface WatchesBody {
  readonly requests: readonly WatchRequest[];
  readonly isList: boolean;
}

/**
 * Reads the body of `POST /api/watches`: a watch, or `{"watches":[…]}`. Throws ApiError, which names the invalid watch
 * of a list.
 */
export async function readWatches(request: Request, params: NetworkParams): Promise<WatchesBody> {
  const body = await readObject(request);
  if (!('watches' in body)) return { requests: [readWatch(body, '', null, params)], isList: false };
  const list = body.watches;
  if (!Array.isArray(list) || list.length === 0 || list.length > MAX_BULK)
    return fail('invalid_parameter', `watches must be a list of 1 to ${MAX_BULK}`, {
      parameter: 'watches',
      reason: `must be a list of 1 to ${MAX_BULK}`,
      limit: MAX_BULK,
    });
  const requests: WatchRequest[] = [];
  const pause = slicePauses(SLICE_MS);
  for (const [index, each] of list.entries()) {
    requests.push(readWatch(each, `watches.${index}.`, index, params));
    await pause();
  }
  return { requests, isList: true };
}

/** Returns the ids of a `DELETE /api/watches` from its query or its body; null for all watches. Throws ApiError. */
export async function readRemoval(
  request: Request,
  query: { readonly ids?: string | undefined; readonly all?: string | undefined },
): Promise<readonly string[] | null> {
  const inQuery = query.ids !== undefined || query.all !== undefined;
  const { ids, all } = inQuery ? { ids: query.ids?.split(','), all: flag(query.all) } : await readObject(request);
  if (all !== undefined && typeof all !== 'boolean') invalid('all', 'must be true or false');
  if (all === true && ids !== undefined) invalid('all', 'does not go with ids');
  if (all === true) return null;
  if (!Array.isArray(ids) || ids.length === 0 || ids.length > MAX_BULK)
    return invalid('ids', `must be a list of 1 to ${MAX_BULK}; to remove all watches send "all": true`);
  for (const id of ids) if (!isWatchId(id)) invalid('ids', 'must be a list of watch ids');
  return ids as string[];
}

export function isWatchId(id: unknown): id is string {
  return typeof id === 'string' && WATCH_ID.test(id);
}

/** Returns the boolean of `true` and `false`, and any other text unchanged. */
function flag(text: string | undefined): unknown {
  return text === 'true' ? true : text === 'false' ? false : text;
}

async function readObject(request: Request): Promise<Members> {
  const body = await readJsonBody(request, { types: JSON_TYPES, maxValues: MAX_VALUES, empty: {} });
  return isObject(body)
    ? body
    : fail('invalid_request', 'the body must be an object; a list of watches belongs in its member watches');
}

function readWatch(given: unknown, prefix: string, index: number | null, params: NetworkParams): WatchRequest {
  const refuse = (name: string, error: ApiError): never => {
    const parameter = (prefix + name).replace(/\.$/, '') || 'watch';
    const details = { ...error.details, parameter, ...(index !== null && { index }) };
    throw new ApiError(error.failure, `${details.parameter}: ${error.message}`, details);
  };
  const wrong = (name: string, reason: string): never =>
    refuse(name, new ApiError('invalid_parameter', reason, { reason }));
  if (!isObject(given)) return wrong('', 'must be an object');
  const { kind, value, confirmations, label } = given;
  const known = WATCH_KINDS.find((each) => each === kind) ?? wrong('kind', `must be one of ${WATCH_KINDS.join(', ')}`);
  if (typeof value !== 'string') return wrong('value', 'must be a text');
  if (label !== undefined && label !== null && !isLabel(label))
    return wrong('label', `must be a text of at most ${MAX_LABEL} characters, or null`);
  const thresholds = confirmations === undefined ? undefined : readThresholds(confirmations);
  if (typeof thresholds === 'string') return wrong('confirmations', thresholds);
  try {
    return { ...readTarget(known, value, params), confirmations: thresholds, label };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return refuse('value', error);
  }
}

function isLabel(label: unknown): label is string {
  return typeof label === 'string' && label.length <= MAX_LABEL && label.isWellFormed();
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
