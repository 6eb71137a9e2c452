import type { ChainEntry } from '../chain/chain-entry.ts';
import { medianTimePast } from '../consensus/header-entry.ts';
import { addressOf } from '../script/address.ts';
import type { RpcErrorName } from '../util/rpc-error-codes.ts';
import { runInSlices, type Steps } from '../util/slices.ts';
import type { Descriptor } from './descriptor/descriptor.ts';
import { parseDescriptor } from './descriptor/parse.ts';
import type { SigningData } from './keys/signing-data.ts';
import type { OwnedDescriptor } from './scripts/owned-descriptor.ts';
import type { Wallet } from './wallet.ts';
import { WalletError, walletFail } from './wallet-error.ts';
import { ensureShortText } from './wallet-text.ts';

/** One of the descriptors that a client brings, as JSON; `timestamp` is checked. */
export interface DescriptorImport {
  readonly timestamp: number | 'now';
  readonly desc?: unknown;
  readonly active?: unknown;
  readonly range?: unknown;
  readonly next_index?: unknown;
  readonly internal?: unknown;
  readonly label?: unknown;
}

export interface ImportOutcome {
  readonly warnings: readonly string[];
  readonly error: { readonly kind: RpcErrorName; readonly message: string } | null;
}

/** Core's TIMESTAMP_WINDOW: how far the times of blocks may be off. */
const TIMESTAMP_WINDOW_S = 7200;
/** Blocks before the one where the median passes a time that may bear it. */
const LATE_BLOCKS = 1000;
const MAX_RANGE = 1_000_000;
/** Characters: a multi_a() of as many extended keys as it may have, each with its origin, takes some 150,000. */
const MAX_TEXT = 200_000;
/** Descriptors that one with several paths `<0;1>` stands for; two are common. */
const MAX_PATHS = 10;
/** One more than a multi_a() has at most. */
const MAX_KEYS = 1000;
/** Participants of all its musig(). Each costs a multiplication on the curve, about a millisecond, at every index. */
const MAX_AGGREGATED_KEYS = 30;
const MAX_INDEX = 0x7fff_ffff;

/** Adds descriptors and finds what concerns them in the chain. Throws WalletError where none of them can be looked at. */
export async function importDescriptors(
  wallet: Wallet,
  requests: readonly DescriptorImport[],
): Promise<ImportOutcome[]> {
  wallet.scanner.ensureNotScanning();
  wallet.ensureUnlockedAndSound();
  const { tip } = wallet.deps.chain;
  const now = medianTimePast(tip);
  const times = requests.map(({ timestamp }) => Math.max(timestamp === 'now' ? now : timestamp, 1));
  const lowest = times.reduce((a, b) => Math.min(a, b), tip.time);
  const from = heightAtTime(tip, lowest - TIMESTAMP_WINDOW_S);
  // Written before the descriptors are, so that a start finds what an import that was cut off has not.
  const earlier = wallet.store.meta('unscannedFrom');
  wallet.scanner.markUnscanned(from ?? tip.height + 1);
  const unfilled = new Set(wallet.scripts.unfilled().map(({ id }) => id));
  // A client that leaves does not end it: what is added has to be looked up as well.
  const outcomes = await runInSlices(importAll(wallet, requests, times), { signal: wallet.signal });
  if (outcomes.every(({ error }) => error !== null)) {
    // Nothing has come to it, but an import before may still have something to look up.
    wallet.store.write(() => wallet.store.setMeta('unscannedFrom', earlier));
    return outcomes;
  }
  // What the wallet was about to derive before is not looked up by the import's own scan, which may begin late.
  await wallet.filler.fill(wallet.signal, (descriptor) => unfilled.has(descriptor));
  await wallet.scanner.scanMarked();
  await wallet.scanner.scanMempool();
  await wallet.resubmitTransactions();
  return outcomes;
}

/** The first block of a chain that bears this time or a later one; null where there is none. */
function heightAtTime(tip: ChainEntry, time: number): number | null {
  let low = 0;
  let high = tip.height + 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (medianTimePast(tip.ancestor(middle)!) >= time) high = middle;
    else low = middle + 1;
  }
  for (let height = Math.max(0, high - LATE_BLOCKS); height <= tip.height; height++)
    if (tip.ancestor(height)!.time >= time) return height;
  return null;
}

/** Each descriptor whole or not at all. The write that follows all of them makes them durable. */
function* importAll(
  wallet: Wallet,
  requests: readonly DescriptorImport[],
  times: readonly number[],
): Steps<ImportOutcome[]> {
  const outcomes: ImportOutcome[] = [];
  for (const [i, request] of requests.entries()) {
    outcomes.push(yield* importOne(wallet, request, times[i]!));
    yield;
  }
  return outcomes;
}

