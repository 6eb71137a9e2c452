import { fail } from '../http/errors.ts';
import { checkValues, hashInput, invalid } from '../http/input.ts';
import { mediaType } from '../http/media-type.ts';

const MAX_TXIDS = 1000;
/** Limit of the body, bytes: the maximum number of ids, with any indentation. */
export const TXIDS_BODY = 256 * 1024;
/** Text is included, because fetch sends strings with that type. */
const JSON_TYPES: readonly string[] = ['application/json', 'text/plain'];

/** Returns the ids of a body `{"txids":[…]}` in lower case. Throws ApiError. */
export async function readTxids(request: Request): Promise<string[]> {
  const type = mediaType(request);
  if (type !== '' && !JSON_TYPES.includes(type))
    fail('unsupported_media_type', `unsupported media type ${type}`, { accepted: JSON_TYPES });
  const bytes = await request.bytes();
  await checkValues(bytes, MAX_TXIDS + 10);
  let body: unknown;
  try {
    body = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return fail('invalid_request', 'the body is not JSON');
  }
  const txids = typeof body === 'object' && body !== null && 'txids' in body ? body.txids : null;
  if (!Array.isArray(txids) || txids.length > MAX_TXIDS)
    return invalid('txids', `must be a list of at most ${MAX_TXIDS} ids`);
  return txids.map((txid: unknown) => hashInput(typeof txid === 'string' ? txid : '', 'invalid_txid'));
}
