import { type BlockHash, hashToHex } from '../primitives/hash.ts';
import { BloomFilter } from './bloom-filter.ts';
import {
  INVENTORY,
  type InventoryItem,
  InventoryItems,
  isBlockKind,
  isTransactionKind,
  kindName,
} from './messages/inventory.ts';
import { decodeMessage, type Message } from './messages/messages.ts';
import { COMPACT_BLOCKS } from './p2p-protocol.ts';
import type { Handshake } from './peer/handshake.ts';
import type { Keepalive } from './peer/keepalive.ts';
import type { Peer } from './peer/peer.ts';
import type { PeerContext } from './peer/peer-context.ts';
import type { TxReconciliation } from './peer/tx-reconciliation.ts';
import type { AddrRelay } from './relay/addr-relay.ts';
import type { CompactRelay } from './relay/compact-relay.ts';
import type { PrivateBroadcast } from './relay/private-broadcast.ts';
import type { ServeBlocks } from './relay/serve-blocks.ts';
import type { ServeFilters } from './relay/serve-filters.ts';
import type { TxReceiver } from './relay/tx-receiver.ts';
import type { TxRelay } from './relay/tx-relay.ts';
import type { BlockDownload } from './sync/block-download.ts';
import type { HeaderSync } from './sync/header-sync.ts';

/** Time slice for processing an inventory list before yielding, milliseconds. */
const SLICE_MS = 4;
/** Maximum number of items in one `notfound`. */
const MAX_NOT_FOUND = 1000;

/** The parts of the protocol logic, each of which processes some messages. */
export interface ProtocolParts {
  readonly handshake: Handshake;
  readonly reconciliation: TxReconciliation;
  readonly keepalive: Keepalive;
  readonly headers: HeaderSync;
  readonly download: BlockDownload;
  readonly serve: ServeBlocks;
  readonly filters: ServeFilters;
  readonly compact: CompactRelay;
  readonly txRelay: TxRelay;
  readonly txReceiver: TxReceiver;
  readonly addrs: AddrRelay;
  readonly privateBroadcast: PrivateBroadcast;
}

/** Decodes messages and dispatches them to the parts of the protocol logic. */
export class PeerMessages {
  readonly #ctx: PeerContext;
  readonly #parts: ProtocolParts;

  constructor(ctx: PeerContext, parts: ProtocolParts) {
    this.#ctx = ctx;
    this.#parts = parts;
  }

  /** Processes a message. Throws MessageError if it is malformed. Returns a promise only if the processing yields. */
  processMessage(peer: Peer, type: string, payload: Uint8Array): void | Promise<void> {
    // Inventory lists are processed while they are decoded.
    if (type === 'inv') return this.#onInv(peer, new InventoryItems(type, payload));
    if (type === 'getdata') return this.#onGetData(peer, new InventoryItems(type, payload));
    if (type === 'notfound') return this.#onNotFound(peer, new InventoryItems(type, payload));
    const message = decodeMessage(type, payload);
    if (message !== null) return this.#handleDecoded(peer, message);
  }

