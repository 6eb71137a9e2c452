import { parseDescriptor } from '../../wallet/descriptor/parse.ts';
import { hideSecrets } from '../../wallet/keys/hide-secrets.ts';
import { SigningData } from '../../wallet/keys/signing-data.ts';
import type { ReadEnv } from '../readers/read-env.ts';
import { isObject, member, NumberText, type RpcValue } from './json.ts';
import { largeInteger, readString } from './params.ts';
import { rpcFail } from './rpc-error.ts';
import { anyOf, arr, maybe, num, obj, type Schema, str, tuple } from './schema.ts';

/** A descriptor, or one with the range of its keys. */
export const SCAN_OBJECTS: Schema = arr(
  anyOf(str('descriptor'), obj({ desc: str(), range: maybe(anyOf(num(), tuple([num(), num()]))) })),
);

const DEFAULT_RANGE_END = 1000;
const MAX_RANGE = 1_000_000;
const MAX_INDEX = 0x7fff_ffff;
/** Microseconds to derive one key. */
const DERIVE_US = 100;

/**
 * Puts what a descriptor stands for into `data`: public keys with their origins, scripts, and private keys with
 * `withPrivateKeys`. It is a text, or an object with a range of indexes. Returns its output scripts. Throws RpcError with
 * Core's texts.
 */
export function addScanObject(
  env: ReadEnv,
  value: RpcValue,
  data: SigningData,
  withPrivateKeys: boolean,
): Uint8Array[] {
  const scripts: Uint8Array[] = [];
  for (const { descriptor, index, expansion } of expansions(env, value, data)) {
    data.merge(expansion.data);
    scripts.push(...expansion.scripts);
    if (withPrivateKeys) for (const key of descriptor.expandPrivate(index, data)) data.addPrivateKey(key);
  }
  return scripts;
}

/** The output scripts that some scan objects stand for, each as it is derived. Throws RpcError with Core's texts. */
export function* scannedScripts(env: ReadEnv, objects: readonly RpcValue[]): Generator<Uint8Array> {
  for (const value of objects)
    for (const { expansion } of expansions(env, value, new SigningData())) yield* expansion.scripts;
}

/** What a scan object stands for, index by index; its own keys are put into `data`. */
function* expansions(env: ReadEnv, value: RpcValue, data: SigningData) {
  const { text, range } = readScanObject(value);
  const parsed = parseDescriptor(text, env.params, { requireChecksum: false });
  const { descriptors, keys } = parsed.ok ? parsed : rpcFail('invalidAddressOrKey', parsed.error);
  data.merge(keys);
  const [begin, end] = descriptors[0]!.isRange ? range : [0, 0];
  env.expectWork((end - begin + 1) * descriptors.length * descriptors[0]!.keyCount * DERIVE_US);
  for (let index = begin; index <= end; index++) {
    // Whoever does not wait any longer is not served any longer.
    env.expectWork(0);
    for (const descriptor of descriptors) {
      const expansion =
        descriptor.expand(index, data) ??
        rpcFail('invalidAddressOrKey', `Cannot derive script without private keys: '${hideSecrets(text)}'`);
      yield { descriptor, index, expansion };
    }
  }
}

function readScanObject(value: RpcValue): { readonly text: string; readonly range: readonly [number, number] } {
  if (typeof value === 'string') return { text: value, range: [0, DEFAULT_RANGE_END] };
  if (!isObject(value)) return rpcFail('invalidParameter', 'Scan object needs to be either a string or an object');
  const descriptor = member(value, 'desc');
  if (descriptor === null) return rpcFail('invalidParameter', 'Descriptor needs to be provided in scan object');
  const text = readString(descriptor);
  const range = member(value, 'range');
  return { text, range: range === null ? [0, DEFAULT_RANGE_END] : readRange(range) };
}

function readRange(value: RpcValue): [number, number] {
  const [begin, end] = readBounds(value);
  if (begin < 0) rpcFail('invalidParameter', 'Range should be greater or equal than 0');
  if (end < 0 || end > MAX_INDEX) rpcFail('invalidParameter', 'End of range is too high');
  if (end >= begin + MAX_RANGE) rpcFail('invalidParameter', 'Range is too large');
  return [begin, end];
}

/** `end`, or `[begin, end]`. */
function readBounds(value: RpcValue): [number, number] {
  const index = largeInteger('range');
  if (value instanceof NumberText) return [0, index.read(value)];
  const [low, high] = Array.isArray(value) && value.length === 2 ? (value as RpcValue[]) : [];
  if (!(low instanceof NumberText) || !(high instanceof NumberText))
    return rpcFail('invalidParameter', 'Range must be specified as end or as [begin,end]');
  const [begin, end] = [index.read(low), index.read(high)];
  if (begin > end) return rpcFail('invalidParameter', 'Range specified as [begin,end] must not have begin after end');
  return [begin, end];
}
