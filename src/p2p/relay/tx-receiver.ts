import type { TxRejection } from '../../consensus/rejection.ts';
import { sipHashKey } from '../../crypto/siphash.ts';
import { Orphanage } from '../../mempool/orphanage.ts';
import type { ParsedBlock, ParsedTransaction } from '../../primitives/block.ts';
import { hashToHex } from '../../primitives/hash.ts';
import { unixSeconds } from '../../util/clock.ts';
import { random64 } from '../../util/random.ts';
import { INVENTORY, type InventoryItem, isTransactionKind } from '../messages/inventory.ts';
import type { Peer } from '../peer/peer.ts';
import { maySendTransactions, type PeerContext } from '../peer/peer-context.ts';
import type { GenTxid } from '../tx/gen-txid.ts';
import { processPackageResult, rejectionOf } from '../tx/package-result.ts';
import { RecentTxs } from '../tx/recent-txs.ts';
import { RequestTracker } from '../tx/request-tracker.ts';
import { type PackageToValidate, TxDownload } from '../tx/tx-download.ts';
import type { CompactRelay } from './compact-relay.ts';
import type { TxRelay } from './tx-relay.ts';

/** Maximum number of items in one `getdata` (Core's MAX_GETDATA_SZ). */
const MAX_GETDATA = 1000;

/**
 * Receives transactions from peers: requests those announced, submits them to the mempool and announces the accepted
 * ones.
 */
export class TxReceiver {
  readonly #ctx: PeerContext;
  readonly #relay: TxRelay;
  readonly #compact: CompactRelay;
  readonly #download: TxDownload;
  readonly orphanage = new Orphanage();
  /** Whether orphans are being reconsidered outside the processing of a message. */
  #reconsidering = false;

