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
import type { SandboxChain, SandboxCoin, SandboxTip } from './sandbox-chain.ts';
import { SeededRandom } from './seeded-random.ts';

/** A shorter chain is extended to this height at once, so that the coinbases of the first eleven blocks are mature. */
export const SEED_BLOCKS = 110;

/** More than the number of immature coinbases of an account. */
const COINS_PER_ACCOUNT = 40;

export interface SandboxOptions {
  readonly chain: SandboxChain;
  readonly params: NetworkParams;
  /** Seconds between blocks; 0 disables mining and payments. */
  readonly interval: number;
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly clock?: Clock;
  /** Resolves after the given milliseconds; rejects when the signal aborts. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/**
 * Mines on a regtest chain until the signal aborts: the first 110 blocks at once, then one block per interval with the
 * transactions of the mempool. Its own payments enter the mempool after each block. All its state is read from the
 * chain, so it may be stopped and started at any time.
 */
export async function startSandbox(options: SandboxOptions): Promise<void> {
  if (options.interval === 0) {
    options.log.info('sandbox: mining is disabled', { setting: 'dev.interval' });
    return;
  }
  try {
    await run(options);
  } catch (error) {
    if (!options.signal.aborted) throw error;
  }
}

const NOTHING: Awaited<ReturnType<SandboxChain['ripe']>> = { transactions: [], fees: 0n };

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
        if (!ok) log.warn('sandbox: payment rejected', { reason });
      }
    }
    if (!seeding) await wait(refused ? interval * 1000 : untilDueMs(chain.tip(), interval, clock.nowMs()), signal);
    // The tip is read again, since other blocks may have been mined during the wait.
    const tip = chain.tip();
    const ripe = seeding ? NOTHING : await abortable(chain.ripe(), signal);
    const raw = sandboxBlock(tip, ripe, params, unixSeconds(clock));
    if (raw === null) {
      log.warn('sandbox: the chain is too far ahead of the clock', { medianTimePast: tip.medianTimePast });
      refused = true;
      continue;
    }
    const { ok, reason } = await abortable(chain.submit(raw), signal);
    if (!ok) log.warn('sandbox: block rejected', { height: tip.height + 1, reason });
    refused = !ok;
  }
}

/** Returns the payments that follow a block. The same block and coins give the same payments. */
export function sandboxPayments(chain: SandboxChain, tip: SandboxTip): readonly Transaction[] {
  const { accounts, signing } = sandboxAccounts();
  const scripts = accounts.map(({ scriptPubKey }) => scriptPubKey);
  const coins = scripts.flatMap((script) => matureCoins(chain, script, tip.height + 1));
  const random = new SeededRandom(tip.hash);
  return makePayments({ coins, scripts, signing, random, height: tip.height }).transactions;
}

interface BlockContent {
  readonly transactions: readonly Transaction[];
  readonly fees: Amount;
  readonly time: number;
  readonly params: NetworkParams;
}

/** Returns the next block of the sandbox, or null while the chain is too far ahead of the clock. */
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

/**
 * Returns a block with its proof of work. Its coinbase pays the account that is derived from its height, shifted by
 * `turn`.
 */
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

/** Returns the coins of one account that a block of this height may spend. */
export function matureCoins(chain: SandboxChain, scriptPubKey: Uint8Array, height: number): OwnCoin[] {
  return chain
    .coinsOf(scriptPubKey, COINS_PER_ACCOUNT)
    .filter((coin) => isMature(coin, height))
    .map(({ outpoint, value }) => ({ outpoint, output: { value, scriptPubKey } }));
}

function isMature({ position }: SandboxCoin, height: number): boolean {
  return positionIndex(position) > 0 || height - positionHeight(position) >= COINBASE_MATURITY;
}
