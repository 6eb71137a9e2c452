import { invalid } from '../http/input.ts';
import {
  type DescriptorInput,
  MAX_DERIVED_KEYS,
  MAX_DERIVED_SCRIPTS,
  MAX_SCRIPTS_OF_INDEX,
} from '../queries/descriptor-usage.ts';
import { checkNoPrivateKey, sizeOfDescriptor } from '../queries/watched-descriptor.ts';
import { UNITS_PER_CALL } from './call-costs.ts';
import { readJsonBody } from './json-body.ts';

const DEFAULT_GAP_LIMIT = 20;
const MAX_GAP_LIMIT = 1000;
/** Limit of the body, bytes: a multisig of the maximum size with the origins of its keys. */
export const XPUB_BODY = 32 * 1024;
const MAX_VALUES = 100;
/** Text is included, because fetch sends strings with that type. */
const JSON_TYPES: readonly string[] = ['application/json', 'text/plain'];

/**
 * Returns the descriptor and the gap limit of a body `{"descriptor":…}`. Throws ApiError, for a private key before
 * anything else; no error shows the descriptor.
 */
export async function readDescriptorBody(request: Request): Promise<Omit<DescriptorInput, 'examined'>> {
  const body = await readJsonBody(request, { types: JSON_TYPES, maxValues: MAX_VALUES });
  const members: Readonly<Record<string, unknown>> = typeof body === 'object' && body !== null ? { ...body } : {};
  const { descriptor, gapLimit = DEFAULT_GAP_LIMIT } = members;
  if (typeof descriptor === 'string') checkNoPrivateKey(descriptor);
  if (typeof descriptor !== 'string' || descriptor === '')
    return invalid('descriptor', 'must be a descriptor or an extended public key');
  if (typeof gapLimit !== 'number' || !Number.isInteger(gapLimit) || gapLimit < 1 || gapLimit > MAX_GAP_LIMIT)
    return invalid('gapLimit', `must be a number from 1 to ${MAX_GAP_LIMIT}`);
  return { descriptor: descriptor.trim(), gapLimit };
}

/**
 * Returns the cost of a request beyond that of one call: that of the keys that it derives at least, as those of unused
 * addresses, or of the indexes that an earlier page has examined.
 */
export function extraCost({ descriptor, gapLimit, examined }: DescriptorInput): number {
  const { isRange, branches, keys } = sizeOfDescriptor(descriptor);
  const indexes = !isRange ? 1 : (examined?.reduce((sum, count) => sum + count, 0) ?? gapLimit * branches);
  const scripts = descriptor.startsWith('combo(') ? MAX_SCRIPTS_OF_INDEX : 1;
  // A request that would derive more is refused.
  const derived = Math.min(MAX_DERIVED_KEYS, Math.min(MAX_DERIVED_SCRIPTS, indexes * scripts) * keys);
  return Math.max(0, Math.ceil(derived / UNITS_PER_CALL.xpubKeys) - 1);
}
