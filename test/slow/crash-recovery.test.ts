import { Database } from 'bun:sqlite';
import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { blocksOfFile } from '../lib/chain-filler.ts';
import { differences, dumpState, ModelChain, stateTip } from '../lib/chain-state.ts';
import type { EventSocket } from '../lib/node-client.ts';
import {
  cleanUpAfterTests,
  copyDatadir,
  importFiles,
  MIXED_FILE,
  NodeProcess,
  Program,
  poll,
  runProgram,
  startNode,
  tempDir,
} from '../lib/node-process.ts';
import { recentChain } from '../lib/sample-chains.ts';
import { hasVectors } from '../lib/vectors.ts';

setDefaultTimeout(600_000);

cleanUpAfterTests();

/** Returns the same sequence in every run, so that crashes happen at about the same points. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) / 2 ** 24;
  };
}

const sizeOf = (path: string) => (existsSync(path) ? statSync(path).size : 0);

interface LoggedEvent {
  readonly seq: number;
  readonly type: string;
  readonly data: string;
}

/** Invariants that hold at every instant, checked in a copy of the directory of a killed node. */
class Witness {
  readonly #blocks: readonly Uint8Array[];
  #model = new ModelChain();
  #events: LoggedEvent[] = [];
  height = 0;

  /** `blocks` begins at height 1. */
  constructor(blocks: readonly Uint8Array[]) {
    this.#blocks = blocks;
  }

  /**
   * Checks that coins, indexes, totals and tip are those of one height, at least the last seen one, and that the log
   * only grew.
   */
  look(datadir: string): number {
    const dir = join(copyDatadir(datadir), 'regtest/chain');
    if (!existsSync(join(dir, 'chain.db')) || !this.#hasTables(dir)) {
      expect(this.height).toBe(0);
      return 0;
    }
    const state = dumpState(dir);
    const height = state.chain.length - 1;
    // Before the first commit there is no genesis block.
    if (height < 0) return 0;
    expect(height).toBeGreaterThanOrEqual(this.height);
    this.height = height;
    while (this.#model.height < height) this.#model.connect(this.#blocks[this.#model.height]!);
    expect(differences(state, this.#model.state())).toEqual([]);

    const events = this.#log(dir);
    const before = this.#events;
    expect(events.slice(0, before.length)).toEqual(before);
    const added = events.slice(before.length);
    const seqs = added.map(({ seq }) => seq);
    expect(seqs).toEqual([...new Set(seqs)].toSorted((a, b) => a - b));
    const connected = events
      .filter(({ type }) => type === 'newBlock')
      .map(({ data }) => JSON.parse(data) as { height: number; hash: string });
    expect(connected.map(({ height: at }) => at).filter((at) => at > 0)).toEqual(
      Array.from({ length: height }, (_, i) => i + 1),
    );
    if (height > 0) expect(connected.at(-1)!.hash).toBe(stateTip(state));
    this.#events = events;
    return height;
  }

  get events(): readonly LoggedEvent[] {
    return this.#events;
  }

  #hasTables(dir: string): boolean {
    return this.#read(dir, "SELECT name FROM sqlite_master WHERE name = 'events'").length > 0;
  }

  #log(dir: string): LoggedEvent[] {
    return this.#read(dir, 'SELECT seq, type, data FROM events ORDER BY seq') as LoggedEvent[];
  }

  #read(dir: string, sql: string): unknown[] {
    const db = new Database(join(dir, 'chain.db'), { readonly: true });
    try {
      return db.query(sql).all();
    } finally {
      db.close();
    }
  }
}

/** Returns the height that a reader sees while the node runs; -1 if there is nothing to read. */
function committedHeight(datadir: string): number {
  try {
    const db = new Database(join(datadir, 'regtest/chain/chain.db'), { readonly: true });
    try {
      return db.query<{ height: number | null }, []>('SELECT max(height) AS height FROM chain').get()!.height ?? -1;
    } finally {
      db.close();
    }
  } catch {
    return -1;
  }
}

async function kill(program: Program): Promise<void> {
  program.kill('SIGKILL');
  const { signal } = await program.end();
  expect(signal).toBe('SIGKILL');
}

const importArgs = (datadir: string, file: string) => ['import', '--network', 'regtest', '--datadir', datadir, file];

