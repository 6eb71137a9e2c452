import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Chain } from '../../src/chain/chain.ts';
import type { ScriptVerifier } from '../../src/chain/script-verifier.ts';
import { genesisBlock } from '../../src/params/genesis.ts';
import { regtest } from '../../src/params/regtest.ts';
import { hostClock } from '../../src/util/clock.ts';
import { DEFAULT_INDEXES, inlineVerifier, mixedBlocks, silentLog, trustingVerifier } from './chain-fixture.ts';
import { copyDatadir, tempDir } from './node-process.ts';
import { publishFixture, sharedFixture, tempFixture } from './shared-fixtures.ts';

/** Chains stay in initial sync, where blocks are committed together: one by one they take ten times as long. */
const PATIENT = { ...regtest, consensus: { ...regtest.consensus, minimumChainWork: 1n << 255n } };

interface DirectoryOptions {
  /** Size limit of block and undo files; `storage.fastPrune` has 64 KiB. */
  readonly fileLimit?: number;
  readonly verifier?: ScriptVerifier;
}

/**
 * Makes a data directory of a node whose chain has connected all blocks. The chain runs in this process, since an import
 * by the program takes a third of a second of processor time before its first block.
 */
export async function directoryWith(
  { blocks }: ChainBlocks,
  {
    datadir = tempDir(),
    ...options
  }: DirectoryOptions & { /** A new directory where absent. */ readonly datadir?: string } = {},
): Promise<string> {
  mkdirSync(join(datadir, regtest.name), { mode: 0o700 });
  // The first block is the genesis block, which every chain has.
  await extendDirectory(datadir, blocks.slice(1), options);
  return datadir;
}

interface ChainBlocks {
  readonly blocks: readonly { readonly raw: Uint8Array }[];
}

/** Connects blocks to the chain of a data directory. */
export async function extendDirectory(
  datadir: string,
  blocks: ChainBlocks['blocks'],
  { fileLimit, verifier = inlineVerifier }: DirectoryOptions = {},
): Promise<void> {
  const chain = new Chain(
    {
      dir: join(datadir, regtest.name, 'chain'),
      params: PATIENT,
      coinsCacheBytes: 64 * 1024 * 1024,
      databaseCacheMiB: 16,
      indexes: DEFAULT_INDEXES,
      fileLimit,
    },
    { verifier, clock: hostClock, log: silentLog },
  );
  try {
    for (const { raw } of blocks) {
      const outcome = await chain.acceptBlock(raw);
      if (outcome.status === 'rejected') throw new Error(`block rejected: ${outcome.rejection.reason}`);
    }
    await chain.settle();
  } finally {
    await chain.close();
  }
}

/**
 * Makes a data directory with the chain of regtest-mixed-160.dat up to a height. Its signatures are not verified, since
 * test/chain/mixed-chain.test.ts does that. It is a copy of one that is made once a run.
 */
export async function mixedDirectory(tip = mixedBlocks().length): Promise<string> {
  const { path, isThere } = sharedFixture(`mixed-directory-${tip}`);
  if (!isThere) {
    const blocks = [genesisBlock(regtest), ...mixedBlocks().slice(0, tip)].map((raw) => ({ raw }));
    publishFixture(await directoryWith({ blocks }, { verifier: trustingVerifier, datadir: tempFixture() }), path);
  }
  return copyDatadir(path);
}
