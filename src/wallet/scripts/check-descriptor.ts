import { hash160 } from '../../crypto/hash-functions.ts';
import { equalBytes } from '../../util/bytes.ts';
import type { Descriptor, KeyEncoding } from '../descriptor/descriptor.ts';
import { type CachedKey, DescriptorCache } from '../descriptor/descriptor-cache.ts';
import { parseDescriptor } from '../descriptor/parse-descriptor.ts';
import { equalExtendedKeys } from '../keys/extended-key.ts';
import { NO_SIGNING_DATA, type SigningProvider } from '../keys/signing-data.ts';
import type { DescriptorRecord } from '../store/wallet-keys-store.ts';
import { WalletDamage } from '../wallet-error.ts';

/**
 * Throws WalletDamage unless the row, its text and its cache are consistent, as far as that can be checked without
 * private keys.
 */
export function checkDescriptor(
  record: DescriptorRecord,
  descriptor: Descriptor,
  cache: DescriptorCache,
  encoding: KeyEncoding,
): void {
  const { rangeStart, rangeEnd, nextIndex, filled, active, internal } = record;
  const fail: (problem: string) => never = (problem) => damaged(record, problem);
  if (!equalBytes(descriptor.id(), record.key)) fail('its id does not match its text');
  if (descriptor.toString() !== record.text) fail('its text is not written as the wallet writes it');
  const integers = [rangeStart, rangeEnd, nextIndex, filled].every(
    (value) => Number.isSafeInteger(value) && value >= 0,
  );
  // The filled indexes may lie beyond the range, where an import moved its start.
  if (!integers || rangeStart > nextIndex || rangeStart > filled || rangeStart > rangeEnd || nextIndex > rangeEnd)
    fail('its range is not valid');
  if (active !== null && (active !== descriptor.outputType || internal === null || !descriptor.isRange))
    fail('it is the source of addresses of a type that it does not make');
  if (record.outputType !== descriptor.outputType) fail('its type does not match its text');
  for (const { kind, index } of cache.entries())
    if (
      kind === 'derived' ? !Number.isSafeInteger(index) : index !== null || !['parent', 'lastHardened'].includes(kind)
    )
      fail('its derived keys are not valid');
  const normalized = descriptor.toNormalizedString(NO_SIGNING_DATA, cache) ?? descriptor.toString();
  if (normalized !== record.normalized) fail('its normalized text does not match its text and derived keys');
  const scripts = descriptor.expandFromCache(rangeStart, cache)?.scripts;
  if (!scripts) fail('its derived keys are not complete');
  const parsed = normalized === record.text ? null : parseDescriptor(normalized, encoding, { requireChecksum: true });
  if (parsed && !parsed.ok) fail('its normalized text cannot be read');
  const shown = parsed?.ok ? parsed.descriptors[0]! : descriptor;
  // With a hardened step behind the range no more can be checked without private keys.
  if (!shown.canSelfExpand) return;
  const derived = new DescriptorCache();
  const expected = shown.expand(rangeStart, NO_SIGNING_DATA, derived)?.scripts;
  if (!expected || !sameScripts(expected, scripts)) fail('its derived keys do not match its text');
  for (const entry of cache.entries()) {
    if (entry.kind === 'lastHardened') continue;
    const known = entry.kind === 'parent' ? derived.parent(entry.expression) : null;
    if (!known || !equalExtendedKeys(known, entry.key)) fail('its derived keys do not match its text');
  }
}

/** A descriptor as it was loaded. */
interface LoadedDescriptor {
  readonly record: DescriptorRecord;
  readonly descriptor: Descriptor;
  readonly cached: DescriptorCache;
}

/**
 * Derives the cached keys of a descriptor again from private keys, one index in each step. Throws WalletDamage where
 * they differ, or where the wallet has no key of the descriptor. `provider` returns all keys of the wallet, for each
 * step anew; it throws while they are locked.
 */
export function* deriveAgain(
  { record, descriptor, cached }: LoadedDescriptor,
  provider: () => SigningProvider,
): Generator<void, void> {
  const fail: (problem: string) => never = (problem) => damaged(record, problem);
  if (!hasOwnKey(descriptor, record.rangeStart, provider())) fail('the wallet has no private key of it');
  const stored = new Map([...cached.entries()].map((entry) => [nameOf(entry), entry.key]));
  const derived = [...cached.entries()].flatMap(({ kind, index }) => (kind === 'derived' ? index! : []));
  const indexes = new Set([record.rangeStart, ...derived]);
  const found = new Set<string>();
  for (const index of indexes) {
    const again = new DescriptorCache();
    if (!descriptor.expand(index, provider(), again)) fail('it cannot be derived from the private keys of the wallet');
    for (const entry of again.entries()) {
      const known = stored.get(nameOf(entry));
      if (!known || !equalExtendedKeys(known, entry.key)) fail('its derived keys are not those of the private keys');
      found.add(nameOf(entry));
    }
    yield;
  }
  if (found.size !== stored.size) fail('it has derived keys that do not belong to it');
}

/** Whether one of the private keys belongs to the descriptor. */
export function hasOwnKey(descriptor: Descriptor, index: number, provider: SigningProvider): boolean {
  if (!descriptor.hasScripts)
    return descriptor.rootKeys().extendedKeys.some(({ publicKey }) => provider.privateKey(hash160(publicKey)) !== null);
  const keys = descriptor.expandPrivate(index, provider);
  for (const key of keys) key.wipe();
  return keys.length > 0;
}

function sameScripts(a: readonly Uint8Array[], b: readonly Uint8Array[]): boolean {
  return a.length === b.length && a.every((script, i) => equalBytes(script, b[i]!));
}

function nameOf({ kind, expression, index }: CachedKey): string {
  return `${kind}/${expression}/${index ?? ''}`;
}

function damaged({ id }: DescriptorRecord, problem: string): never {
  throw new WalletDamage(`descriptor ${id} fails its check: ${problem}`);
}