function* importOne(wallet: Wallet, request: DescriptorImport, timestamp: number): Steps<ImportOutcome> {
  const warnings: string[] = [];
  try {
    const text = given(request.desc, 'string', 'desc');
    if (text === null) throw new WalletError('invalidParameter', 'Descriptor not found.');
    if (text.length > MAX_TEXT)
      walletFail('invalidAddressOrKey', `Descriptor has ${text.length} characters; a wallet takes at most ${MAX_TEXT}`);
    const active = given(request.active, 'boolean', 'active') ?? false;
    const label = given(request.label, 'string', 'label');
    if (label === '*') walletFail('invalidLabelName', 'Invalid label name');
    ensureShortText('label', label);
    const parsed = parseDescriptor(text, wallet.deps.params, { requireChecksum: true });
    if (!parsed.ok) throw new WalletError('invalidAddressOrKey', parsed.error);
    using keys = parsed.keys;
    const { descriptors } = parsed;
    checkSize(descriptors);
    yield;
    const details = importDetails(wallet, descriptors, keys, { request, active, label, warnings });
    for (const descriptor of descriptors) {
      // First of all, so that the write below finds the keys in memory.
      for (const index of new Set([0, details.rangeStart])) {
        yield* descriptor.deriveSteps(index, keys, null);
        if (index === 0 && !descriptor.expand(0, keys))
          walletFail(
            'wallet',
            'Cannot expand descriptor. Probably because of hardened derivations without private keys provided',
          );
      }
    }
    yield;
    wallet.store.writeRelaxed(() =>
      addAll(wallet, { text, descriptors, keys, timestamp, label, active, warnings, ...details }),
    );
    return { warnings, error: null };
  } catch (error) {
    if (!(error instanceof WalletError)) throw error;
    return { warnings, error: { kind: error.kind, message: error.message } };
  }
}

/** What applies to each of the descriptors of one import. */
interface ImportDetails {
  readonly rangeStart: number;
  readonly rangeEnd: number;
  readonly nextIndex: number;
  readonly internal: boolean | null;
  readonly privateKeys: 'none' | 'some';
}

function importDetails(
  wallet: Wallet,
  descriptors: readonly Descriptor[],
  keys: SigningData,
  options: { request: DescriptorImport; active: boolean; label: string | null; warnings: string[] },
): ImportDetails {
  const { request, active, label, warnings } = options;
  const [first] = descriptors;
  const internal = given(request.internal, 'boolean', 'internal');
  if (internal !== null && descriptors.length > 1)
    walletFail('invalidAddressOrKey', "Cannot have multipath descriptor while also specifying 'internal'");
  const range = rangeOf(wallet, first!, request, warnings);
  if (active && !first!.isRange) walletFail('invalidParameter', 'Active descriptors must be ranged');
  if (label !== null) checkLabel(descriptors, internal === true);
  if (active && !first!.isSingleType) walletFail('wallet', 'Combo descriptors cannot be set to active');
  const privateKeys = wallet.hasFlag('disable_private_keys') ? 'none' : 'some';
  if (privateKeys === 'none' && keys.privateKeys.size > 0)
    walletFail('wallet', 'Cannot import private keys to a wallet with private keys disabled');
  return { ...range, internal, privateKeys };
}

/** Inside a write. */
function addAll(
  wallet: Wallet,
  added: ImportDetails & {
    readonly text: string;
    readonly descriptors: readonly Descriptor[];
    readonly keys: SigningData;
    readonly timestamp: number;
    readonly label: string | null;
    readonly active: boolean;
    readonly warnings: string[];
  },
): void {
  const { descriptors, keys, active, warnings, rangeStart, rangeEnd, nextIndex } = added;
  for (const [i, descriptor] of descriptors.entries()) {
    const internal = descriptors.length === 2 ? i === 1 : added.internal === true;
    warnings.push(...descriptor.warnings);
    if (added.privateKeys === 'some') checkKeys(descriptor, keys, warnings);
    if (!descriptor.hasScripts) checkUnused(wallet, keys);
    if (keys.privateKeys.size > 0) wallet.vault.addKeys(keys.privateKeys.values());
    const range = { rangeStart, rangeEnd, nextIndex };
    const owned = addOne(wallet, descriptor, added.text, { createdAt: added.timestamp, ...range, internal });
    if (!descriptor.isRange && descriptor.hasScripts && !internal) nameScripts(wallet, owned, added.label ?? '');
    const type = descriptor.outputType;
    if (active && type === null) warnings.push('Unknown output type, cannot set descriptor to active.');
    else if (active) wallet.scripts.activate(owned, type!, internal);
    else if (type !== null && owned.record.active === type && owned.record.internal === internal)
      wallet.scripts.deactivate(owned);
  }
}

function addOne(
  wallet: Wallet,
  descriptor: Descriptor,
  text: string,
  rest: { createdAt: number; rangeStart: number; rangeEnd: number; nextIndex: number; internal: boolean },
): OwnedDescriptor {
  try {
    const owned = wallet.scripts.addDescriptor({ descriptor, ...rest });
    wallet.scripts.topUp(owned);
    return owned;
  } catch (error) {
    if (!(error instanceof WalletError) || error.kind !== 'invalidParameter') throw error;
    // A text with private keys is not repeated.
    const shown = descriptor.toString() === text ? text : descriptor.toString();
    return walletFail('wallet', `Could not add descriptor '${shown}': ${error.message}`);
  }
}

