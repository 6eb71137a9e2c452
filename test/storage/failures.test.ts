import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import {
  closeSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lockDirectory } from '../../src/node/lock.ts';
import { storageProblem } from '../../src/node/storage-problem.ts';
import { paramsFor } from '../../src/params/networks.ts';
import { openWriter } from '../../src/storage/chain-database.ts';
import { chainWithCoins, RegtestChain } from '../lib/chain-builder.ts';
import { TestNode } from '../lib/chain-fixture.ts';
import { differences, ModelChain } from '../lib/chain-state.ts';
import { spend } from '../lib/tx-builder.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'obverse-failures-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** The error for the operator when a node cannot be opened on a copy of `from`. */
function problemOf(open: () => unknown): string {
  try {
    open();
  } catch (error) {
    return storageProblem(error, 'DIR', 'ADVICE').message;
  }
  throw new Error('it could be opened');
}

const chain = new RegtestChain();
chain.mine(5);
const stateAt = (height: number) => new ModelChain(chain.blocks.slice(1, height + 1)).state();

/** A closed database with five blocks, and the effect of a change of it. */
async function spoiled(change: (path: string) => void): Promise<string> {
  await using node = new TestNode();
  await node.take(chain.blocks.slice(1));
  await node.close();
  change(node.dir);
  return problemOf(() => new TestNode({ from: node.dir }));
}

const sql = (statement: string) => (at: string) => {
  const db = new Database(join(at, 'chain.db'));
  db.run(statement);
  db.close();
};

describe('a database that cannot be used', () => {
  test('of another network is refused', async () => {
    await using node = new TestNode();
    await node.close();
    const problem = problemOf(() => new TestNode({ from: node.dir, params: paramsFor('testnet4') }));
    expect(problem).toMatch(/chain\.db belongs to network regtest \(genesis 0f9188f1.*\), not to testnet4/);
  });

  test('of a newer version is refused', async () => {
    expect(await spoiled(sql("UPDATE meta SET value = 99 WHERE key = 'schema'"))).toMatch(
      /chain\.db has schema 99, made by a newer version/,
    );
  });

  test('of an unknown version is refused', async () => {
    expect(await spoiled(sql("DELETE FROM meta WHERE key = 'schema'"))).toMatch(/chain\.db has schema undefined/);
  });

  test('that is another kind of file is refused', async () => {
    expect(await spoiled((at) => writeFileSync(join(at, 'chain.db'), 'not a database at all'.repeat(1000)))).toMatch(
      /^(.*)\/chain\.db is damaged: run obverse reindex, or remove \1 and sync again; wallets and keys are stored elsewhere and are kept$/,
    );
  });

  test('with overwritten pages is reported as damaged', async () => {
    const damage = (at: string) => {
      const path = join(at, 'chain.db');
      const { size } = statSync(path);
      const fd = openSync(path, 'r+');
      writeSync(fd, new Uint8Array(size - 8192).fill(0xee), 0, size - 8192, 8192);
      closeSync(fd);
    };
    expect(await spoiled(damage)).toContain('sync again; wallets and keys are stored elsewhere and are kept');
  });

  test('whose block file is missing or shorter is refused', async () => {
    const blocks = (at: string) => join(at, 'blocks', 'blk00000.dat');
    expect(await spoiled((at) => rmSync(blocks(at)))).toMatch(
      /^(.*)\/blocks\/blk00000\.dat is shorter than .*: run obverse reindex, or remove \1 and sync again; wallets and keys are stored elsewhere and are kept$/,
    );
    expect(await spoiled((at) => writeFileSync(blocks(at), readFileSync(blocks(at)).subarray(0, -1)))).toMatch(
      /blk00000\.dat is shorter than/,
    );
  });

  test('in a directory that is a file is refused', () => {
    writeFileSync(join(dir, 'file'), '');
    expect(problemOf(() => new TestNode({ parent: join(dir, 'file') }))).toMatch(
      /^cannot use DIR: a part of this path is not a directory/,
    );
  });
});

describe('a start after a crash', () => {
  test('before the tables were created succeeds', async () => {
    writeFileSync(join(dir, 'chain.db'), '');
    await using node = new TestNode({ from: dir });
    await node.take(chain.blocks.slice(1));
    expect(differences(node.state(), stateAt(5))).toEqual([]);
  });

  test('before the genesis block was committed succeeds', async () => {
    const genesisHash = '0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206';
    openWriter(join(dir, 'chain.db'), { network: 'regtest', genesisHash }, 1).close();
    await using node = new TestNode({ from: dir });
    expect(differences(node.state(), stateAt(0))).toEqual([]);
  });

  test('with blocks in the files that no commit refers to succeeds', async () => {
    await using node = new TestNode();
    await node.take(chain.blocks.slice(1, 4));
    mkdirSync(join(dir, 'blocks'));
    await using killed = new TestNode({ from: node.dir });
    await killed.accept(chain.blocks.slice(4));
    // The files are newer than the database: the process was killed between sync and commit.
    copyFileSync(join(killed.dir, 'chain.db'), join(dir, 'chain.db'));
    await killed.close();
    for (const name of ['blk00000.dat', 'rev00000.dat'])
      copyFileSync(join(killed.dir, 'blocks', name), join(dir, 'blocks', name));
    await node.close();
    copyFileSync(join(node.dir, 'chain.db'), join(dir, 'chain.db'));
    await using again = new TestNode({ from: dir });
    expect(differences(again.state(), stateAt(3))).toEqual([]);
    expect(await again.submit(chain.at(4))).toBe('accepted');
    expect(await again.submit(chain.at(5))).toBe('accepted');
    expect(differences(again.state(), stateAt(5))).toEqual([]);
  });
});

