import { invalid } from '../http/input.ts';
import type { DescriptorInput } from '../queries/descriptor-usage.ts';
import { checkNoPrivateKey } from '../queries/watched-descriptor.ts';
import { readJsonBody } from './json-body.ts';

const DEFAULT_GAP_LIMIT = 20;
const MAX_GAP_LIMIT = 1000;
/** Limit of the body, bytes: a multisig of the maximum size with the origins of its keys. */
export const XPUB_BODY = 32 * 1024;
/** Scripts that cost as much as one call. */
const SCRIPTS_PER_CALL = 100;
/** Branches that most descriptors have. */
const BRANCHES = 2;
const MAX_VALUES = 100;
/** Text is included, because fetch sends strings with that type. */
const JSON_TYPES: readonly string[] = ['application/json', 'text/plain'];

/**
 * Returns the descriptor and the gap limit of a body `{"descriptor":…}`. Throws ApiError, for a private key before
 * anything else; no error shows the descriptor.
 */
export async function readDescriptorBody(request: Request): Promise<DescriptorInput> {
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

/** Returns the cost of a request beyond that of one call: it looks up so many scripts at least. */
export function extraCost({ gapLimit }: DescriptorInput): number {
  return Math.max(0, Math.ceil((gapLimit * BRANCHES) / SCRIPTS_PER_CALL) - 1);
}
