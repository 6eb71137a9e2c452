// Follows the deposits to the addresses of a store, and applies each change exactly once: the store keeps the changes and
// the cursor of the last event in one transaction. Everything else may fail, restart or be killed at any point.
import type { Schemas } from './api.ts';
import { type CallOptions, type ObverseClient, ObverseError, pauseMs, sleep } from './client.ts';
import { type EventRequest, type LogEvent, pagesOfEvents, socketEvents } from './event-source.ts';

/** One output that pays a watched address. `txid` and `n` identify it. */
export interface Deposit {
  readonly txid: string;
  readonly n: number;
  readonly address: string;
  /** Satoshis. */
  readonly value: number;
  /** Block that contains it; null while it is unconfirmed. */
  readonly blockHash: string | null;
  readonly height: number | null;
  /** Whether it is newly mined: it cannot be spent before 100 confirmations. */
  readonly isCoinbase: boolean;
}

export type DepositChange =
  /** The deposit is in the mempool, or in a block. */
  | { readonly type: 'unconfirmed' | 'confirmed'; readonly deposit: Deposit }
  /** Its block has left the active chain; the transaction may return, or a conflicting one may be confirmed. */
  | { readonly type: 'reverted'; readonly txid: string; readonly address: string }
  /** It has left the mempool, or a reorg has not brought it back. Without an address: the deposits to all addresses. */
  | { readonly type: 'removed'; readonly txid: string; readonly address: string | null }
  /** The deposits of a transaction to an address have reached the confirmations that the store asks for, or lost them. */
  | { readonly type: 'final' | 'not-final'; readonly txid: string; readonly address: string };

/** A deposit as REST shows it, for a comparison with the ledger. */
export interface KnownDeposit extends Deposit {
  readonly confirmations: number;
}

/** A transaction whose block the node has pruned: it knows where it is, and not its outputs. */
export interface PrunedTransaction {
  readonly txid: string;
  readonly blockHash: string;
  readonly height: number;
  readonly confirmations: number;
}

/**
 * The ledger of the application. Each method may be asynchronous. A position is a text of at most 80 characters, which only
 * the watcher reads: it holds the cursor of an event, and the confirmations that the ledger follows from.
 */
export interface DepositStore {
  /** Confirmations at which a deposit is final, 1 to 1000. After a change the ledger is reconciled at the next start. */
  readonly confirmations: number;
  /** The stored position; null for a new ledger. */
  position(): string | null | Promise<string | null>;
  /** All addresses that were given to customers, in the form in which the node returns them. */
  addresses(): readonly string[] | Promise<readonly string[]>;
  /** Ids of the transactions of deposits that are stored as unconfirmed. */
  unconfirmed(): readonly string[] | Promise<readonly string[]>;
  /** Applies the changes, of which there may be none, and stores the position in ONE transaction. */
  apply(changes: readonly DepositChange[], position: string): void | Promise<void>;
  /**
   * Makes the ledger equal to these deposits, which are all that exist, and stores the position in ONE transaction. A pruned
   * node no longer knows the outputs of the transactions `pruned`: the ledger keeps its deposits of them, whose block and
   * confirmations are those of the transaction.
   */
  reconcile(
    deposits: readonly KnownDeposit[],
    position: string,
    pruned: readonly PrunedTransaction[],
  ): void | Promise<void>;
}

export interface WatchOptions {
  readonly signal: AbortSignal;
  /** `pages` (long poll) by default: it passes every proxy, and is as fast. */
  readonly transport?: 'pages' | 'websocket';
  /** Called with each failure before the pause. */
  readonly onRetry?: (error: unknown, pauseMs: number) => void;
  /** Called when the ledger is compared with the chain: events are missing, or it is new or follows another number. */
  readonly onReconcile?: (reason: string) => void;
}

const TYPES = ['newBlock', 'addressTransaction', 'confirmation', 'reorg'] as const;
const WATCHES_AT_ONCE = 1000;
const STATUSES_AT_ONCE = 1000;
const ADDRESS_PAGE = 500;
const WATCH_PAGE = 1000;