describe('the lock of a data directory', () => {
  const holder = (at: string) =>
    Bun.spawn([process.execPath, join(import.meta.dir, 'hold-lock.ts'), at], { stdout: 'pipe', stderr: 'inherit' });
  const firstLine = async (child: ReturnType<typeof holder>) => {
    const { value } = await child.stdout.getReader().read();
    return new TextDecoder().decode(value).trim();
  };

  test('is held by one process, which the error names, until it ends', async () => {
    const child = holder(dir);
    try {
      expect(await firstLine(child)).toBe('locked');
      expect(() => lockDirectory(dir)).toThrow(`${dir} is in use by another process (pid ${child.pid}): stop it first`);
    } finally {
      child.kill('SIGKILL');
      await child.exited;
    }
    const release = lockDirectory(dir);
    const second = holder(dir);
    expect(await firstLine(second)).toContain(`(pid ${process.pid})`);
    await second.exited;
    release();
    lockDirectory(dir)();
    expect(statSync(join(dir, 'lock')).mode & 0o777).toBe(0o600);
  });
});

const run = (...command: string[]) => Bun.spawnSync(command).exitCode === 0;

/** Whether the tests may mount a small file system. */
const canMount = (() => {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  const at = mkdtempSync(join(tmpdir(), 'obverse-mount-'));
  const mounted = run('mount', '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', at);
  if (mounted) run('umount', at);
  rmSync(at, { recursive: true, force: true });
  return mounted;
})();
if (!canMount) console.warn('tests of a full disk are skipped: they need to mount a small tmpfs');

describe.skipIf(!canMount)('a small disk', () => {
  beforeEach(() => expect(run('mount', '-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', dir)).toBe(true));
  // Lazily, since a failed test may have left files open.
  afterEach(() => run('umount', '-l', dir));

  const fill = (path: string, leave: number) => {
    const free = Number(Bun.spawnSync(['df', '--output=avail', '-B1', dir]).stdout.toString().split('\n')[1]);
    writeFileSync(path, new Uint8Array(Math.max(0, free - leave)));
  };

  for (const [title, leave] of [
    ['blocks', 0],
    ['the database', 150_000],
  ] as const)
    test(`without space for ${title} stops the chain, which continues when there is space`, async () => {
      const own = chainWithCoins(4, 'anyone');
      const payees = Array.from({ length: 2000 }, (_, i) => ({
        to: Uint8Array.of(0x02, i & 255, i >> 8, 0x75, 0x51),
        value: 1000n,
      }));
      await using node = new TestNode({ parent: dir });
      await node.take(own.blocks.slice(1));
      const before = node.state();
      own.mine(1, { txs: [spend(own.coin(1), payees, { sign: false })] });
      fill(join(dir, 'filler'), leave);
      const failure = await node.chain.submitBlock(own.tip.raw).then(
        () => null,
        (error: Error) => error,
      );
      expect(failure).not.toBeNull();
      expect(storageProblem(failure, 'DIR').message).toBe(
        'cannot use DIR: no space left on the device: free some space; committed data is safe',
      );
      expect(node.chain.stopped).toBe(failure!);
      expect(node.chain.lastCommit.ok).toBe(false);
      await expect(node.chain.submitBlock(own.tip.raw)).rejects.toBe(failure!);
      await expect(node.chain.acceptBlock(own.at(1).raw)).rejects.toBe(failure!);
      // Readers and the next start see the last committed state.
      expect(differences(node.state(), before)).toEqual([]);
      await node.close();
      rmSync(join(dir, 'filler'));
      await node.restart();
      expect(differences(node.state(), before)).toEqual([]);
      own.mine(1, { txs: [spend(own.coin(2), payees, { sign: false })] });
      await node.take(own.blocks.slice(-2));
      expect(differences(node.state(), new ModelChain(own.blocks.slice(1)).state())).toEqual([]);
    });

  test('that is full from the start is refused', () => {
    fill(join(dir, 'filler'), 0);
    const problem = problemOf(() => new TestNode({ parent: dir }));
    expect(problem).toMatch(/^cannot use DIR: no space left on the device/);
  });

  test('that is read-only is refused and cannot be locked', async () => {
    const data = join(dir, 'data');
    mkdirSync(data);
    expect(run('mount', '-o', 'remount,ro', dir)).toBe(true);
    expect(() => lockDirectory(data)).toThrow(`cannot use ${data}: it is read-only`);
    expect(problemOf(() => openWriter(join(data, 'chain.db'), { network: 'regtest', genesisHash: '' }, 1))).toMatch(
      /^cannot use DIR: (it is read-only|the database cannot be opened)/,
    );
  });
});
