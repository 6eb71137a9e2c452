import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BlockOutcome } from '../../src/chain/block-intake.ts';
import { Chain } from '../../src/chain/chain.ts';
import type { PruneOptions } from '../../src/chain/pruner.ts';
import type { ScriptVerifier } from '../../src/chain/script-verifier.ts';
import { signatureEngine } from '../../src/crypto/secp256k1.ts';
import { VerifyBatchWriter } from '../../src/node/verify/verify-batch.ts';
import { verifyBatch } from '../../src/node/verify/verify-worker.ts';
import type { NetworkParams } from '../../src/params/network-params.ts';
import { regtest } from '../../src/params/regtest.ts';
import { hashToHex } from '../../src/primitives/hash.ts';
import { ChainReads } from '../../src/storage/chain-reads.ts';
import type { EventRecord } from '../../src/storage/event-store.ts';
import type { IndexSwitches } from '../../src/storage/index-store.ts';
import type { RunsBuilder } from '../../src/storage/runs/build-runs.ts';
import { ByteReader } from '../../src/util/bytes.ts';
import { createLog, type Log } from '../../src/util/log.ts';
import { type ChainState, dumpState } from './chain-state.ts';
import { ManualClock } from './manual-clock.ts';
import { readVectorBytes } from './vectors.ts';

/** Long after every block that tests make, so that the chain stays in initial sync. */
export const LONG_AFTER_MS = 1_800_000_000_000;

/** Writers of blocks whose scripts are verified: thousands of blocks of a test share their memory. */
const idleWriters: VerifyBatchWriter[] = [];

/** Verifies scripts when `finish` is called, in this thread. */
export const inlineVerifier: ScriptVerifier = {
  begin(flags) {
    const batch = idleWriters.pop() ?? new VerifyBatchWriter();
    batch.begin(flags);
    return {
      add: ({ raw, columns: { txAt, firstInput } }, i, spent, from, to) => {
        const inputs = firstInput[i + 1]! - firstInput[i]!;
        batch.add(i - 1, inputs, { bytes: raw, from: txAt[i]!, to: txAt[i + 1]! }, { bytes: spent, from, to });
      },
      addTransaction: (tx, raw, spent, inputs) =>
        batch.add(tx, inputs, { bytes: raw, from: 0, to: raw.length }, { bytes: spent, from: 0, to: spent.length }),
      finish: async () => {
        const bytes = batch.finish();
        idleWriters.push(batch);
        return verifyBatch(bytes, signatureEngine());
      },
      cancel: () => {},
    };
  },
};

/** Finds every script valid: for chains whose signatures another test verifies. */
export const trustingVerifier: ScriptVerifier = {
  begin: () => ({ add: () => {}, addTransaction: () => {}, finish: async () => null, cancel: () => {} }),
};

/** As another one, but each verdict comes some turns of the event loop late, so that later blocks are connected first. */
export function lateVerifier(turns: () => number, verifier: ScriptVerifier = inlineVerifier): ScriptVerifier {
  return {
    begin(flags) {
      const checks = verifier.begin(flags);
      return {
        add: checks.add.bind(checks),
        addTransaction: checks.addTransaction.bind(checks),
        cancel: () => checks.cancel(),
        finish: async () => {
          const verdict = await checks.finish();
          for (let left = turns(); left > 0; left--) await new Promise(setImmediate);
          return verdict;
        },
      };
    },
  };
}

export const ALL_INDEXES: IndexSwitches = { tx: true, address: true, spender: true, coinStats: false };
/** The indexes that are on unless the configuration changes that. */
export const DEFAULT_INDEXES: IndexSwitches = { ...ALL_INDEXES, spender: false };
export const NO_INDEXES: IndexSwitches = { tx: false, address: false, spender: false, coinStats: false };

export interface NodeOptions {
  readonly params?: NetworkParams;
  readonly verifier?: ScriptVerifier;
  /** Time of day at the start, in milliseconds. */
  readonly nowMs?: number;
  readonly coinsCacheBytes?: number;
  /** Keeps block filters. */
  readonly filters?: boolean;
  readonly indexes?: IndexSwitches;
  readonly removeDisabledIndexes?: boolean;
  readonly log?: Log;
  /** A directory to begin with a copy of. */
  readonly from?: string;
  /** Where the directory is made. */
  readonly parent?: string;
  readonly prune?: PruneOptions;
  /** Size limit of block and undo files. */
  readonly fileLimit?: number;
  /** Height at which no further block is connected. */
  readonly lastHeight?: number;
  /** Builds the runs of large commits while blocks are connected. */
  readonly buildRuns?: RunsBuilder;
}

/** Options that may change with a restart. */
type StartOptions = Pick<
  NodeOptions,
  'verifier' | 'coinsCacheBytes' | 'filters' | 'indexes' | 'removeDisabledIndexes' | 'lastHeight'
> & {
  /** Null switches pruning off. */
  readonly prune?: PruneOptions | null;
};