  constructor(ctx: PeerContext, relay: TxRelay, compact: CompactRelay) {
    this.#ctx = ctx;
    this.#relay = relay;
    this.#compact = compact;
    this.#download = new TxDownload({
      mempool: ctx.mempool.relay,
      tracker: new RequestTracker(sipHashKey(random64(ctx.random), random64(ctx.random))),
      orphanage: this.orphanage,
      recent: new RecentTxs(),
      clock: ctx.clock,
      random: ctx.random,
      log: ctx.log,
    });
  }

  addPeer(peer: Peer): void {
    const { link, negotiated } = peer;
    if (!maySendTransactions(this.#ctx, peer.link)) return;
    const { preferred } = peer.sync;
    const relayPermission = link.permissions.has('relay');
    this.#download.connectedPeer(peer.id, { preferred, relayPermission, wtxidRelay: negotiated.wtxidRelay });
  }

  removePeer(peer: Peer): void {
    this.#download.disconnectedPeer(peer.id);
  }

  /** Processes blocks connected after initial block download. */
  onBlocksConnected(blocks: Iterable<ParsedBlock>): void {
    for (const block of blocks) this.#download.blockConnected(block);
    this.#download.activeTipChanged();
  }

  onBlocksDisconnected(): void {
    this.#download.blockDisconnected();
  }

  /** Processes an announced item if it is a transaction. Returns false if the peer must not announce transactions. */
  onTxInv(peer: Peer, item: InventoryItem): boolean {
    const id = idOf(peer, item);
    if (id === null) return true;
    if (!maySendTransactions(this.#ctx, peer.link)) return false;
    this.#relay.markKnown(peer, item.hash);
    if (!this.#ctx.chain.initialSync) this.#download.addTxAnnouncement(peer.id, id);
    return true;
  }

  onNotFound(peer: Peer, { kind, hash }: InventoryItem): void {
    if (isTransactionKind(kind)) this.#download.receivedNotFound(peer.id, hash);
  }

  /** Sends due requests, and reconsiders orphans whose parents arrived. */
  tick(peer: Peer): void {
    const requests = this.#download.requestsToSend(peer.id);
    for (let at = 0; at < requests.length; at += MAX_GETDATA)
      peer.link.send('getdata', { items: requests.slice(at, at + MAX_GETDATA).map((id) => itemOf(peer, id)) });
    // A parent may have arrived in a block, so no `tx` message would trigger this.
    if (!this.#reconsidering && this.#download.haveMoreWork(peer.id)) void this.#reconsiderOrphansNow();
  }

  async onTx(peer: Peer, parsed: ParsedTransaction): Promise<void> {
    if (!maySendTransactions(this.#ctx, peer.link))
      return peer.link.disconnect('transaction sent in violation of protocol');
    if (this.#ctx.chain.initialSync) return;
    this.#relay.markKnown(peer, peer.negotiated.wtxidRelay ? parsed.wtxid : parsed.txid);
    const { validate, package: found } = this.#download.receivedTx(peer.id, parsed);
    if (found) await this.#validatePackage(found);
    else if (validate) await this.#validateTransaction(peer, parsed, true);
    else if (peer.link.permissions.has('forcerelay')) this.#forceRelay(peer, parsed);
    await this.#reconsiderOrphans();
  }

  /** Announces a known transaction of a peer with the forcerelay permission again, if the mempool has it. */
  #forceRelay(peer: Peer, { txid, wtxid }: ParsedTransaction): void {
    const { log, mempool } = this.#ctx;
    const facts = { peer: peer.id, txid: hashToHex(txid), wtxid: hashToHex(wtxid) };
    if (!mempool.has(txid)) {
      log.info('transaction not relayed by force: it is not in the mempool', facts);
      return;
    }
    log.info('transaction relayed by force', facts);
    this.#relay.announceTransaction(wtxid);
  }

  async #reconsiderOrphansNow(): Promise<void> {
    const { chain, log } = this.#ctx;
    this.#reconsidering = true;
    try {
      await this.#reconsiderOrphans();
    } catch (error) {
      if (chain.stopped === null) log.error('reconsidering orphans failed', { error });
    } finally {
      this.#reconsidering = false;
    }
  }

  /** Validates the orphans of all peers for which a parent arrived. */
  async #reconsiderOrphans(): Promise<void> {
    for (const peer of this.#ctx.peers.values()) {
      while (this.#download.haveMoreWork(peer.id)) {
        const orphan = this.#download.txToReconsider(peer.id);
        if (orphan === null) break;
        await this.#validateTransaction(peer, orphan, false);
      }
    }
  }

  async #validateTransaction(peer: Peer, parsed: ParsedTransaction, firstTime: boolean): Promise<void> {
    const result = await this.#ctx.mempool.relay.acceptTransaction(parsed);
    // The validation queue is full: the transaction is dropped.
    if (result === null) return;
    const rejection = rejectionOf(result);
    if (result.status === 'accepted') this.#onAccepted(peer, parsed);
    // Another peer delivered it meanwhile.
    if (rejection === null) this.#download.mempoolAccepted(parsed);
    else {
      const found = this.#onRejected(peer.id, parsed, rejection, firstTime);
      if (found) await this.#validatePackage(found);
    }
  }

  #onAccepted(peer: Peer | undefined, parsed: ParsedTransaction): void {
    this.#relay.announceTransaction(parsed.wtxid);
    if (peer) peer.link.standing.lastTransactionAt = unixSeconds(this.#ctx.clock);
  }

  #onRejected(peer: number, parsed: ParsedTransaction, rejection: TxRejection, firstTime: boolean) {
    const { log, peers } = this.#ctx;
    log.debug('transaction of a peer rejected', {
      peer,
      txid: hashToHex(parsed.txid),
      wtxid: hashToHex(parsed.wtxid),
      reason: rejection.reason,
      debug: rejection.debug,
    });
    const left = this.#download.mempoolRejected(parsed, rejection, peer, firstTime);
    if (left.keepForBlocks) this.#compact.addExtraTransaction(parsed);
    const sender = peers.get(peer);
    if (sender) for (const parent of left.missingParents) this.#relay.markKnown(sender, parent);
    return left.package;
  }

  async #validatePackage(found: PackageToValidate): Promise<void> {
    const { mempool, peers } = this.#ctx;
    const result = await mempool.relay.acceptPackage(found.txs);
    if (result === null) return;
    for (const { parsed, sender } of processPackageResult(this.#download, found, result).accepted)
      this.#onAccepted(peers.get(sender), parsed);
  }
}

/**
 * Returns the id of an announced transaction; null for other items and for ids that do not match the negotiated type
 * (BIP-339).
 */
function idOf({ negotiated }: Peer, { kind, hash }: InventoryItem): GenTxid | null {
  if (!isTransactionKind(kind) || kind === (negotiated.wtxidRelay ? INVENTORY.tx : INVENTORY.wtx)) return null;
  return { by: kind === INVENTORY.wtx ? 'wtxid' : 'txid', hash };
}

/** Peers without witnesses know only the plain type. */
function itemOf({ servesWitness }: Peer, { by, hash }: GenTxid): InventoryItem {
  const byTxid = servesWitness ? INVENTORY.witnessTx : INVENTORY.tx;
  return { kind: by === 'wtxid' ? INVENTORY.wtx : byTxid, hash };
}
