import { hashInput, invalid } from '../http/input.ts';
import { readJsonBody } from './json-body.ts';

const MAX_TXIDS = 1000;
/** Limit of the body, bytes: the maximum number of ids, with any indentation. */
export const TXIDS_BODY = 256 * 1024;
/** Text is included, because fetch sends strings with that type. */
const JSON_TYPES: readonly string[] = ['application/json', 'text/plain'];

/** Returns the ids of a body `{"txids":[…]}` in lower case. Throws ApiError. */
export async function readTxids(request: Request): Promise<string[]> {
  const body = await readJsonBody(request, { types: JSON_TYPES, maxValues: MAX_TXIDS + 10 });
  const txids = typeof body === 'object' && body !== null && 'txids' in body ? body.txids : null;
  if (!Array.isArray(txids) || txids.length > MAX_TXIDS)
    return invalid('txids', `must be a list of at most ${MAX_TXIDS} ids`);
  return txids.map((txid: unknown) => hashInput(typeof txid === 'string' ? txid : '', 'invalid_txid'));
}
