import { checkBlock } from '../../src/consensus/check-block.ts';
import { checkBlockContext } from '../../src/consensus/check-block-context.ts';
import { checkHeaderContext } from '../../src/consensus/check-header.ts';
import { blockScriptFlags } from '../../src/consensus/deployments.ts';
import { calculateSequenceLocks, evaluateSequenceLocks } from '../../src/consensus/locktime.ts';
import { signatureEngine } from '../../src/crypto/secp256k1.ts';
import type { NetworkParams } from '../../src/params/network-params.ts';
import { regtest } from '../../src/params/regtest.ts';
import { type Coin, txPosition } from '../../src/primitives/coin.ts';
import { outpointKey } from '../../src/primitives/outpoint.ts';
import { sumOutputs } from '../../src/primitives/transaction.ts';
import { DecodedTxContext } from '../../src/script/decoded-tx-context.ts';
import { checkInput } from '../../src/script/tx-checker.ts';
import type { RegtestChain, TestBlock } from '../lib/chain-builder.ts';
import { checkTxInputs } from '../lib/check-tx-inputs.ts';

/** Returns the reject reason of a block as the next one of a chain, with the checks in the order of a node; null if it is valid. */
export function validateBlock(
  chain: RegtestChain,
  block: TestBlock,
  { now = block.time, params = regtest }: { now?: number; params?: NetworkParams } = {},
): string | null {
  const { consensus } = params;
  const parsed = block.parsed();
  const parent = chain.tip;
  const early =
    checkBlock(parsed, consensus) ??
    checkHeaderContext(parsed.header, parent, consensus, now) ??
    checkBlockContext(parsed, parent, consensus);
  if (early) return early.reason;
  const height = parent.height + 1;
  const made = new Map<string, Coin>();
  const coins = {
    get: (outpoint: Parameters<typeof outpointKey>[0]): Coin | null => {
      const key = outpointKey(outpoint);
      const own = made.get(key);
      if (own) return own;
      const coin = chain.coins.get(key);
      return coin ? { output: coin.output, position: coin.position! } : null;
    },
  };
  const spent = new Set<string>();
  const flags = blockScriptFlags(block.hash, height, consensus);
  let fees = 0n;
  for (const [index, { tx, txid }] of parsed.txs.entries()) {
    if (index > 0) {
      if (tx.inputs.some(({ prevout }) => spent.has(outpointKey(prevout)))) return 'bad-txns-inputs-missingorspent';
      const fee = checkTxInputs(tx, coins, height);
      if (!fee.ok) return fee.reason;
      fees += fee.value;
      const used = tx.inputs.map(({ prevout }) => coins.get(prevout)!);
      const locks = calculateSequenceLocks(tx, used, parent);
      if (!evaluateSequenceLocks(locks, height, parent.medianTimePast)) return 'bad-txns-nonfinal';
      const context = new DecodedTxContext(
        tx,
        used.map(({ output }) => output),
      );
      for (const i of tx.inputs.keys()) {
        const error = checkInput(context, i, flags, signatureEngine());
        if (error !== 'OK') return `script: ${error}`;
      }
      for (const { prevout } of tx.inputs) spent.add(outpointKey(prevout));
    }
    for (const [vout, output] of tx.outputs.entries())
      made.set(outpointKey({ txid, vout }), { output, position: txPosition(height, index) });
  }
  const subsidy = 5_000_000_000n >> BigInt(Math.floor(height / 150));
  return sumOutputs(parsed.txs[0]!.tx) > subsidy + fees ? 'bad-cb-amount' : null;
}
