import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { AddressTx, Info } from '../lib/node-client.ts';
import { cleanUpAfterTests, freePort, NodeProcess, poll, startNode, TEST_KEY, tempDir } from '../lib/node-process.ts';
import { MINING_ADDRESS } from '../lib/peer-node.ts';
import { requireNode, requirePython } from '../lib/programs.ts';

cleanUpAfterTests();

const clients = resolve(import.meta.dir, '../../clients');
const SEED_BLOCKS = 110;
const CONFIRMATIONS = 3;
const COIN = 100_000_000;
/** Different programs among the exchanges: the first ones. */
const PROGRAMS = 3;
const ARGS = ['--dev', '--dev.interval=86400', '--wallet.keypool=20'];
const TYPESCRIPT = join(clients, 'typescript/examples/exchange.ts');
const PYTHON = join(clients, 'python/examples/exchange.py');

/** The example of an exchange in one language, over one transport. */
class Exchange {
  readonly name: string;
  readonly ledgerPath: string;
  readonly #command: readonly string[];
  readonly #transport: string;
  #watcher: ReturnType<typeof Bun.spawn> | null = null;

  constructor(name: string, command: readonly string[], transport: 'pages' | 'websocket') {
    this.name = `${name} over ${transport}`;
    this.ledgerPath = join(tempDir('exchange'), 'ledger.db');
    this.#command = command;
    this.#transport = transport;
  }

  /** Runs a command of the example to its end, and returns its output. */
  async run(...args: string[]): Promise<string> {
    const child = this.#spawn(args);
    const [out, err, status] = await Promise.all([
      new Response(child.stdout as ReadableStream).text(),
      new Response(child.stderr as ReadableStream).text(),
      child.exited,
    ]);
    if (status !== 0) throw new Error(`${this.name}: ${args.join(' ')}: ${err}`);
    return out.trim();
  }

  watch(): void {
    this.#watcher = this.#spawn(['watch']);
  }

  /** Ends the watcher. Throws if it has ended by itself. */
  async end(signal: NodeJS.Signals): Promise<void> {
    const watcher = this.#watcher;
    if (!watcher) return;
    this.#watcher = null;
    const hasEnded = watcher.exitCode !== null;
    watcher.kill(signal);
    await watcher.exited;
    if (hasEnded || (signal === 'SIGTERM' && watcher.exitCode !== 0))
      throw new Error(`${this.name}: ${await new Response(watcher.stderr as ReadableStream).text()}`);
  }

  /** Ids and indexes of the credited deposits. */
  credited(): string[] {
    return this.rows<{ txid: string; n: number }>('SELECT txid, n FROM deposits WHERE credited = 1').map(
      ({ txid, n }) => `${txid}:${n}`,
    );
  }

  rows<T>(sql: string, ...values: string[]): T[] {
    using db = new Database(this.ledgerPath, { readonly: true });
    return db.query<T, string[]>(sql).all(...values);
  }

  /** Moves of money that concern a transaction, in their order. */
  moves(txid: string): number[] {
    return this.rows<{ satoshis: number }>(
      'SELECT satoshis FROM moves WHERE reference LIKE ? ORDER BY id',
      `${txid}:%`,
    ).map(({ satoshis }) => satoshis);
  }

  #spawn(args: readonly string[]) {
    const env = { PATH: process.env.PATH ?? '', URL: url, KEY: TEST_KEY, LEDGER: this.ledgerPath };
    return Bun.spawn([...this.#command, ...args], {
      env: { ...env, TRANSPORT: this.#transport },
      stdout: 'pipe',
      stderr: 'pipe',
    });
  }
}

let url = '';

