import { type CheckBlockOptions, checkBlock } from '../consensus/check-block.ts';
import { checkBlockContext } from '../consensus/check-block-context.ts';
import { checkHeaderContext } from '../consensus/check-header.ts';
import type { ConsensusParams } from '../consensus/consensus-params.ts';
import { type BlockRejection, reject } from '../consensus/rejection.ts';
import type { ParsedBlock } from '../primitives/block.ts';
import { scriptErrorMessage } from '../script/script-error.ts';
import { equalBytes } from '../util/bytes.ts';
import type { Result } from '../util/result.ts';
import type { ActiveChain } from './active-chain.ts';
import { ChainEntry } from './chain-entry.ts';
import { scriptRejection } from './connect-block.ts';
import type { ScriptVerifier } from './script-verifier.ts';

export interface TestBlockDeps {
  readonly active: ActiveChain;
  readonly params: ConsensusParams;
  readonly verifier: ScriptVerifier;
  /** The node's time, Unix seconds. */
  readonly now: number;
}

/**
 * Validates a block as the next one on the tip, as Core's TestBlockValidity does. Scripts are verified on the workers:
 * the value resolves to their rejection or null. The block is not stored and changes no state. The chain must be
 * settled.
 */
export function testBlock(
  block: ParsedBlock,
  options: CheckBlockOptions,
  { active, params, verifier, now }: TestBlockDeps,
): Result<Promise<BlockRejection | null>, BlockRejection> {
  const { tip } = active;
  const { header } = block;
  if (!equalBytes(header.previousHash, tip.hash)) return reject('missing-prev', 'inconclusive-not-best-prevblk');
  const bad =
    checkBlock(block, params, options) ??
    checkHeaderContext(header, tip, params, now) ??
    checkBlockContext(block, tip, params);
  if (bad) return { ok: false, ...bad };
  // The entry never enters the tree, so neither its number nor its work matters.
  const connected = active.testConnect(ChainEntry.detached(0, block.hash, header, tip, tip.chainwork), block, verifier);
  if (!connected.ok) return connected;
  const rejection = connected.value.then(
    (failure) => failure && scriptRejection(block, failure, scriptErrorMessage(failure.error)),
  );
  return { ok: true, value: rejection };
}