/**
 * Asks the node to keep the events of addresses, from the next event on. An application calls this before it gives an
 * address to a customer, and may repeat it. It leaves the watches of older addresses to `watchDeposits`, which reconciles
 * the ledger where the node has lost some. Returns how many addresses were not watched before.
 */
export async function watchAddresses(
  client: ObverseClient,
  addresses: readonly string[],
  confirmations: number,
  options: CallOptions = {},
): Promise<number> {
  let created = 0;
  for (let from = 0; from < addresses.length; from += WATCHES_AT_ONCE) {
    const some = addresses.slice(from, from + WATCHES_AT_ONCE);
    const watches = some.map((value) => ({ kind: 'address' as const, value, confirmations: [confirmations] }));
    const reply = await client.call('putWatches', { body: { watches } }, options);
    created += (reply as Schemas['StoredWatches']).createdCount;
  }
  return created;
}

/** Follows deposits until the signal aborts. Throws what a repetition does not mend, such as a revoked key. */
export async function watchDeposits(client: ObverseClient, store: DepositStore, options: WatchOptions): Promise<void> {
  const { signal, onRetry } = options;
  for (let attempt = 0; !signal.aborted; ) {
    try {
      for await (const _ of appliedBatches(client, store, options)) attempt = 0;
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof ObverseError && error.retryable)) throw error;
      const pause = pauseMs(attempt++, error.retryAfterMs);
      onRetry?.(error, pause);
      await sleep(pause, signal).catch(() => null);
    }
  }
}

/** Yields after each stored batch. Returns where the events have to be requested from a new position. */
async function* appliedBatches(
  client: ObverseClient,
  store: DepositStore,
  { signal, transport = 'pages', onReconcile }: WatchOptions,
): AsyncGenerator<void> {
  const { confirmations } = store;
  const position = await store.position();
  const unwatched = await unwatchedAddresses(client, await store.addresses(), confirmations, signal);
  if (unwatched.length > 0) {
    // Once the watches exist again, nothing shows that events are missing. So the ledger stores it before.
    if (position !== null) await store.apply([], positionOf(null, confirmations));
    await watchAddresses(client, unwatched, confirmations, { signal });
  }
  const reconcile = async (reason: string) => {
    onReconcile?.(reason);
    await reconcileLedger(client, store, signal);
  };
  if (position === null) return reconcile('the ledger is new');
  if (unwatched.length > 0)
    return reconcile(`${unwatched.length} addresses were not watched at ${confirmations} confirmations`);
  const after = cursorIn(position, confirmations);
  if (after === null) return reconcile(`the position follows no events of deposits at ${confirmations} confirmations`);
  const request: EventRequest = { after, types: TYPES, signal };
  try {
    for await (const batch of (transport === 'pages' ? pagesOfEvents : socketEvents)(client, request)) {
      const { gap } = batch;
      if (gap?.scope === 'all') return await reconcile('events of blocks are missing');
      if (gap?.scope === 'confirmations' && gap.threshold === confirmations)
        return await reconcile(`the block at the height ${gap.height} is pruned: confirmations are missing`);
      const gone = gap?.scope === 'mempool' ? await removedSince(client, store, signal) : [];
      const changes = [...gone, ...changesOf(batch.events, confirmations)];
      await store.apply(changes, positionOf(batch.cursor, confirmations));
      yield;
    }
  } catch (error) {
    // The position is not in this log: the node was restored, or replaced by another one.
    const isInvalid = error instanceof ObverseError && ['invalid_cursor', 'block_pruned'].includes(error.code);
    if (!isInvalid) throw error;
    await reconcile(error.message);
  }
}

/**
 * The position of a ledger at a number of confirmations. Without a cursor the ledger has to be reconciled. An event names
 * the threshold that a deposit has reached, so the events behind a cursor complete only a ledger with the same number.
 */
function positionOf(cursor: string | null, confirmations: number): string {
  return `${confirmations}:${cursor ?? ''}`;
}

/** Returns the cursor of a position; null where the ledger has to be reconciled first. */
function cursorIn(position: string, confirmations: number): string | null {
  const [number, cursor] = position.split(':');
  return number === String(confirmations) && cursor ? cursor : null;
}

/**
 * Returns the addresses that the node does not watch at these confirmations: new ones, and those whose watch it has lost,
 * because its data was restored from an older copy or the watch was removed. Such a watch has sent no events.
 */