describe('kill -9 while blocks are committed one by one', () => {
  const chain = recentChain(260, { payments: 25 });
  const blocks = chain.blocks.slice(1).map(({ raw }) => raw);
  const file = join(tempDir(), 'blocks.dat');
  chain.writeBootstrap(file);
  const total = sizeOf(file);
  const done = `tip at height ${chain.height}, ${chain.tip.hash.toReversed().toHex()}\n`;

  test('eight moments of an import', async () => {
    const datadir = tempDir();
    const witness = new Witness(blocks);
    const next = random(8);
    const inNetwork = (name: string) => join(datadir, 'regtest', name);
    const moments: [string, () => boolean][] = [
      ...['lock', 'chain/chain.db', 'chain/chain.db-wal', 'chain/blocks/blk00000.dat'].map(
        (name): [string, () => boolean] => [`${name} to appear`, () => existsSync(inNetwork(name))],
      ),
      ...Array.from({ length: 4 }, (_, i): [string, () => boolean] => {
        const bytes = Math.floor(((i + next()) / 6) * total);
        return [`${bytes} bytes of blocks`, () => sizeOf(inNetwork('chain/blocks/blk00000.dat')) > bytes];
      }),
    ];
    const reached: number[] = [];
    for (const [what, come] of moments) {
      const program = new Program(importArgs(datadir, file));
      await program.until(what, come, 60_000, 1);
      await kill(program);
      reached.push(witness.look(datadir));
    }
    console.info(`killed at heights ${reached.join(' ')}`);
    expect(new Set(reached).size).toBeGreaterThan(3);
    const last = await runProgram(importArgs(datadir, file));
    expect(last).toMatchObject({ status: 0 });
    expect(last.stdout).toEndWith(done);
    expect(witness.look(datadir)).toBe(chain.height);

    const undisturbed = tempDir();
    await importFiles('regtest', undisturbed, [file]);
    expect(
      differences(dumpState(join(datadir, 'regtest/chain')), dumpState(join(undisturbed, 'regtest/chain'))),
    ).toEqual([]);
  }, 180_000);

  test('two moments of start --import, with clients that watch', async () => {
    const datadir = tempDir();
    const witness = new Witness(blocks);
    const hashes = new Map<number, string>();
    const next = random(2);
    for (let i = 0; i < 2; i++) {
      const node = await startNode({ datadir, args: ['--import', file] });
      const socket = await node.api.socket();
      const target = Math.floor(((i + 0.2 + next() * 0.8) / 2.2) * chain.height);
      await node.height(target, 60_000);
      await kill(node);
      const height = witness.look(datadir);
      expect(height).toBeGreaterThanOrEqual(target);
      remember(socket, hashes, witness);
    }
    const node = await startNode({ datadir, args: ['--import', file] });
    const socket = await node.api.socket();
    await node.height(chain.height);
    await node.stop();
    expect(witness.look(datadir)).toBe(chain.height);
    remember(socket, hashes, witness);
    expect(hashes.size).toBeGreaterThan(10);
  }, 120_000);

  /** Checks that every block reported to a client is in the log under the same number. */
  function remember(socket: EventSocket, hashes: Map<number, string>, witness: Witness): void {
    for (const { data } of socket.of('newBlock')) {
      const { seq, hash } = data as { seq: number; hash: string };
      expect(hashes.get(seq) ?? hash).toBe(hash);
      hashes.set(seq, hash);
    }
    const logged = new Map(witness.events.map(({ seq, data }) => [seq, (JSON.parse(data) as { hash: string }).hash]));
    for (const [seq, hash] of hashes) expect([seq, logged.get(seq)]).toEqual([seq, hash]);
  }
});

describe.skipIf(!hasVectors)('kill -9 in initial sync, where blocks are committed together', () => {
  const blocks = hasVectors ? blocksOfFile(new Uint8Array(readFileSync(MIXED_FILE))) : [];
  /** Age of the last commit after which the next block commits, milliseconds. */
  const COMMIT_INTERVAL_MS = 5000;

  test.each(['import', 'start --import'])(
    'three moments of %s',
    async (command) => {
      const datadir = tempDir();
      const witness = new Witness(blocks);
      const next = random(command.length);
      const journal = join(datadir, 'regtest/chain/chain.db-wal');
      const reached: number[] = [];
      for (let i = 0; i < 3; i++) {
        const program =
          command === 'import'
            ? new Program(importArgs(datadir, MIXED_FILE))
            : new NodeProcess({ datadir, args: ['--import', MIXED_FILE] });
        const passed = (ms: number) => {
          const end = performance.now() + ms;
          return poll('the moment', () => performance.now() > end, { everyMs: 1 });
        };
        await passed(i > 0 ? 1000 + next() * 800 : next() * 2000);
        if (i > 0) {
          // The clock continues while the process is stopped, which makes a commit in the middle of the file due.
          program.kill('SIGSTOP');
          await passed(COMMIT_INTERVAL_MS + 100);
          const before = sizeOf(journal);
          program.kill('SIGCONT');
          // The signal comes in the middle of a commit (the tables alone take a hundred kilobytes), or after it.
          const come =
            i === 1 ? () => sizeOf(journal) > before + 1_000_000 : () => committedHeight(datadir) > witness.height;
          await program.until('a commit', come, 60_000, 5).catch((error) => {
            if (!program.exit) throw error;
          });
          await passed(next() * 100);
        }
        program.kill('SIGKILL');
        const { signal } = await program.end();
        reached.push(witness.look(datadir));
        // The rest of the file may take less time than the signal, and then nothing is interrupted.
        if (signal !== 'SIGKILL' || reached.at(-1) === blocks.length) break;
      }
      console.info(`${command}: killed at heights ${reached.join(' ')}`);
      expect(reached.some((height) => height > 0)).toBe(true);
      const last = await runProgram(importArgs(datadir, MIXED_FILE));
      expect(last).toMatchObject({ status: 0 });
      expect(last.stdout).toContain(
        'tip at height 160, 395aca57cd18ec91737f277e9582545256d9e61c644b387372ba6f41c18d8067',
      );
      expect(witness.look(datadir)).toBe(160);
      const node = await startNode({ datadir });
      const { muhash } = await node.api.rpc<{ muhash: string }>('gettxoutsetinfo', ['muhash']);
      expect(muhash).toBe('a8d43fc202db8887ac8b1a741bc158c4222bc394ce8cff05bbf3a6fb63b87554');
      await node.stop();
    },
    180_000,
  );
});
