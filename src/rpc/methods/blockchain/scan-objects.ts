import type { ReadEnv } from '../../../queries/read-env.ts';
import { hideSecrets } from '../../../wallet/keys/hide-secrets.ts';
import { SigningData } from '../../../wallet/keys/signing-data.ts';
import { isObject, member, type RpcValue } from '../../engine/json.ts';
import { readString } from '../../engine/params.ts';
import { rpcFail } from '../../engine/rpc-error.ts';
import { anyOf, arr, maybe, obj, type Schema, str } from '../../engine/schema.ts';
import { expectDerivations, RANGE, type Range, readDescriptors, readRange } from '../util/descriptor-input.ts';

/** Schema of a list of descriptors, each as text or with the range of its keys. */
export const SCAN_OBJECTS: Schema = arr(
  anyOf(
    str('descriptor; a range is derived from index 0 to 1000'),
    obj({ desc: str('descriptor'), range: maybe(RANGE) }),
  ),
);

const DEFAULT_RANGE: Range = [0, 1000];

/** Number of keys that the scan objects of a call have derived so far; the sum is bounded. */
export interface Derived {
  count: number;
}

/**
 * Adds the public keys with their origins and the scripts of descriptors to `data`, and with `withPrivateKeys` the
 * private keys as well. Throws RpcError with Core's texts.
 */
export function addScanObjects(
  env: ReadEnv,
  values: readonly RpcValue[],
  data: SigningData,
  withPrivateKeys: boolean,
): void {
  const derived: Derived = { count: 0 };
  for (const value of values) expandScanObject(env, value, data, { withPrivateKeys, derived });
}

/** Adds the keys and scripts of one scan object to `data`, and returns its output scripts. */
export function expandScanObject(
  env: ReadEnv,
  value: RpcValue,
  data: SigningData,
  { withPrivateKeys, derived }: { readonly withPrivateKeys: boolean; readonly derived: Derived },
): Uint8Array[] {
  const scripts: Uint8Array[] = [];
  for (const { descriptor, index, expansion } of expansions(env, value, data, derived)) {
    data.merge(expansion.data);
    scripts.push(...expansion.scripts);
    if (withPrivateKeys) for (const key of descriptor.expandPrivate(index, data)) data.addPrivateKey(key);
  }
  return scripts;
}

/** Yields the output scripts of scan objects as they are derived. Throws RpcError with Core's texts. */
export function* scannedScripts(env: ReadEnv, objects: readonly RpcValue[]): Generator<Uint8Array> {
  const derived: Derived = { count: 0 };
  for (const value of objects)
    for (const { expansion } of expansions(env, value, new SigningData(), derived)) yield* expansion.scripts;
}

/** Yields the expansions of a scan object, index by index, and adds the keys in its text to `data`. */
function* expansions(env: ReadEnv, value: RpcValue, data: SigningData, derived: Derived) {
  const { text, range } = readScanObject(value);
  const { descriptors, keys } = readDescriptors(env, text, false);
  data.merge(keys);
  const [begin, end] = descriptors[0]!.isRange ? range : [0, 0];
  const derivations = (end - begin + 1) * descriptors.length * descriptors[0]!.keyCount;
  expectDerivations(env, derivations, derived.count);
  derived.count += derivations;
  for (let index = begin; index <= end; index++)
    for (const descriptor of descriptors) {
      // Stops here if the caller has left.
      env.expectWork(0);
      const expansion =
        descriptor.expand(index, data) ??
        rpcFail('invalidAddressOrKey', `Cannot derive script without private keys: '${hideSecrets(text)}'`);
      yield { descriptor, index, expansion };
    }
}

function readScanObject(value: RpcValue): { readonly text: string; readonly range: Range } {
  if (typeof value === 'string') return { text: value, range: DEFAULT_RANGE };
  if (!isObject(value)) return rpcFail('invalidParameter', 'Scan object needs to be either a string or an object');
  const descriptor = member(value, 'desc');
  if (descriptor === null) return rpcFail('invalidParameter', 'Descriptor needs to be provided in scan object');
  const text = readString(descriptor);
  const range = member(value, 'range');
  return { text, range: range === null ? DEFAULT_RANGE : readRange(range) };
}
