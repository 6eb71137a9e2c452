import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { partOf } from '../../src/storage/backup/backup-manifest.ts';
import { Random } from '../fuzz/random.ts';
import {
  addWatch,
  directoryOf,
  figuresOf,
  fillNode,
  type OwnData,
  restore,
  settingsOf,
} from '../lib/backup-commands.ts';
import { ApiClient } from '../lib/node-client.ts';
import {
  freePort,
  importFiles,
  NodeProcess,
  Program,
  poll,
  runProgram,
  tempDir,
  WITH_WALLET,
} from '../lib/node-process.ts';
import type { Proof } from './proof.ts';
import { WideChains } from './wide-chain.ts';

/** Blocks with a thousand kilobyte scripts each, so that the chain has files of runs. */
const WIDE_BLOCKS = 40;
/** MiB per second: a backup of some 30 MB takes seconds. */
const RATE = '8';
const KILLED_WITHIN_MS = 3000;
const RESTORE_KILLED_WITHIN_MS = 500;
/** Kills of one backup and of its restore, until it is left to end. */
const MOST_KILLS = 4;
const COMMAND_MS = 180_000;
const BALANCES_MS = 20_000;
const ARGS = [WITH_WALLET, '--index.coinStats', '--webhooks.allowedNetworks=127.0.0.0/8'];

class Counts {
  backups = 0;
  kills = 0;
  killedCommands = 0;
  killedNodes = 0;
  killedRestores = 0;
  /** Kills that left an unfinished backup or restore. */
  amid = 0;
  continuedBytes = 0;
}

/**
 * Backs up a node that mines, sends and adds watches, and kills the command, the node or the restore with SIGKILL at random
 * moments. Each backup must be completed by the same command, pass verify, and restore a node whose coins, balances, keys,
 * watches and webhooks are those of the source.
 */
export const backups: Proof = {
  help: 'backups of a busy node that are killed and continued restore its coins, balances, keys and watches; counts kills',
  count: 60,
  async run(count, seed, signal, progress) {
    const random = new Random(seed);
    const source = await BusyNode.create();
    const counts = new Counts();
    const violations: string[] = [];
    try {
      while (counts.kills < count && violations.length === 0) {
        signal.throwIfAborted();
        const budget = () => count - counts.kills;
        const round = new Round(source, { random, counts, violations });
        await round.run(budget);
        progress?.(`backup ${counts.backups}: ${counts.kills} kills, height ${source.height}`);
      }
    } finally {
      await source.stop();
    }
    const figures = [
      ['backups of a busy node, each restored', counts.backups],
      ['kills', counts.kills],
      ['kills of the command', counts.killedCommands],
      ['kills of the node', counts.killedNodes],
      ['kills of a restore', counts.killedRestores],
      ['kills that left an unfinished backup or restore', counts.amid],
      ['bytes that continued backups did not write again', counts.continuedBytes],
      ['blocks of the source at the end', source.height],
      ['watches at the end', source.watches],
    ] as const;
    return { figures, violations };
  },
};

/** A node that mines blocks, sends coins and adds watches until it is stopped; it is started again after a kill. */
class BusyNode {
  readonly datadir: string;
  readonly #port: number;
  node!: NodeProcess;
  data!: OwnData;
  height = 0;
  /** Number of watches that the node has acknowledged. */
  watches = 0;
  #isBusy = false;
  #work: Promise<void> = Promise.resolve();

  private constructor(datadir: string, port: number) {
    this.datadir = datadir;
    this.#port = port;
  }

  static async create(): Promise<BusyNode> {
    const busy = new BusyNode(tempDir('backups'), await freePort());
    const file = join(tempDir('backups'), 'blocks.dat');
    new WideChains().chain(WIDE_BLOCKS).writeBootstrap(file);
    await importFiles('regtest', busy.datadir, [file]);
    await busy.start();
    busy.data = await fillNode(busy.node);
    busy.watches = 1;
    return busy;
  }

