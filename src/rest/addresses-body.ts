import { ApiError } from '../http/errors.ts';
import { invalid } from '../http/input.ts';
import { slicePauses } from '../http/slice-pauses.ts';
import type { NetworkParams } from '../params/network-params.ts';
import { readScriptInput, type ScriptInput } from '../queries/script-input.ts';
import { readJsonBody } from './json-body.ts';

const MAX_ADDRESSES = 1000;
/** Limit of the body, bytes: the maximum number of addresses, with any indentation. */
export const ADDRESSES_BODY = 256 * 1024;
/** Text is included, because fetch sends strings with that type. */
const JSON_TYPES: readonly string[] = ['application/json', 'text/plain'];
/** Time limit of one slice on the main thread, milliseconds. */
const SLICE_MS = 1;

/**
 * Returns the scripts of a body `{"addresses":[…]}` in their order. It yields between slices. Throws ApiError, with the
 * index of an invalid address.
 */
export async function readAddresses(request: Request, params: NetworkParams): Promise<ScriptInput[]> {
  const body = await readJsonBody(request, { types: JSON_TYPES, maxValues: MAX_ADDRESSES + 10 });
  const texts: unknown = typeof body === 'object' && body !== null && 'addresses' in body ? body.addresses : null;
  if (!Array.isArray(texts) || texts.length > MAX_ADDRESSES)
    return invalid('addresses', `must be a list of at most ${MAX_ADDRESSES} addresses`);
  const scripts: ScriptInput[] = [];
  const pause = slicePauses(SLICE_MS);
  for (const [index, text] of (texts as unknown[]).entries()) {
    scripts.push(readOne(text, index, params));
    await pause();
  }
  return scripts;
}

function readOne(text: unknown, index: number, params: NetworkParams): ScriptInput {
  try {
    return readScriptInput(typeof text === 'string' ? text : '', params);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw new ApiError(error.failure, `address ${index}: ${error.message}`, { ...error.details, index });
  }
}
