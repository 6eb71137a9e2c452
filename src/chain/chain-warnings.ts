import { unknownActivations, VersionBitsCache } from '../consensus/version-bits.ts';
import { workOf } from '../consensus/work.ts';
import type { NetworkParams } from '../params/network-params.ts';
import { hashToHex } from '../primitives/hash.ts';
import type { Log } from '../util/log.ts';
import type { ChainEntry } from './chain-entry.ts';
import type { HeaderTree } from './header-tree.ts';
import type { InitialSync } from './initial-sync.ts';

/** Bitcoin Core warns of an invalid chain that is ahead of the tip by the work of more than this many blocks. */
const INVALID_CHAIN_BLOCKS = 6n;

// Both sentences are Bitcoin Core's.
const INVALID_CHAIN_WARNING =
  'Warning: Found invalid chain more than 6 blocks longer than our best chain. This could be due to database corruption ' +
  'or consensus incompatibility with peers.';
const unknownRulesWarning = (bit: number) => `Unknown new rules activated (versionbit ${bit})`;

interface WarningSources {
  readonly tree: HeaderTree;
  readonly sync: InitialSync;
  readonly params: NetworkParams;
  readonly log: Log;
}

/**
 * The safety warnings of validation: rules that the network activated and this node does not know, and an invalid chain
 * with much more work than the best valid one. Each is logged when it appears.
 */
export class ChainWarnings {
  readonly #sources: WarningSources;
  readonly #cache = new VersionBitsCache();
  readonly #logged = new Set<string>();
  #unknownRules: readonly number[] = [];
  #invalidChain = false;

  constructor(sources: WarningSources) {
    this.#sources = sources;
  }

  /** Version bits of unknown rules that are active at the tip, ascending. */
  get unknownRules(): readonly number[] {
    return this.#unknownRules;
  }

  /** Whether an invalid chain has the work of more than six blocks beyond the tip. */
  get invalidChain(): boolean {
    return this.#invalidChain;
  }

  /** One sentence for each warning, as `getblockchaininfo` shows them. */
  get messages(): string[] {
    return [...this.#unknownRules.map(unknownRulesWarning), ...(this.#invalidChain ? [INVALID_CHAIN_WARNING] : [])];
  }

  /** Checks again at a new tip, or after blocks were marked invalid. */
  update(tip: ChainEntry): void {
    this.#checkInvalidChain(tip);
    // As in Bitcoin Core: during initial block download the tip says nothing about the network of today.
    if (!this.#sources.sync.active) this.#checkUnknownRules(tip);
  }

  #checkUnknownRules(tip: ChainEntry): void {
    const { params, log } = this.#sources;
    const found = unknownActivations(tip, params.consensus, params.isTestnet, this.#cache);
    this.#unknownRules = found.flatMap(({ bit, active }) => (active ? [bit] : []));
    for (const { bit, active } of found) {
      const message = active ? 'unknown new rules activated' : 'unknown new rules locked in';
      if (!this.#logged.has(`${message} ${bit}`)) log.warn(message, { versionbit: bit, height: tip.height });
      this.#logged.add(`${message} ${bit}`);
    }
  }

  #checkInvalidChain(tip: ChainEntry): void {
    const { tree, log } = this.#sources;
    const { bestInvalid } = tree;
    const limit = tip.chainwork + workOf(tip.bits) * INVALID_CHAIN_BLOCKS;
    const found = bestInvalid !== null && bestInvalid.chainwork > limit;
    if (found && !this.#invalidChain)
      log.warn('found an invalid chain more than 6 blocks longer than the best chain', {
        hash: hashToHex(bestInvalid.hash),
        height: bestInvalid.height,
        tip: tip.height,
      });
    this.#invalidChain = found;
  }
}
