import { hideSecrets } from '../../wallet/keys/hide-secrets.ts';
import { SigningData } from '../../wallet/keys/signing-data.ts';
import type { ReadEnv } from '../readers/read-env.ts';
import { expectDerivations, RANGE, type Range, readDescriptors, readRange } from './descriptor-input.ts';
import { isObject, member, type RpcValue } from './json.ts';
import { readString } from './params.ts';
import { rpcFail } from './rpc-error.ts';
import { anyOf, arr, maybe, obj, type Schema, str } from './schema.ts';

/** A descriptor, or one with the range of its keys. */
export const SCAN_OBJECTS: Schema = arr(anyOf(str('descriptor'), obj({ desc: str(), range: maybe(RANGE) })));

const DEFAULT_RANGE: Range = [0, 1000];

/** How many keys the scan objects of a call took so far: together they are bounded. */
export interface Derived {
  count: number;
}

/**
 * Puts what descriptors stand for into `data`: public keys with their origins, scripts, and private keys with
 * `withPrivateKeys`. Each is a text, or an object with a range of indexes. Throws RpcError with Core's texts.
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

/** The same of one of them. Returns its output scripts. */
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

/** The output scripts that some scan objects stand for, each as it is derived. Throws RpcError with Core's texts. */
export function* scannedScripts(env: ReadEnv, objects: readonly RpcValue[]): Generator<Uint8Array> {
  const derived: Derived = { count: 0 };
  for (const value of objects)
    for (const { expansion } of expansions(env, value, new SigningData(), derived)) yield* expansion.scripts;
}

/** What a scan object stands for, index by index; its own keys are put into `data`. */
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
      // Whoever does not wait any longer is not served any longer.
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