  #handleDecoded(peer: Peer, { type, value }: Message): void | Promise<void> {
    const { negotiated } = peer;
    switch (type) {
      case 'version':
        return this.#parts.handshake.onVersion(peer, value);
      case 'verack':
        return this.#parts.handshake.onVerack(peer);
      case 'wtxidrelay':
      case 'sendaddrv2':
        return this.#parts.handshake.onNegotiation(peer, type);
      case 'sendtxrcncl':
        return this.#parts.reconciliation.onOffer(peer, value);
      case 'feature':
        return this.#parts.handshake.onFeature(peer, value.id);
      case 'ping':
        return this.#parts.keepalive.onPing(peer, value.nonce);
      case 'pong':
        if (peer.link.type === 'private-broadcast') this.#parts.privateBroadcast.onPong(peer, value.nonce);
        return this.#parts.keepalive.onPong(peer, value.nonce, this.#ctx.clock.monotonicMs());
      case 'sendheaders':
        negotiated.prefersHeaders = true;
        return;
      case 'sendcmpct':
        if (value.version !== COMPACT_BLOCKS) return;
        negotiated.compactBlocks = true;
        negotiated.wantsCompactBlocks = value.announce;
        return;
      case 'feefilter':
        return this.#parts.txRelay.onFeeFilter(peer, value.feerate);
      case 'addr':
      case 'addrv2':
        return this.#parts.addrs.onAddr(peer, value.addresses);
      case 'getaddr':
        return this.#parts.addrs.onGetAddr(peer);
      case 'mempool':
        return this.#parts.txRelay.onMempool(peer);
      case 'getheaders':
        return this.#parts.serve.onGetHeaders(peer, value);
      case 'getblocks':
        return this.#parts.serve.onGetBlocks(peer, value);
      case 'headers':
        return this.#parts.headers.onHeaders(peer, value.headers);
      case 'block':
        return this.#parts.download.onBlock(peer, value);
      case 'tx':
        this.#parts.privateBroadcast.onReceived(peer, value.tx);
        return this.#parts.txReceiver.onTx(peer, value.tx);
      case 'cmpctblock':
        return this.#parts.compact.onCompactBlock(peer, value);
      case 'getblocktxn':
        return this.#parts.serve.onGetBlockTxn(peer, value);
      case 'blocktxn':
        return this.#parts.compact.onBlockTxn(peer, value);
      case 'filterload':
        return this.#parts.txRelay.setBloomFilter(peer, new BloomFilter(value));
      case 'filteradd':
        // BIP-37: `filteradd` needs a filter.
        if (peer.tx?.filter) return peer.tx.filter.insert(value.element);
        return this.#ctx.misbehaving(peer, 'filteradd without a filter');
      case 'filterclear':
        return this.#parts.txRelay.setBloomFilter(peer, null);
      case 'getcfilters':
        return this.#parts.filters.onGetCFilters(peer, value);
      case 'getcfheaders':
        return this.#parts.filters.onGetCFHeaders(peer, value);
      case 'getcfcheckpt':
        return this.#parts.filters.onGetCFCheckpt(peer, value);
      case 'inv':
      case 'getdata':
      case 'notfound':
      // Messages that we never request.
      case 'merkleblock':
      case 'cfilter':
      case 'cfheaders':
      case 'cfcheckpt':
        return;
    }
  }

  async #onInv(peer: Peer, items: InventoryItems): Promise<void> {
    let lastBlock: BlockHash | null = null;
    const logAnnounced = this.#announcementLog(peer);
    await this.#processItems(peer, items, (item) => {
      logAnnounced?.(item);
      if (item.kind === INVENTORY.block) lastBlock = item.hash as BlockHash;
      else if (!this.#parts.txReceiver.onTxInv(peer, item))
        peer.link.disconnect('transaction announced in violation of protocol', {
          hash: hashToHex(item.hash as BlockHash),
        });
    });
    if (peer.gone || peer.link.closed) return;
    if (lastBlock !== null) this.#parts.headers.onBlockInv(peer, lastBlock);
    this.#parts.txReceiver.tick(peer);
  }

  #onNotFound(peer: Peer, items: InventoryItems): Promise<void> {
    return this.#processItems(peer, items, (item) => this.#parts.txReceiver.onNotFound(peer, item));
  }

  /** Answers `getdata` item by item, as fast as the peer reads the answers. */
  async #onGetData(peer: Peer, items: InventoryItems): Promise<void> {
    const { link } = peer;
    if (link.type === 'private-broadcast') return this.#parts.privateBroadcast.onGetData(peer, items);
    let missing: InventoryItem[] = [];
    this.#logRequest(peer, items);
    const sendMissing = () => {
      if (missing.length > 0) link.send('notfound', { items: missing });
      missing = [];
    };
    await this.#processItems(peer, items, (item) => {
      if (isBlockKind(item.kind)) return this.#parts.serve.serveBlock(peer, item);
      if (isTransactionKind(item.kind) && !this.#parts.txRelay.serveTransaction(peer, item)) missing.push(item);
      if (missing.length >= MAX_NOT_FOUND) sendMissing();
    });
    sendMissing();
  }

  /** Returns a function that logs each announced item of a message once; null where none is logged. */
  #announcementLog({ id, negotiated }: Peer): ((item: InventoryItem) => void) | null {
    const { log } = this.#ctx;
    if (!log.enabled('debug')) return null;
    const seen = new Set<string>();
    const ignored = negotiated.wtxidRelay ? INVENTORY.tx : INVENTORY.wtx;
    return ({ kind, hash }) => {
      const text = hashToHex(hash as BlockHash);
      const key = `${kind === INVENTORY.wtx} ${text}`;
      if (kind === ignored || seen.has(key)) return;
      seen.add(key);
      log.debug('item announced', { peer: id, kind: kindName(kind), hash: text });
    };
  }

  #logRequest(peer: Peer, { first }: InventoryItems): void {
    const { log } = this.#ctx;
    if (first !== null && log.enabled('debug'))
      log.debug('data requested', {
        peer: peer.id,
        kind: kindName(first.kind),
        hash: hashToHex(first.hash as BlockHash),
      });
  }

  /** Processes items until the peer disconnects. Yields after each time slice and while the send queue is full. */
  async #processItems(
    peer: Peer,
    items: InventoryItems,
    handle: (item: InventoryItem) => void | Promise<void>,
  ): Promise<void> {
    const { link } = peer;
    let until = performance.now() + SLICE_MS;
    for (const item of items) {
      if (link.sendQueueFull || performance.now() > until) {
        await link.whenWritable();
        await new Promise(setImmediate);
        until = performance.now() + SLICE_MS;
      }
      if (link.closed || peer.gone) return;
      const work = handle(item);
      if (work) await work;
    }
  }
}