  async start(): Promise<void> {
    const args = [...ARGS, '--wallet.autocreate=true'];
    this.node = await new NodeProcess({ datadir: this.datadir, port: this.#port, args }).ready();
  }

  /** Works until `rest` is called, or the node is killed. */
  work(): void {
    this.#isBusy = true;
    this.#work = this.#loop();
  }

  async #loop(): Promise<void> {
    const { api } = this.node;
    const client = new ApiClient(api.url, this.data.key.key);
    while (this.#isBusy) {
      try {
        const address = await api.rpc<string>('getnewaddress', []);
        await addWatch(client, address);
        this.watches++;
        await api.rpc('sendtoaddress', [this.data.address, 0.1]);
        await api.rpc('generatetoaddress', [1, this.data.address]);
      } catch (error) {
        // The node was killed.
        if (this.node.exit === null && !(error instanceof Error && /connect|socket|closed|fetch/i.test(error.message)))
          throw error;
        return;
      }
    }
  }

  /** Stops the work and mines what is in the mempool. */
  async rest(): Promise<void> {
    this.#isBusy = false;
    await this.#work;
    if (this.node.exit !== null) return;
    const { api } = this.node;
    while ((await api.rpc<string[]>('getrawmempool')).length > 0)
      await api.rpc('generatetoaddress', [1, this.data.address]);
    this.height = await api.rpc<number>('getblockcount');
  }

  async kill(): Promise<void> {
    this.#isBusy = false;
    await this.node.stop('SIGKILL');
    await this.#work;
  }

  async restart(): Promise<void> {
    await this.start();
    this.work();
  }

  async stop(): Promise<void> {
    await this.rest();
    await this.node.stop();
  }
}

interface Context {
  readonly random: Random;
  readonly counts: Counts;
  readonly violations: string[];
}

/** One backup with its kills, and its restore with more kills. */
class Round {
  readonly #source: BusyNode;
  readonly #context: Context;
  readonly #target = join(tempDir('backups'), 'backup');
  readonly #datadir = tempDir('backups');

  constructor(source: BusyNode, context: Context) {
    this.#source = source;
    this.#context = context;
  }