function rangeOf(wallet: Wallet, descriptor: Descriptor, request: DescriptorImport, warnings: string[]) {
  const { range, next_index: next } = request;
  if (!descriptor.isRange) {
    if (range !== undefined && range !== null)
      walletFail('invalidParameter', 'Range should not be specified for an un-ranged descriptor');
    return { rangeStart: 0, rangeEnd: 1, nextIndex: 0 };
  }
  let [rangeStart, rangeEnd] = [0, wallet.deps.keypool];
  if (range === undefined || range === null) warnings.push('Range not given, using default keypool range');
  else {
    const [low, high] = parseRange(range);
    [rangeStart, rangeEnd] = [low, high + 1];
  }
  const nextIndex = given(next, 'number', 'next_index') ?? rangeStart;
  if (nextIndex < rangeStart || nextIndex >= rangeEnd) walletFail('invalidParameter', 'next_index is out of range');
  return { rangeStart, rangeEnd, nextIndex };
}

/** `end` or `[begin, end]`. Throws WalletError. */
function parseRange(range: unknown): [number, number] {
  const pair = typeof range === 'number' ? [0, range] : range;
  if (!Array.isArray(pair) || pair.length !== 2 || !pair.every(Number.isSafeInteger))
    return walletFail('invalidParameter', 'Range must be specified as end or as [begin,end]');
  const [low, high] = pair as [number, number];
  if (low > high && typeof range !== 'number')
    walletFail('invalidParameter', 'Range specified as [begin,end] must not have begin after end');
  if (low < 0) walletFail('invalidParameter', 'Range should be greater or equal than 0');
  if (high > MAX_INDEX || high < 0) walletFail('invalidParameter', 'End of range is too high');
  if (high >= low + MAX_RANGE) walletFail('invalidParameter', 'Range is too large');
  return [low, high];
}

/** Every address that the wallet derives costs as many derivations as its descriptor has keys. */
function checkSize(descriptors: readonly Descriptor[]): void {
  if (descriptors.length > MAX_PATHS)
    walletFail(
      'invalidAddressOrKey',
      `Descriptor stands for ${descriptors.length} descriptors; a wallet takes at most ${MAX_PATHS}`,
    );
  const { keyCount, aggregatedKeyCount } = descriptors[0]!;
  if (keyCount > MAX_KEYS)
    walletFail('invalidAddressOrKey', `Descriptor has ${keyCount} keys; a wallet takes at most ${MAX_KEYS}`);
  if (aggregatedKeyCount > MAX_AGGREGATED_KEYS)
    walletFail(
      'invalidAddressOrKey',
      `Descriptor has ${aggregatedKeyCount} keys in musig(); a wallet takes at most ${MAX_AGGREGATED_KEYS}`,
    );
}

function checkLabel(descriptors: readonly Descriptor[], internal: boolean): void {
  if (descriptors.length > 1) walletFail('invalidParameter', 'Multipath descriptors should not have a label');
  if (descriptors[0]!.isRange) walletFail('invalidParameter', 'Ranged descriptors should not have a label');
  if (internal) walletFail('invalidParameter', 'Internal addresses should not have a label');
}

function checkKeys(descriptor: Descriptor, keys: SigningData, warnings: string[]): void {
  if (keys.privateKeys.size === 0)
    walletFail('wallet', 'Cannot import descriptor without private keys to a wallet with private keys enabled');
  if (!descriptor.hasPrivateKeys(keys))
    warnings.push('Not all private keys provided. Some wallet functionality may return unexpected errors');
}

function checkUnused(wallet: Wallet, keys: SigningData): void {
  if (wallet.hasFlag('disable_private_keys'))
    walletFail('wallet', 'Cannot import unused() to wallet without private keys enabled');
  if ([...keys.privateKeys.values()].some(({ id }) => wallet.vault.hasKey(id)))
    walletFail('wallet', 'Cannot import an unused() descriptor when its private key is already in the wallet');
}

function nameScripts(wallet: Wallet, owned: OwnedDescriptor, label: string): void {
  for (const script of owned.expand(0, wallet.vault.available())?.scripts ?? []) {
    const address = addressOf(script, wallet.deps.params.address);
    if (address !== null) wallet.store.setLabel(script, address, label, 'receive');
  }
}

interface JsonTypes {
  string: string;
  boolean: boolean;
  number: number;
}

const CORE_TYPES = { string: 'string', boolean: 'bool', number: 'number' } as const;

/** A member of the type, or null where it is absent. Throws WalletError on another type. */
function given<T extends keyof JsonTypes>(value: unknown, type: T, name: string): JsonTypes[T] | null {
  if (value === undefined || value === null) return null;
  if (typeof value === type) return value as JsonTypes[T];
  return walletFail('type', `JSON value for ${name} is not of expected type ${CORE_TYPES[type]}`);
}