/** Bytes of a block, or something that has them. */
export type BlockBytes = Uint8Array | { readonly raw: Uint8Array };

function rawOf(block: BlockBytes): Uint8Array {
  return block instanceof Uint8Array ? block : block.raw;
}

/**
 * A chain in a directory of its own, which goes when the test ends:
 *
 *     await using node = new TestNode();
 *     await node.take(blocks);
 */
export class TestNode implements AsyncDisposable {
  readonly dir: string;
  readonly clock: ManualClock;
  readonly params: NetworkParams;
  readonly #options: NodeOptions;
  #chain: Chain;
  #open = true;

  constructor(options: NodeOptions = {}) {
    this.#options = options;
    this.params = options.params ?? regtest;
    this.clock = new ManualClock(options.nowMs ?? LONG_AFTER_MS);
    this.dir = mkdtempSync(join(options.parent ?? tmpdir(), 'obverse-chain-'));
    if (options.from) cpSync(options.from, this.dir, { recursive: true });
    try {
      this.#chain = this.#start();
    } catch (error) {
      rmSync(this.dir, { recursive: true, force: true });
      throw error;
    }
  }

  get chain(): Chain {
    return this.#chain;
  }

  /** The committed tip, display order. */
  get tip(): string {
    return hashToHex(this.#chain.tip.hash);
  }

  /** Submits blocks without waiting for their scripts; throws where one is rejected at once. */
  async accept(blocks: Iterable<BlockBytes>): Promise<void> {
    for (const block of blocks) expectTaken(await this.#chain.acceptBlock(rawOf(block)));
  }

  /** Submits blocks and waits until all of them are validated and committed. */
  async take(blocks: Iterable<BlockBytes>): Promise<void> {
    await this.accept(blocks);
    await this.#chain.settle();
  }

  /** Waits for the verdict on one block: its status, or the reason why it was refused. */
  async submit(block: BlockBytes): Promise<string> {
    const outcome = await this.#chain.submitBlock(rawOf(block));
    return outcome.status === 'rejected' ? outcome.rejection.reason : outcome.status;
  }

  async restart(options: StartOptions = {}): Promise<void> {
    await this.close();
    this.#chain = this.#start(options);
    this.#open = true;
  }

  async close(): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    await this.#chain.close();
  }

  /** Reads the committed state on a connection of its own. */
  read<T>(read: (reads: ChainReads) => T): T {
    const reads = new ChainReads(this.dir);
    try {
      return reads.snapshot(() => read(reads));
    } finally {
      reads.close();
    }
  }

  state(): ChainState {
    return dumpState(this.dir);
  }

  events(after = 0): (EventRecord & { payload: Record<string, unknown> })[] {
    const records = this.read(({ events }) => events.after(after, 1_000_000));
    return records.map((record) => ({ ...record, payload: JSON.parse(record.data) as Record<string, unknown> }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.close();
    } finally {
      rmSync(this.dir, { recursive: true, force: true });
    }
  }

  #start({ verifier, coinsCacheBytes, filters, indexes, prune, ...others }: StartOptions = {}): Chain {
    return new Chain(
      {
        dir: this.dir,
        params: this.params,
        coinsCacheBytes: coinsCacheBytes ?? this.#options.coinsCacheBytes ?? 64 * 1024 * 1024,
        databaseCacheMiB: 16,
        filters: filters ?? this.#options.filters ?? false,
        removeDisabledIndexes: others.removeDisabledIndexes ?? false,
        indexes: indexes ?? this.#options.indexes ?? DEFAULT_INDEXES,
        prune: prune === undefined ? this.#options.prune : (prune ?? undefined),
        fileLimit: this.#options.fileLimit,
        lastHeight: 'lastHeight' in others ? others.lastHeight : this.#options.lastHeight,
      },
      {
        verifier: verifier ?? this.#options.verifier ?? inlineVerifier,
        clock: this.clock,
        log: this.#options.log ?? silentLog,
        buildRuns: this.#options.buildRuns,
      },
    );
  }
}

export const silentLog = createLog({ level: 'error', format: 'json', write: (bytes) => bytes.length });

function expectTaken(outcome: BlockOutcome): void {
  if (outcome.status === 'rejected') throw new Error(`block refused: ${outcome.rejection.reason}`);
}

/** The blocks of a bootstrap file among the test data. */
function blocksOfFile(name: string): Uint8Array[] {
  const r = new ByteReader(readVectorBytes(name));
  const blocks: Uint8Array[] = [];
  while (r.remaining > 0) {
    r.skip(4);
    blocks.push(r.bytes(r.u32()));
  }
  return blocks;
}

let mixed: Uint8Array[] | undefined;

/** 160 blocks with every standard kind of input, from height 1; index + 1 is the height. */
export function mixedBlocks(): readonly Uint8Array[] {
  return (mixed ??= blocksOfFile('chains/regtest-mixed-160.dat'));
}