  async run(budget: () => number): Promise<void> {
    const { counts, violations } = this.#context;
    const before = { watches: this.#source.watches };
    this.#source.work();
    const isComplete = await this.#backUp(budget);
    await this.#source.rest();
    if (isComplete && (await this.#restore(budget))) {
      counts.backups++;
      violations.push(...(await this.#compare(before.watches)));
    }
    rmSync(this.#target, { recursive: true, force: true });
    rmSync(this.#datadir, { recursive: true, force: true });
  }

  async #backUp(budget: () => number): Promise<boolean> {
    const { random, counts } = this.#context;
    for (let kills = 0; ; ) {
      const command = new Program([
        ...['backup', this.#target, '--chain', '--rate', RATE, '--json', ...settingsOf(this.#source.node)],
      ]);
      const wasThere = existsSync(partOf(this.#target));
      if (budget() > 0 && kills < MOST_KILLS) {
        await Promise.race([command.exited, Bun.sleep(random.int(KILLED_WITHIN_MS))]);
        if (!command.exit) {
          kills++;
          counts.kills++;
          if (random.once(2)) {
            counts.killedNodes++;
            await this.#source.kill();
            // A command that finds no running node copies the data itself, and no node starts in the meantime.
            await command.end(COMMAND_MS);
            await this.#source.restart();
          } else {
            counts.killedCommands++;
            await command.stop('SIGKILL');
            // The node ends the backup when it sees that the client has gone; until then it refuses another one.
            await this.#source.node.until('the end of the backup', () => this.#isIdle(), COMMAND_MS);
          }
          if (existsSync(partOf(this.#target))) {
            counts.amid++;
            await this.#expectRefusal();
          }
          if (existsSync(this.#target)) return this.#isVerified();
          continue;
        }
      }
      const { status } = await command.end(COMMAND_MS);
      if (status !== 0) return this.#fail(`backup ended with ${status}: ${command.stderr}`);
      const { bytes, written } = JSON.parse(command.stdout) as { bytes: number; written: number };
      if (wasThere) counts.continuedBytes += bytes - written;
      return this.#isVerified();
    }
  }

  /** Whether the node has ended the backup of a client that is gone. */
  #isIdle(): boolean {
    const lines = this.#source.node.stderr.split('\n');
    const begun = lines.filter((line) => line.includes('"msg":"a backup begins"')).length;
    const ended = lines.filter((line) =>
      /"msg":"a backup (?:was interrupted|is complete|has failed)"/.test(line),
    ).length;
    return begun === ended;
  }

  async #expectRefusal(): Promise<void> {
    const { status, stderr } = await restore(this.#target, tempDir('backups'));
    if (status !== 1 || !stderr.includes('was not completed'))
      this.#fail(`a restore of an unfinished backup ended with ${status}: ${stderr}`);
  }

  async #isVerified(): Promise<boolean> {
    const { status, stdout } = await runProgram(['verify', '--backup', this.#target]);
    return status === 0 || this.#fail(`verify --backup ended with ${status}: ${stdout}`);
  }

  async #restore(budget: () => number): Promise<boolean> {
    const { random, counts } = this.#context;
    for (let kills = 0; ; ) {
      const command = new Program(['restore', this.#target, '--into', this.#datadir, '--network', 'regtest']);
      if (budget() > 0 && kills < MOST_KILLS) {
        await Promise.race([command.exited, Bun.sleep(random.int(RESTORE_KILLED_WITHIN_MS))]);
        if (!command.exit) {
          kills++;
          counts.kills++;
          counts.killedRestores++;
          await command.stop('SIGKILL');
          if (existsSync(join(this.#datadir, 'regtest/restore'))) counts.amid++;
          continue;
        }
      }
      const { status } = await command.end(COMMAND_MS);
      // A kill can come after the last step of the restore.
      if (status === 0 || (kills > 0 && command.stderr.includes('is not empty'))) return true;
      return this.#fail(`restore ended with ${status}: ${command.stderr}`);
    }
  }

  /** Compares a restored node with the source, first at the tip of the backup and then at that of the source. */
  async #compare(watchesBefore: number): Promise<string[]> {
    const { node, data } = this.#source;
    const found: string[] = [];
    const verified = await runProgram(['verify', ...directoryOf(this.#datadir)], { timeoutMs: COMMAND_MS });
    if (verified.status !== 0) found.push(`verify of the restored directory: ${verified.stdout}`);
    const restored = await new NodeProcess({ datadir: this.#datadir, args: ARGS }).ready();
    try {
      const height = await restored.api.rpc<number>('getblockcount');
      const same = (what: string, theirs: unknown, own: unknown) => {
        if (!Bun.deepEquals(theirs, own))
          found.push(`${what} at height ${height}: ${JSON.stringify(theirs)}, not ${JSON.stringify(own)}`);
      };
      const coinsAt = (api: ApiClient, at: number) =>
        api.rpc<{ muhash: string; txouts: number; bestblock: string }>('gettxoutsetinfo', ['muhash', at]);
      const summary = ({ muhash, txouts, bestblock }: Awaited<ReturnType<typeof coinsAt>>) => [
        muhash,
        txouts,
        bestblock,
      ];
      same('the coins', summary(await coinsAt(restored.api, height)), summary(await coinsAt(node.api, height)));
      const own = await figuresOf(node, data);
      const theirs = await figuresOf(restored, data);
      same('the keys', theirs.keys, own.keys);
      same('the webhooks', theirs.webhooks, own.webhooks);
      same('the watches', theirs.watches, own.watches.slice(0, theirs.watches.length));
      if (theirs.watches.length < watchesBefore)
        found.push(`${theirs.watches.length} watches were restored, of ${watchesBefore} before the backup`);
      for (let at = height + 1; at <= this.#source.height; at++) {
        const hash = await node.api.rpc<string>('getblockhash', [at]);
        await restored.api.rpc('submitblock', [await node.api.rpc<string>('getblock', [hash, 0])]);
      }
      const balances = (figures: Awaited<ReturnType<typeof figuresOf>>) =>
        Object.entries(figures.wallets).map(([name, { balance }]) => [name, balance]);
      // Addresses behind the keypool are derived, and their blocks scanned again, after the block that pays the last of it.
      let last: unknown = null;
      const isEqual = async () => Bun.deepEquals((last = balances(await figuresOf(restored, data))), balances(own));
      await poll('the balances', isEqual, { timeoutMs: BALANCES_MS }).catch(() => {});
      same('the balances behind the last block', last, balances(own));
    } finally {
      await restored.stop();
    }
    return found;
  }

  #fail(text: string): false {
    this.#context.violations.push(`backup ${this.#context.counts.backups + 1}: ${text}`);
    return false;
  }
}
