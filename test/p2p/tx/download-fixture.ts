import { Orphanage } from '../../../src/mempool/orphanage.ts';
import type { GenTxid } from '../../../src/p2p/tx/gen-txid.ts';
import { RecentTxs } from '../../../src/p2p/tx/recent-txs.ts';
import { RequestTracker } from '../../../src/p2p/tx/request-tracker.ts';
import { TxDownload, type TxPeer } from '../../../src/p2p/tx/tx-download.ts';
import type { ParsedTransaction } from '../../../src/primitives/block.ts';
import { silentLog } from '../../lib/chain-fixture.ts';
import { ManualClock } from '../../lib/manual-clock.ts';
import { parsed } from '../../lib/mempool-fixture.ts';
import { coinOf, madeUpCoin, spend } from '../../lib/tx-builder.ts';

let next = 1;

/** A transaction that spends a made-up coin, by default with a witness. */
export function madeUpTx({ witness = true, outputs = 1 } = {}): ParsedTransaction {
  const coin = madeUpCoin(witness ? 'p2wpkh' : 'anyone', 100_000n, 10_000 + next++);
  return parsed(
    spend(
      coin,
      Array.from({ length: outputs }, () => ({ to: 'p2wpkh' as const, value: 1000n })),
    ),
  );
}

/** Spends the first output of each, or other outputs of one. */
export function childOf(parents: readonly ParsedTransaction[], vouts: readonly number[] = [0]): ParsedTransaction {
  const coins = parents.flatMap(({ tx }) => vouts.map((vout) => coinOf(tx, vout)));
  return parsed(spend(coins, [{ to: 'anyone', value: BigInt(next++) }]));
}

export const byTxid = ({ txid }: ParsedTransaction): GenTxid => ({ by: 'txid', hash: txid });
export const byWtxid = ({ wtxid }: ParsedTransaction): GenTxid => ({ by: 'wtxid', hash: wtxid });

/** A TxDownload with access to all its parts. */
export class TestDownload {
  readonly clock = new ManualClock(1_700_000_000_000);
  readonly tracker = new RequestTracker();
  readonly orphanage = new Orphanage();
  readonly recent = new RecentTxs(() => 7);
  /** Ids in hex. */
  readonly mempool = new Set<string>();
  readonly download: TxDownload;

  constructor() {
    const has = (hash: Uint8Array) => this.mempool.has(hash.toHex());
    this.download = new TxDownload({
      ...this,
      mempool: { hasTxid: has, hasWtxid: has },
      random: () => 0,
      log: silentLog,
    });
  }

  connect(peer: number, info: Partial<TxPeer> = {}): void {
    this.download.connectedPeer(peer, { preferred: false, relayPermission: false, wtxidRelay: true, ...info });
  }

  /** Adds a transaction to the mempool and reports it. */
  accept(tx: ParsedTransaction): number[] {
    this.mempool.add(tx.txid.toHex()).add(tx.wtxid.toHex());
    return this.download.mempoolAccepted(tx);
  }

  reject(
    tx: ParsedTransaction,
    kind: Parameters<TxDownload['mempoolRejected']>[1]['kind'],
    peer: number,
    first = true,
  ) {
    return this.download.mempoolRejected(tx, { kind, reason: '' }, peer, first);
  }
}