describe('the exchanges of clients/', () => {
  const exchanges = [
    new Exchange('TypeScript on Bun', [process.execPath, TYPESCRIPT], 'websocket'),
    new Exchange('TypeScript on Node', [requireNode(), TYPESCRIPT], 'pages'),
    new Exchange('Python', [requirePython(), PYTHON], 'websocket'),
    new Exchange('Python', [requirePython(), PYTHON], 'pages'),
  ];
  const addresses = new Map<Exchange, string[]>();
  let node: NodeProcess;
  let port: number;

  const rpc = <T>(method: string, params: unknown) => node.api.rpc<T>(method, params as unknown[]);
  const mine = (blocks: number) => rpc('generatetoaddress', [blocks, MINING_ADDRESS]);
  const all = <T>(act: (exchange: Exchange, address: string) => Promise<T>) =>
    Promise.all(exchanges.map((exchange) => act(exchange, addresses.get(exchange)![0]!)));
  const killNode = async () => {
    await node.stop('SIGKILL');
    node = await new NodeProcess({ args: ARGS, port, datadir: node.datadir }).ready();
  };
  const restart = async (exchange: Exchange) => {
    await exchange.end('SIGKILL');
    exchange.watch();
  };
  /** Waits until an exchange has processed the tip. */
  const credits = (exchange: Exchange, txid: string, moves: readonly number[]) =>
    poll(`${exchange.name}: the moves of ${txid}`, () => exchange.moves(txid).join() === moves.join(), {
      state: () => exchange.moves(txid).join(),
    });

  /** Outputs of the chain that pay the addresses of an exchange, with the required confirmations. */
  async function finalDeposits(exchange: Exchange): Promise<string[]> {
    const lists = await Promise.all(
      addresses
        .get(exchange)!
        .map((address) =>
          node.api.all<AddressTx>(`/api/address/${address}/txs?minConfirmations=${CONFIRMATIONS}&limit=500`),
        ),
    );
    return lists.flatMap(({ items }) => items.flatMap(({ txid, outputs }) => outputs.map(({ n }) => `${txid}:${n}`)));
  }

  beforeAll(async () => {
    port = await freePort();
    node = await startNode({ args: ARGS, port });
    url = node.api.url;
    await node.height(SEED_BLOCKS);
    await rpc('syncwithvalidationinterfacequeue', []);
    for (const exchange of exchanges) {
      addresses.set(exchange, [await exchange.run('address', 'alice'), await exchange.run('address', 'bob')]);
      exchange.watch();
    }
    // The sandbox pays by itself meanwhile. Its payments confirm, and further coins mature.
    await mine(20);
  });
  afterAll(() => all((exchange) => exchange.end('SIGKILL')));

  test('credit a deposit at three confirmations, over kills of the node and of the watchers', async () => {
    const txids = await all((_, address) => rpc<string>('devpay', [address, 1]));
    await mine(1);
    await Promise.all([killNode(), ...exchanges.map(restart)]);
    await mine(1);
    await Promise.all(
      exchanges.map((exchange) =>
        poll('two blocks', () => exchange.rows('SELECT 1 FROM deposits WHERE height IS NOT NULL').length === 1),
      ),
    );
    expect(exchanges.map((exchange) => exchange.credited())).toEqual(exchanges.map(() => []));
    await Promise.all([mine(1), ...exchanges.map(restart)]);
    await all((exchange) => credits(exchange, txids[exchanges.indexOf(exchange)]!, [COIN]));
  });

  test('credit nothing for a deposit that leaves the chain before, and reverse the credit of one that leaves it later', async () => {
    const early = await all(
      async (_, address) => (await rpc<{ txid: string }>('devdoublespend', [address, 1, 1])).txid,
    );
    await mine(1);
    const late = await all(
      async (_, address) => (await rpc<{ txid: string }>('devdoublespend', [address, 1, CONFIRMATIONS])).txid,
    );
    await mine(1);
    await killNode();
    await Promise.all(
      exchanges.map(async (exchange, i) => {
        await credits(exchange, late[i]!, [COIN, -COIN]);
        expect(exchange.moves(early[i]!)).toEqual([]);
        const lost = () => exchange.rows('SELECT 1 FROM deposits WHERE txid IN (?, ?)', early[i]!, late[i]!);
        await poll(`${exchange.name}: no pending deposit is left`, () => lost().length === 0);
      }),
    );
  });

  test('credit again what a reorg has confirmed again', async () => {
    const txids = await all((_, address) => rpc<string>('devpay', [address, 2]));
    await mine(CONFIRMATIONS);
    await Promise.all(exchanges.map((exchange, i) => credits(exchange, txids[i]!, [2 * COIN])));
    // Over the kill of each watcher the events of the reorg are delivered again.
    const reorg = rpc('devreorg', [CONFIRMATIONS, false]);
    await Promise.all([reorg, ...exchanges.map(restart)]);
    await mine(CONFIRMATIONS);
    await Promise.all(exchanges.map((exchange, i) => credits(exchange, txids[i]!, [2 * COIN, -2 * COIN, 2 * COIN])));
  });

  test('send a withdrawal once, bump its fee, and sweep the rest', async () => {
    const to = [...Array(PROGRAMS)].map((_, i) => `withdrawal ${i}`);
    const recipients = await Promise.all(to.map((label) => rpc<string>('getnewaddress', [label])));
    const half = COIN / 2;
    // The transport makes no difference to them.
    const programs = exchanges.slice(0, PROGRAMS);
    for (const [i, exchange] of programs.entries()) {
      const id = `w${i}`;
      const withdraw = () => exchange.run('withdraw', id, 'alice', recipients[i]!, String(half));
      const first = await withdraw();
      if (i === 0) await killNode();
      expect(await withdraw()).toBe(first);
      const bumped = await exchange.run('bump', id, '30');
      expect(bumped).not.toBe(first);
      expect(await withdraw()).toBe(bumped);
      await mine(1);
      expect(await withdraw()).toBe(bumped);
      expect((await rpc<{ confirmations: number }>('gettransaction', [bumped])).confirmations).toBe(1);
      await expect(exchange.run('withdraw', id, 'alice', recipients[i]!, String(half + 1))).rejects.toThrow(id);
      await expect(exchange.run('withdraw', `other ${id}`, 'bob', recipients[i]!, '1')).rejects.toThrow(
        'bob has 0 satoshis',
      );
      // One confirmed deposit of 1 and one of 2 coins.
      expect(JSON.parse(await exchange.run('balances'))).toEqual({ alice: 3 * COIN - half, bob: 0 });
    }
    for (const exchange of programs) {
      await mine(CONFIRMATIONS);
      const swept = await exchange.run('sweep', addresses.get(exchanges[0]!)![1]!);
      expect(swept).toMatch(/^[0-9a-f]{64}$/);
    }
  });

  test('have the ledger that follows from the chain', async () => {
    await mine(CONFIRMATIONS);
    const { height } = await node.api.json<Info>('/api/info');
    for (const exchange of exchanges) {
      const final = await finalDeposits(exchange);
      expect(final.length).toBeGreaterThanOrEqual(2);
      await poll(
        `${exchange.name} at height ${height}`,
        () => exchange.credited().toSorted().join() === final.toSorted().join(),
      );
      const sums = exchange.rows<{ matches: number }>(
        `SELECT (SELECT sum(value) FROM deposits WHERE credited = 1) - (SELECT coalesce(sum(satoshis), 0) FROM withdrawals) =
           (SELECT sum(satoshis) FROM moves) AS matches`,
      );
      expect(sums).toEqual([{ matches: 1 }]);
    }
  });

  test('reverse all credits when another chain replaces that of the node, and end in order', async () => {
    await node.stop('SIGKILL');
    // The log of the new chain knows no cursor of the old one. Wallets and watches are elsewhere.
    rmSync(join(node.networkDir, 'chain'), { recursive: true });
    node = await new NodeProcess({ args: ARGS, port, datadir: node.datadir }).ready();
    await node.height(SEED_BLOCKS);
    await all(async (exchange) => {
      await poll(`${exchange.name}: no credits`, () => exchange.credited().length === 0);
      await exchange.end('SIGTERM');
    });
  });
});
