import { hashToHex } from '../../src/primitives/hash.ts';
import { RegtestChain } from './chain-builder.ts';
import { LOCK_KINDS, lockOf, scriptOfDestination, spend } from './tx-builder.ts';

export interface SampleOptions {
  /** Payments of each block that can have some. */
  readonly payments?: number;
  /** Height of a block of a megabyte. */
  readonly bigAt?: number;
  /** Seconds between two blocks. */
  readonly spacing?: number;
}

/**
 * A chain of the last hours: a node that connects it leaves initial sync at its first block, and commits every block. With a
 * longer `spacing` a node commits many blocks at once, until it reaches those of the last day.
 */
export function recentChain(
  blocks: number,
  { payments = 0, bigAt = 0, spacing = 60 }: SampleOptions = {},
): RegtestChain {
  const startTime = Math.floor(Date.now() / 1000) - 3600 - blocks * spacing;
  const chain = new RegtestChain({ startTime, spacing, to: lockOf('p2wpkh') });
  if (bigAt > 0) {
    extend(chain, bigAt - 1, payments);
    const payee = { to: lockOf('p2wpkh'), value: 1000n };
    chain.mine(1, { txs: [spend(chain.coin(bigAt - 100), new Array(30_000).fill(payee))] });
  }
  extend(chain, blocks - chain.height, payments);
  return chain;
}

/** A chain that ended years ago: a node that connects it stays in initial sync. */
export function oldChain(blocks: number, { payments = 0 } = {}): RegtestChain {
  const chain = new RegtestChain({ to: lockOf('p2wpkh') });
  extend(chain, blocks, payments);
  return chain;
}

/** Mines further blocks; every one that can spends the oldest mature coinbase to `payments` locks of all kinds. */
export function extend(chain: RegtestChain, blocks: number, payments: number): void {
  for (let i = 0; i < blocks; i++) {
    const height = chain.height + 1;
    const mature = height - 100;
    if (payments === 0 || mature < 1) {
      chain.mine(1);
      continue;
    }
    const coin = chain.coin(mature);
    const share = (coin.output.value - 10_000n) / BigInt(payments);
    const payees = Array.from({ length: payments }, (_, n) => ({
      to: lockOf(LOCK_KINDS[(height + n) % LOCK_KINDS.length]!, n % 3),
      value: share,
    }));
    chain.mine(1, { txs: [spend(coin, payees)] });
  }
}

/** All scripts that the outputs of blocks from a height on pay, hex. */
export function scriptsOf(chain: RegtestChain, from = 0): string[] {
  const scripts = new Set<string>();
  for (const { txs } of chain.blocks.slice(from))
    for (const { outputs } of txs) for (const { scriptPubKey } of outputs) scripts.add(scriptPubKey.toHex());
  return [...scripts];
}

/** Returns the hash of the tip in display order. */
export function tipHash(chain: RegtestChain): string {
  return hashToHex(chain.tip.hash);
}

export function scriptPath(to: Parameters<typeof scriptOfDestination>[0]): string {
  return `script:${scriptOfDestination(to).toHex()}`;
}
