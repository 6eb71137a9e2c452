import type { Database } from 'bun:sqlite';
import type { Chain } from '../chain/chain.ts';
import type { ChainFollower } from '../chain/events.ts';
import type { Config } from '../config/settings.ts';
import { bumpFees } from '../mempool/bump-fees.ts';
import { fitsClusterLimits } from '../mempool/cluster-limits.ts';
import type { MempoolService } from '../mempool/service.ts';
import { parseTransaction } from '../primitives/block.ts';
import { ChainReads } from '../storage/chain-reads.ts';
import type { Clock } from '../util/clock.ts';
import type { Log } from '../util/log.ts';
import { openMacKey } from '../wallet/node-voucher.ts';
import type { ExternalSigner } from '../wallet/signer/external-signer.ts';
import { EncryptedWallets } from '../wallet/store/encrypted-wallets.ts';
import { KnownWallets } from '../wallet/store/known-wallets.ts';
import { WalletManager } from '../wallet/wallet-manager.ts';
import { relayOptionsOf } from './relay-settings.ts';
import { spendPolicyOf } from './spending.ts';
import { walletDirectoriesOf } from './wallet-directories.ts';
import { readWalletPassphrase } from './wallet-passphrase.ts';

/** The wallets of a node, and their connection to the chain. */
export interface Wallets {
  readonly manager: WalletManager;
  /** Returns a follower that passes each change on to the wallets as well. */
  alongside(follower: ChainFollower): ChainFollower;
  close(): void;
}

export function openWallets(
  config: Config,
  deps: {
    chain: Chain;
    mempool: MempoolService;
    /** node.db. */
    database: Database;
    signer: ExternalSigner;
    clock: Clock;
    log: Log;
    signal: AbortSignal;
  },
): Wallets {
  const { chain, mempool, clock, log, signal } = deps;
  let reads: ChainReads | null = null;
  const { relay } = mempool;
  const relayOptions = relayOptionsOf(config);
  const manager = new WalletManager(
    {
      ...walletDirectoriesOf(config),
      autocreate: config.wallet.autocreate,
      loadAtStart: config.wallet.loadAtStart,
      max: config.wallet.max,
      passphrase: () => readWalletPassphrase(config.wallet.passphraseFile),
      known: new KnownWallets(deps.database),
    },
    {
      params: chain.params,
      clock,
      log,
      signal,
      keypool: config.wallet.keypool,
      addressType: config.wallet.addressType,
      changeType: config.wallet.changeType === 'auto' ? null : config.wallet.changeType,
      voucher: { key: openMacKey(config.networkDir), encrypted: new EncryptedWallets(deps.database) },
      fees: {
        estimate(target, conservative) {
          const found = mempool.fees.estimate({ target, conservative, estimator: 'none', strict: false });
          if (found.feerate === null) return 0;
          // The minimum relay rate is used as an estimate on test networks alone, and not in place of the operator's rate.
          const usesFloor = chain.params.name !== 'main' && config.wallet.fallbackFee === null;
          return found.estimator === 'floor' && !usesFloor ? 0 : found.feerate;
        },
        fallback: Math.round((config.wallet.fallbackFee ?? 0) * 1000),
        get mempoolMin() {
          return mempool.mempool.fullFeerate;
        },
        relayMin: Number(relayOptions.minRelayFeerate),
        incremental: Number(relayOptions.incrementalFeerate),
        dust: Number(relayOptions.dustFeerate),
      },
      spending: spendPolicyOf(config),
      signer: deps.signer,
      chain: {
        get tip() {
          return chain.tip;
        },
        get initialSync() {
          return chain.initialSync;
        },
        get pruneHeight() {
          const pruned = chain.pruner?.pruneHeight ?? null;
          const { background } = chain;
          // The blocks below a loaded UTXO set arrive in any order, and count as missing until all are validated.
          return background === null ? pruned : Math.max(pruned ?? 0, background.base.height + 1);
        },
        get loadedHeight() {
          return chain.background?.base.height ?? null;
        },
        get buildingIndexes() {
          return chain.indexes.progress().some(({ live }) => !live);
        },
        get: (hash) => chain.findEntry(hash),
        // Opened when a wallet first reads the chain.
        reads: () => (reads ??= new ChainReads(config.chainDir, { cacheMiB: 16 })),
      },
      mempool: {
        has: (txid) => relay.hasTxid(txid),
        txids: () => [...relay.transactions()].sort((a, b) => a.sequence - b.sequence).map(({ txid }) => txid),
        get(txid) {
          const found = relay.transaction(txid, 'txid');
          return found && parseTransaction(found.raw);
        },
        standing(txid) {
          const { entries, graph } = mempool.mempool;
          const slot = entries.find(txid);
          if (slot < 0) return null;
          return {
            ancestors: graph.ancestors(slot).length,
            clusterCount: graph.cluster(slot).length,
            hasDescendants: graph.descendants(slot).length > 1,
          };
        },
        bumpFees: (outpoints, feerate) => bumpFees(mempool.mempool, outpoints, feerate),
        hasRoom: (spent, weight) => fitsClusterLimits(mempool.mempool, spent, weight),
        abandoned: (wallet, txids) => mempool.addAbandoned(wallet, txids),
        broadcast: (raw) => mempool.submissions.broadcast(raw, { maxFeerate: null, maxBurn: Number.MAX_SAFE_INTEGER }),
      },
    },
  );
  return {
    manager,
    alongside: (follower) => ({
      follow(move) {
        follower.follow(move);
        manager.follower.beforeChainMove(move);
      },
      has: (txid) => follower.has(txid),
    }),
    close() {
      manager.close();
      reads?.close();
    },
  };
}
