import { Findings } from '../chain/integrity/findings.ts';
import {
  type VerifyLevel,
  type VerifyProgress,
  type VerifyReport,
  verifyFolder,
} from '../chain/integrity/verify-folder.ts';
import type { Config } from '../config/settings.ts';
import { ChainReads } from '../storage/chain-reads.ts';
import { refuseUnfinishedReindex } from '../storage/reindex-folder.ts';
import { type WalletFile, walletFilesOf } from '../storage/wallet-folder.ts';
import { paramsOfConfig } from './config-params.ts';
import type { ImportProgress } from './import-types.ts';
import { checkStores, type StoreCounts } from './integrity/check-stores.ts';
import { checkWalletCoins } from './integrity/check-wallet-coins.ts';
import { lockDirectory } from './lock.ts';

/** Time for which the check runs before signals are handled, milliseconds. */
const SLICE_MS = 100;

export interface VerifyOptions {
  readonly level: VerifyLevel;
  readonly signal: AbortSignal;
  readonly progress: (progress: ImportProgress) => void;
}

/** The result of a check of the chain and of the databases beside it, whose findings are in one list. */
export interface DirectoryReport extends VerifyReport {
  /** Number of findings that concern the chain. */
  readonly chainTotal: number;
  readonly stores: StoreCounts;
}

/**
 * Checks the data of a stopped node, and changes none of it. Resolves to null after an abort. Throws OperatorError if the
 * directory is in use or holds no chain.
 */
export async function runVerify(
  config: Config,
  { level, signal, progress }: VerifyOptions,
): Promise<DirectoryReport | null> {
  const release = lockDirectory(config.networkDir);
  const startedAt = performance.now();
  try {
    refuseUnfinishedReindex(config.chainDir);
    const check = verifyDirectory(config, level);
    for (let pausedAt = performance.now(); ; ) {
      const { done, value } = check.next();
      if (done) return value;
      if (performance.now() - pausedAt < SLICE_MS) continue;
      if (value !== undefined)
        progress({ ...value, blocks: value.height, inputs: 0, elapsedMs: performance.now() - startedAt });
      await new Promise(setImmediate);
      pausedAt = performance.now();
      if (signal.aborted) {
        check.return(null as never);
        return null;
      }
    }
  } finally {
    release();
  }
}

/** Checks the chain, then the databases beside it, and the coins of wallets against a chain without findings. */
function* verifyDirectory(config: Config, level: VerifyLevel): Generator<VerifyProgress | undefined, DirectoryReport> {
  const { networkDir, chainDir } = config;
  const chain = yield* verifyFolder(chainDir, paramsOfConfig(config), level);
  const findings = new Findings();
  const sources = { networkDir, walletDir: config.wallet.directory };
  const stores = yield* checkStores(sources, findings);
  const limits = [...chain.limits];
  const wallets = walletFilesOf(sources);
  if (wallets.length > 0 && (chain.total > 0 || chain.height < 0))
    limits.push('the chain is damaged; the coins of wallets are not compared with it');
  else if (wallets.length > 0) limits.push(...(yield* checkWallets(wallets, chainDir, findings)));
  return {
    ...chain,
    findings: [...chain.findings, ...findings.list],
    total: chain.total + findings.total,
    chainTotal: chain.total,
    stores,
    limits,
  };
}

function* checkWallets(
  wallets: readonly WalletFile[],
  chainDir: string,
  findings: Findings,
): Generator<undefined, readonly string[]> {
  const reads = new ChainReads(chainDir);
  const limits: string[] = [];
  try {
    for (const wallet of wallets) {
      const limit = yield* checkWalletCoins(wallet, reads, findings);
      if (limit !== null) limits.push(limit);
    }
  } finally {
    reads.close();
  }
  return limits;
}