async function unwatchedAddresses(
  client: ObverseClient,
  addresses: readonly string[],
  confirmations: number,
  signal: AbortSignal,
): Promise<string[]> {
  if (addresses.length === 0) return [];
  const watches = await client.list('getWatches', { kind: 'address', limit: WATCH_PAGE }, { signal });
  const watched = new Set(
    watches.filter((watch) => watch.confirmations.includes(confirmations)).map(({ value }) => value),
  );
  // Bech32 is one address in both cases.
  return addresses.filter((address) => !watched.has(address) && !watched.has(address.toLowerCase()));
}

/** Returns the changes that events mean for deposits, in their order. */
export function changesOf(events: readonly LogEvent[], confirmations: number): DepositChange[] {
  return events.flatMap((event): DepositChange[] => {
    if (event.type === 'addressTransaction') return transactionChanges(event.data);
    if (event.type === 'reorg')
      return event.data.txs
        .filter(({ fate }) => fate === 'conflicted' || fate === 'dropped')
        .map(({ txid }) => ({ type: 'removed', txid, address: null }));
    if (event.type !== 'confirmation') return [];
    const { txid, address, received, threshold, reverted } = event.data;
    if (address === null || threshold !== confirmations || !received) return [];
    return [{ type: reverted ? 'not-final' : 'final', txid, address }];
  });
}

function transactionChanges(data: Schemas['AddressTransactionData']): DepositChange[] {
  const { txid, address, phase, outputs, status } = data;
  if (outputs.length === 0) return [];
  if (phase === 'reverted' || phase === 'removed') return [{ type: phase, txid, address }];
  return depositsOf({ txid, outputs, status }, address).map((deposit) => ({
    type: phase === 'confirmed' ? 'confirmed' : 'unconfirmed',
    deposit,
  }));
}

function depositsOf(
  { txid, outputs, status }: Pick<Schemas['AddressTransactionData'], 'txid' | 'outputs' | 'status'>,
  address: string,
): KnownDeposit[] {
  return outputs.map(({ n, value }) => ({
    ...{ txid, n, address, value, blockHash: status.blockHash, height: status.blockHeight },
    // The first transaction of a block is its coinbase.
    isCoinbase: status.blockIndex === 0,
    confirmations: status.confirmations,
  }));
}

/** Events of the mempool are missing: returns the unconfirmed deposits that are neither in the mempool nor in a block. */
async function removedSince(client: ObverseClient, store: DepositStore, signal: AbortSignal): Promise<DepositChange[]> {
  const txids = [...new Set(await store.unconfirmed())];
  const changes: DepositChange[] = [];
  for (let from = 0; from < txids.length; from += STATUSES_AT_ONCE) {
    const some = txids.slice(from, from + STATUSES_AT_ONCE);
    const statuses = await client.call('getTxsStatus', { body: { txids: some } }, { signal });
    for (const txid of some) if (statuses[txid] === null) changes.push({ type: 'removed', txid, address: null });
  }
  return changes;
}

/**
 * Compares the ledger with the chain. The position is read first: events behind it may repeat a part of what REST shows
 * then, and change nothing when they do.
 */
async function reconcileLedger(client: ObverseClient, store: DepositStore, signal: AbortSignal): Promise<void> {
  const { lastCursor } = await client.call('getEvents', { limit: 1 }, { signal });
  const deposits: KnownDeposit[] = [];
  const pruned: PrunedTransaction[] = [];
  for (const address of await store.addresses()) {
    const txs = await client.list('getAddressTxs', { address, order: 'asc', limit: ADDRESS_PAGE }, { signal });
    // A transaction that moves from the mempool to a block between two pages is listed twice.
    const latest = new Map(txs.map((tx) => [tx.txid, tx]));
    for (const { txid, outputs, status } of latest.values()) {
      if (outputs) deposits.push(...depositsOf({ txid, outputs, status }, address));
      else {
        const { blockHash, blockHeight, confirmations } = status;
        pruned.push({ txid, blockHash: blockHash!, height: blockHeight!, confirmations });
      }
    }
  }
  await store.reconcile(deposits, positionOf(lastCursor, store.confirmations), pruned);
}
