import { COINBASE_MATURITY } from '../consensus/limits.ts';
import { assembleBlock } from '../mining/block-template.ts';
import { grindBlock } from '../mining/grind.ts';
import type { NetworkParams } from '../params/network-params.ts';
import type { Amount } from '../primitives/amount.ts';
import { encodeBlock } from '../primitives/block.ts';
import { positionHeight, positionIndex } from '../primitives/coin.ts';
import type { BlockHash } from '../primitives/hash.ts';
import { type Transaction, transactionBytes } from '../primitives/transaction.ts';
import { abortable, sleep } from '../util/abort.ts';
import { ByteWriter, equalBytes } from '../util/bytes.ts';
import { type Clock, systemClock, unixSeconds } from '../util/clock.ts';
import type { Log } from '../util/log.ts';
import { sandboxAccounts } from './accounts.ts';
import { liveBlockTime, seedBlockTime, untilDueMs } from './block-times.ts';
import { makePayments, type OwnCoin } from './payments.ts';
import { SeededRandom } from './random.ts';
import type { SandboxChain, SandboxCoin, SandboxTip } from './sandbox-chain.ts';

/** Blocks that are mined at once where the chain has fewer: the coinbases of the first eleven may then be spent. */
export const SEED_BLOCKS = 110;

/** More than an account has coinbases that wait for maturity. */
const COINS_PER_ACCOUNT = 40;

export interface SandboxOptions {
  readonly chain: SandboxChain;
  readonly params: NetworkParams;
  /** Seconds between blocks; 0 mines none, nor makes payments. */
  readonly interval: number;
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly clock?: Clock;
  /** Resolves after some milliseconds, rejects when the signal aborts. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/**
 * Mines on a regtest chain until the signal aborts: the first 110 blocks at once, then one whenever one is due, with what
 * waits in the mempool by then. Payments of its own go into the mempool right after each block. Everything is found on the
 * chain, so it may be stopped and started again at any time.
 */
export async function startSandbox(options: SandboxOptions): Promise<void> {
  if (options.interval === 0) {
    options.log.info('sandbox: no blocks are mined', { setting: 'dev.interval' });
    return;
  }
  try {
    await run(options);
  } catch (error) {
    if (!options.signal.aborted) throw error;
  }
}

async function run({ chain, params, interval, signal, log, clock = systemClock, wait = sleep }: SandboxOptions) {
  const start = chain.tip();
  if (start.height < SEED_BLOCKS) log.info('sandbox: mining the first blocks', { count: SEED_BLOCKS - start.height });
  let refused = false;
  let paidFor: BlockHash | null = null;
  while (!signal.aborted) {
    const before = chain.tip();
    const seeding = before.height < SEED_BLOCKS && !refused;
    if (before.height >= SEED_BLOCKS && !(paidFor && equalBytes(paidFor, before.hash))) {
      paidFor = before.hash;
      for (const tx of sandboxPayments(chain, before)) {
        const { ok, reason } = await abortable(chain.offer(transactionBytes(tx)), signal);
        if (!ok) log.warn('sandbox: payment refused', { reason });
      }
    }
    if (!seeding) await wait(refused ? interval * 1000 : untilDueMs(chain.tip(), interval, clock.nowMs()), signal);
    // Read again: others may have mined in the meantime.
    const tip = chain.tip();
    const ripe = seeding ? NOTHING : await abortable(chain.ripe(), signal);
    const raw = sandboxBlock(tip, ripe, params, unixSeconds(clock));
    if (raw === null) {
      log.warn('sandbox: the chain is too far ahead of the clock', { medianTimePast: tip.medianTimePast });
      refused = true;
      continue;
    }
    const { ok, reason } = await abortable(chain.submit(raw), signal);
    if (!ok) log.warn('sandbox: block refused', { height: tip.height + 1, reason });
    refused = !ok;
  }
}

const NOTHING: Awaited<ReturnType<SandboxChain['ripe']>> = { transactions: [], fees: 0n };

/** The payments that follow a block; the same block and coins give the same payments. */
export function sandboxPayments(chain: SandboxChain, tip: SandboxTip): readonly Transaction[] {
  const { accounts, ring } = sandboxAccounts();
  const scripts = accounts.map(({ scriptPubKey }) => scriptPubKey);
  const coins = scripts.flatMap((script) => spendableCoins(chain, script, tip.height + 1));
  const random = new SeededRandom(tip.hash);
  return makePayments({ coins, scripts, ring, random, height: tip.height }).transactions;
}

interface BlockContent {
  readonly transactions: readonly Transaction[];
  readonly fees: Amount;
  readonly time: number;
  readonly params: NetworkParams;
}

/** The next block of the sandbox, or null while the clock is too far behind the chain. */
function sandboxBlock(
  tip: SandboxTip,
  { transactions, fees }: typeof NOTHING,
  params: NetworkParams,
  now: number,
): Uint8Array | null {
  const remaining = SEED_BLOCKS - tip.height;
  const jitter = new SeededRandom(tip.hash).fraction();
  const time = remaining > 0 ? seedBlockTime(tip, remaining, now, jitter) : liveBlockTime(tip, now);
  if (time === null) return null;
  return blockOn(tip, { transactions, fees, time, params });
}

/** A block with its proof of work; its coinbase pays the account that follows from its height, `turn` ones further on. */
export function blockOn(
  parent: SandboxTip,
  { transactions, fees, time, params, turn = 0 }: BlockContent & { readonly turn?: number },
): Uint8Array {
  const { accounts } = sandboxAccounts();
  const block = assembleBlock({
    parent,
    bits: parent.nextBits,
    version: parent.nextVersion,
    time,
    transactions,
    fees,
    coinbaseScript: accounts[(parent.height + 1 + turn) % accounts.length]!.scriptPubKey,
    params: params.consensus,
  });
  const w = new ByteWriter(4096);
  encodeBlock(w, grindBlock(block));
  return w.finish();
}

/** Coins of one account that a block of this height may spend. */
export function spendableCoins(chain: SandboxChain, scriptPubKey: Uint8Array, height: number): OwnCoin[] {
  return chain
    .coinsOf(scriptPubKey, COINS_PER_ACCOUNT)
    .filter((coin) => isMature(coin, height))
    .map(({ outpoint, value }) => ({ outpoint, output: { value, scriptPubKey } }));
}

function isMature({ position }: SandboxCoin, height: number): boolean {
  return positionIndex(position) > 0 || height - positionHeight(position) >= COINBASE_MATURITY;
}
