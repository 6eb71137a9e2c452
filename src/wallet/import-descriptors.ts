import type { ChainEntry } from '../chain/chain-entry.ts';
import { medianTimePast } from '../consensus/header-entry.ts';
import { addressOf } from '../script/address.ts';
import type { RpcErrorName } from '../util/rpc-error-codes.ts';
import { runInSlices, type Steps } from '../util/slices.ts';
import type { Descriptor } from './descriptor/descriptor.ts';
import { parseDescriptor } from './descriptor/parse-descriptor.ts';
import type { SigningData } from './keys/signing-data.ts';
import type { OwnedDescriptor } from './scripts/owned-descriptor.ts';
import type { Wallet } from './wallet.ts';
import { WalletError, walletFail } from './wallet-error.ts';
import { ensureShortText } from './wallet-text.ts';

/** One entry of an importdescriptors request, as JSON; `timestamp` is validated by the caller. */
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

/** Core's TIMESTAMP_WINDOW: tolerance for block times, seconds. */
const TIMESTAMP_WINDOW_S = 7200;
/** Number of blocks below the first one whose median time passes a timestamp in which a block may still carry it. */
const LATE_BLOCKS = 1000;
const MAX_RANGE = 1_000_000;
/**
 * Characters. A multi_a() with the maximum number of extended keys, each with its origin, takes about 150,000. A leaf of
 * the largest standard weight, most of it miniscript wrappers of one character and one opcode, takes about 330,000.
 */
const MAX_TEXT = 400_000;
/** Descriptors that one multipath descriptor `<0;1>` expands to; two are common. */
const MAX_PATHS = 10;
/** Maximum of a multi_a() and an internal key. */
const MAX_KEYS = 1000;
/**
 * Participants of all its musig() expressions. Each costs a curve multiplication, about a millisecond, at every index.
 */
const MAX_AGGREGATED_KEYS = 30;
const MAX_INDEX = 0x7fff_ffff;

/**
 * Adds descriptors and finds their transactions in the chain. Throws WalletError where no request can be processed at
 * all.
 */
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
  // Written before the descriptors: the next start then scans for an import that was interrupted.
  const earlier = wallet.store.meta('unscannedFrom');
  wallet.scanner.markUnscanned(from ?? tip.height + 1);
  const unfilled = new Set(wallet.scripts.unfilled().map(({ id }) => id));
  // The import continues after its client has left: scripts that were added must be looked up in the chain as well.
  const outcomes = await runInSlices(importAll(wallet, requests, times), { signal: wallet.signal });
  if (outcomes.every(({ error }) => error !== null)) {
    // No descriptor was added, but an earlier import may still need its scan.
    wallet.store.write(() => wallet.store.setMeta('unscannedFrom', earlier));
    return outcomes;
  }
  // Addresses that were reserved before are looked up on their own: the scan of this import may start above their
  // blocks.
  await wallet.filler.fillReserved(wallet.signal, (descriptor) => unfilled.has(descriptor));
  await wallet.scanner.scanMarked();
  await wallet.scanner.scanMempool();
  await wallet.resubmission.submitMissing();
  return from === null ? outcomes : withUnreadBlocks(wallet, requests, outcomes, { from, now });
}

const PRUNED =
  'This error could be caused by pruning or data corruption (see bitcoind log for details) and could be dealt with by ' +
  'downloading and rescanning the relevant blocks (see -reindex option and rescanblockchain RPC).';
const UNVALIDATED =
  'This error is likely caused by an in-progress assumeutxo background sync. Check logs or getchainstates RPC for ' +
  'assumeutxo background sync progress and try again later.';

/** Replaces the outcomes of descriptors that may have transactions in pruned or missing blocks with Core's error. */
function withUnreadBlocks(
  { deps: { chain } }: Wallet,
  requests: readonly DescriptorImport[],
  outcomes: readonly ImportOutcome[],
  { from, now }: { from: number; now: number },
): ImportOutcome[] {
  const { pruneHeight, loadedHeight, tip } = chain;
  if (pruneHeight === null || from >= pruneHeight) return [...outcomes];
  const unread = maxTimeUpTo(tip.ancestor(pruneHeight - 1)!);
  return outcomes.map((outcome, i) => {
    const { timestamp } = requests[i]!;
    const time = timestamp === 'now' ? now : timestamp;
    if (outcome.error !== null || time > unread + TIMESTAMP_WINDOW_S) return outcome;
    const message =
      `Rescan failed for descriptor with timestamp ${time}. There was an error reading a block from time ${unread}, ` +
      `which is after or within ${TIMESTAMP_WINDOW_S} seconds of key creation, and could contain transactions pertaining ` +
      'to the desc. As a result, transactions and coins using this desc may not appear in the wallet. ' +
      (loadedHeight === null ? PRUNED : UNVALIDATED);
    return { warnings: [], error: { kind: 'misc', message } };
  });
}

/** Returns the highest time of a block and of those before it. */
function maxTimeUpTo(entry: ChainEntry): number {
  let highest = entry.time;
  let at = entry.parent;
  for (let n = 0; n < LATE_BLOCKS && at !== null; n++, at = at.parent) highest = Math.max(highest, at.time);
  return highest;
}

/** Returns the height of the first block whose time is at or after `time`; null where there is none. */
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

/** Imports each descriptor whole or not at all. The write that follows makes all of them durable. */
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
    const text = memberOf(request.desc, 'string', 'desc');
    if (text === null) throw new WalletError('invalidParameter', 'Descriptor not found.');
    if (text.length > MAX_TEXT)
      walletFail('invalidAddressOrKey', `Descriptor has ${text.length} characters; a wallet takes at most ${MAX_TEXT}`);
    const active = memberOf(request.active, 'boolean', 'active') ?? false;
    const label = memberOf(request.label, 'string', 'label');
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
      // Derived before the write, which then finds the keys in memory.
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

/** Properties that apply to every descriptor of one request. */
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
  const internal = memberOf(request.internal, 'boolean', 'internal');
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

/** Adds the descriptors of one request. Runs inside a write. */
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
    // A text with private keys is not echoed.
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
  const nextIndex = memberOf(next, 'number', 'next_index') ?? rangeStart;
  if (nextIndex < rangeStart || nextIndex >= rangeEnd) walletFail('invalidParameter', 'next_index is out of range');
  return { rangeStart, rangeEnd, nextIndex };
}

/** Reads `end` or `[begin, end]`. Throws WalletError. */
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

/** Every address costs one derivation for each key of its descriptor. */
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

/** Returns a member of the given type, or null where it is absent. Throws WalletError on another type. */
function memberOf<T extends keyof JsonTypes>(value: unknown, type: T, name: string): JsonTypes[T] | null {
  if (value === undefined || value === null) return null;
  if (typeof value === type) return value as JsonTypes[T];
  return walletFail('type', `JSON value for ${name} is not of expected type ${CORE_TYPES[type]}`);
}
