import { beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Client from 'bitcoin-core';
import { rpcauthLine } from '../lib/basic-auth.ts';
import { cleanUpAfterTests, type NodeProcess, startNode } from '../lib/node-process.ts';
import { MINING_ADDRESS } from '../lib/peer-node.ts';

cleanUpAfterTests();

interface Detail {
  readonly category: string;
  readonly amount: number;
  readonly address: string;
  readonly label?: string;
  readonly fee?: number;
  readonly abandoned?: boolean;
}

interface WalletTx {
  readonly txid: string;
  readonly amount: number;
  readonly fee?: number;
  readonly confirmations: number;
  readonly blockhash?: string;
  readonly walletconflicts: readonly string[];
  readonly details: readonly Detail[];
  readonly hex: string;
}

interface Listed extends Detail {
  readonly txid: string;
  readonly confirmations: number;
}

interface Since {
  readonly transactions: readonly Listed[];
  readonly removed: readonly Listed[];
  readonly lastblock: string;
}

interface Outpoint {
  readonly txid: string;
  readonly vout: number;
}

/** The methods that the client makes of its list of names, as far as they are called here. */
interface Methods {
  abandonTransaction(txid: string): Promise<null>;
  bumpFee(txid: string): Promise<{ txid: string; fee: number; origfee: number }>;
  createRawTransaction(inputs: readonly Outpoint[], outputs: object): Promise<string>;
  createWallet(name: string): Promise<{ name: string }>;
  decodeRawTransaction(hex: string): Promise<{ vin: Outpoint[]; vout: { value: number | string }[] }>;
  generateToAddress(count: number, address: string): Promise<string[]>;
  getBalance(): Promise<number>;
  getBalances(): Promise<{ mine: Record<string, number> }>;
  getBlock<T>(hash: string, verbosity?: number | boolean): Promise<T>;
  getBlockCount(): Promise<number>;
  getBlockHash(height: number | { height: number }): Promise<string>;
  getBlockTemplate(): Promise<unknown>;
  getBestBlockHash(): Promise<string>;
  getDifficulty(): Promise<unknown>;
  getInfo(): Promise<unknown>;
  getNetworkInfo(): Promise<{ version: number; subversion: string }>;
  getNewAddress(label?: string, type?: string): Promise<string>;
  getRawMempool(): Promise<string[]>;
  getRawTransaction<T>(txid: string, verbose: boolean): Promise<T>;
  getReceivedByAddress(address: string, confirmations?: number): Promise<number>;
  getTransaction(txid: string): Promise<WalletTx>;
  getWalletInfo(): Promise<{ walletname: string }>;
  getWork(): Promise<unknown>;
  listSinceBlock(hash?: string, confirmations?: number): Promise<Since>;
  listTransactions(label?: string, count?: number): Promise<Listed[]>;
  listUnspent(from?: number): Promise<(Outpoint & { amount: number; address: string })[]>;
  sendMany(params: object): Promise<string>;
  sendMany(dummy: '', amounts: object, confirmations?: number, comment?: string): Promise<string>;
  sendRawTransaction(hex: string): Promise<string>;
  sendToAddress(params: object): Promise<string>;
  sendToAddress(address: string, amount: number | string, comment?: string, to?: string): Promise<string>;
  signRawTransactionWithWallet(hex: string): Promise<{ hex: string; complete: boolean }>;
  validateAddress(address: string): Promise<{ isvalid: boolean }>;
}

type CoreClient = Client & Methods;
type ClientOptions = NonNullable<ConstructorParameters<typeof Client>[0]>;

const PASSWORD = 'j1DuzF7QRUp-iSXjgewO9T_WT1Qgrtz_XWOHCMn_O-Y=';
/** Turns on the client's check of methods, and parameters by name. */
const VERSION = '31.0.0';

/**
 * Exchanges use this client with bitcoind, unchanged: the operator has the cookie, the exchange a line of `rpcauth`.
 */
describe('the npm client bitcoin-core', () => {
  let node: NodeProcess;
  let host: string;
  let operator: CoreClient;
  let miner: CoreClient;
  let exchange: CoreClient;

  const client = (options: ClientOptions) => new Client({ host, ...options }) as CoreClient;
  const withCookie = (options: ClientOptions = {}) => {
    const [username, password] = readFileSync(join(node.networkDir, '.cookie'), 'utf8').split(':') as [string, string];
    return client({ username, password, ...options });
  };
  const withPassword = (options: ClientOptions = {}) =>
    client({ username: 'exchange', password: PASSWORD, wallet: 'exchange', ...options });
  const mine = (count = 1) => operator.generateToAddress(count, MINING_ADDRESS);
  /** Returns the error that the client makes of a failed call. */
  const failure = async (call: Promise<unknown>) => {
    const error = await call.then(
      (result) => new Error(`no error: ${JSON.stringify(result)}`),
      (thrown: Error & { code?: number }) => thrown,
    );
    return [error.name, 'code' in error ? error.code : undefined, error.message];
  };

  beforeAll(async () => {
    node = await startNode({ args: ['--wallet.keypool=10', `--rpcauth=${rpcauthLine('exchange', PASSWORD)}`] });
    host = node.api.url;
    operator = withCookie();
    await operator.createWallet('exchange');
    miner = withCookie({ wallet: 'default' });
    exchange = withPassword();
    await operator.generateToAddress(8, await miner.getNewAddress());
    await mine(100);
  });

  test('finds the wallet that it is configured for', async () => {
    expect(await miner.getWalletInfo()).toMatchObject({ walletname: 'default' });
    expect(await exchange.getWalletInfo()).toMatchObject({ walletname: 'exchange' });
    expect(await failure(withPassword({ wallet: 'nowhere' }).getBalance())).toEqual([
      'RpcError',
      -18,
      'Requested wallet does not exist or is not loaded',
    ]);
    expect((await failure(operator.getBalance()))[1]).toBe(-19);
    // The path without a name is that of the wallet without a name.
    const unnamed = withPassword({ wallet: '' });
    Object.assign(unnamed, { allowDefaultWallet: true });
    expect((await failure(unnamed.getBalance()))[1]).toBe(-18);
  });

  test('shows errors with the code and words of the node, and refusals with their HTTP status', async () => {
    const words = (call: Promise<unknown>) => failure(call).then(([, code, message]) => [code, message]);
    expect(await words(exchange.getBlockHash(99_999))).toEqual([-8, 'Block height out of range']);
    expect(await words(exchange.getInfo())).toEqual([-32601, 'Method not found']);
    expect(await words(exchange.sendToAddress('no-address', 1))).toEqual([-5, 'Invalid Bitcoin address: no-address']);
    expect(await words(exchange.sendToAddress(MINING_ADDRESS, 1))).toEqual([-6, 'Insufficient funds']);
    expect(await words(exchange.getTransaction('00'.repeat(32)))).toEqual([-5, 'Invalid or non-wallet transaction id']);
    expect(await words(withPassword({ password: 'wrong' }).getBlockCount())).toEqual([401, 'Unauthorized']);
    expect(await words(withPassword({ username: 'nobody' }).getBlockCount())).toEqual([401, 'Unauthorized']);
    expect(await words(client({}).getBlockCount())).toEqual([401, 'Unauthorized']);
    // Beyond the scopes of the users of rpcauth.
    expect(await words(exchange.command('invalidateblock', '00'.repeat(32)))).toEqual([403, 'Forbidden']);
    expect(await words(operator.command('invalidateblock', '00'.repeat(32)))).toEqual([-5, 'Block not found']);
  });

  test('accepts the version of the node for its own check of methods, and for parameters by name', async () => {
    const { version, subversion } = await exchange.getNetworkInfo();
    expect(subversion).toMatch(/^\/Obverse:/);
    const own = `${Math.floor(version / 10_000)}.${Math.floor(version / 100) % 100}.${version % 100}`;
    expect(own).toBe(VERSION);
    const checked = withPassword({ version: own });
    expect(checked.hasNamedParametersSupport).toBe(true);
    expect(await checked.getBlockHash({ height: 0 })).toMatch(/^0f9188f1/);
    expect(await checked.getBlockHash(0)).toMatch(/^0f9188f1/);
    expect((await failure(checked.getWork()))[2]).toBe('Method "getwork" is not supported by version "31.0.0"');
  });

  test('reads blocks and transactions at every verbosity', async () => {
    const hash = await exchange.getBlockHash(1);
    const raw = await exchange.getBlock<string>(hash, 0);
    expect(raw).toMatch(/^[0-9a-f]{400,}$/);
    const brief = await exchange.getBlock<{ tx: string[]; nTx: number; hash: string }>(hash);
    expect(brief).toMatchObject({ hash, nTx: 1 });
    const [coinbase] = brief.tx;
    expect(coinbase).toMatch(/^[0-9a-f]{64}$/);
    for (const verbosity of [2, 3])
      expect(await exchange.getBlock<object>(hash, verbosity)).toMatchObject({
        tx: [{ txid: coinbase, vout: [{ value: 50 }, { value: 0 }] }],
      });
    expect(await exchange.getRawTransaction<object>(coinbase!, true)).toMatchObject({
      blockhash: hash,
      txid: coinbase,
    });
    expect(await exchange.getRawTransaction<string>(coinbase!, false)).toMatch(/^0[12]000000/);
    expect(await exchange.validateAddress(MINING_ADDRESS)).toMatchObject({ isvalid: true });
    expect(await exchange.getBestBlockHash()).toBe(await exchange.getBlockHash(await exchange.getBlockCount()));
  });

  test('gets numbers of more than 15 digits as text, none of them rounded', async () => {
    expect(await exchange.getDifficulty()).toBe('4.656542373906925e-10');
    const outputs = [{ [MINING_ADDRESS]: 20_999_999.5 }, { data: '00' }];
    // JavaScript writes the smaller amounts with an exponent: 5e-7.
    const dust = { [MINING_ADDRESS]: 0.0000005 };
    const [large, small] = await Promise.all(
      [outputs, dust].map(async (to) => exchange.decodeRawTransaction(await exchange.createRawTransaction([], to))),
    );
    expect(large!.vout.map(({ value }) => value)).toEqual(['20999999.50000000', 0]);
    expect(small!.vout.map(({ value }) => value)).toEqual([0.0000005]);
  });

  test('sends many calls at once, of which some fail', async () => {
    const [address, missing, balance, refused] = await exchange.command<[string, Error, number, Error]>([
      { method: 'getnewaddress', parameters: ['of a batch'] },
      { method: 'foobar', parameters: [] },
      { method: 'getbalance' },
      { method: 'getblockhash', parameters: ['x'] },
    ]);
    expect(address).toStartWith('bcrt1q');
    expect(missing).toMatchObject({ name: 'RpcError', code: -32601, message: 'Method not found' });
    expect(balance).toBe(0);
    expect(refused).toMatchObject({ code: -3 });
    const named = await withPassword({ version: VERSION }).command<[string, Error]>([
      { method: 'getblockhash', parameters: { height: 0 } },
      { method: 'getblockhash', parameters: { heigh: 0 } },
    ]);
    expect(named[0]).toMatch(/^0f9188f1/);
    expect(named[1]).toMatchObject({ code: -8, message: 'Unknown named parameter heigh' });
  });

  test('a deposit is seen at 0, 1 and 6 confirmations', async () => {
    const { lastblock } = await exchange.listSinceBlock();
    const address = await exchange.getNewAddress('customer 17');
    const txid = await miner.sendToAddress(address, 12.34567891, 'deposit', 'of a customer');
    const entry = { txid, address, label: 'customer 17', category: 'receive', amount: 12.34567891 };
    const seen = async (confirmations: number) => {
      const since = await exchange.listSinceBlock(lastblock);
      expect(since.transactions).toMatchObject([{ ...entry, confirmations }]);
      expect(since.removed).toEqual([]);
      expect((await exchange.listTransactions('*', 1))[0]).toMatchObject({ ...entry, confirmations });
      expect(await exchange.listTransactions('customer 17')).toMatchObject([{ txid, confirmations }]);
      const shown = await exchange.getTransaction(txid);
      expect(shown).toMatchObject({ amount: 12.34567891, confirmations, details: [{ address, category: 'receive' }] });
      expect(shown.fee).toBeUndefined();
      const received = [0, 1, 6].map((minimum) => exchange.getReceivedByAddress(address, minimum));
      expect(await Promise.all(received)).toEqual(
        [0, 1, 6].map((minimum) => (confirmations < minimum ? 0 : 12.34567891)),
      );
      return shown;
    };
    expect((await seen(0)).blockhash).toBeUndefined();
    expect(await exchange.getBalances()).toMatchObject({ mine: { trusted: 0, untrusted_pending: 12.34567891 } });
    const [block] = await mine();
    expect((await seen(1)).blockhash).toBe(block);
    expect(await exchange.getBalance()).toBe(12.34567891);
    await mine(5);
    expect((await seen(6)).blockhash).toBe(block);
    // A deposit with six confirmations need not be requested again; every younger one is listed.
    const next = await exchange.listSinceBlock(lastblock, 6);
    expect(next.lastblock).toBe(block!);
    expect((await exchange.listSinceBlock(next.lastblock)).transactions).toEqual([]);
  });

  test('a withdrawal is paid once however often it is requested, at the requested feerate', async () => {
    const named = withPassword({ version: VERSION });
    const before = await exchange.getBalance();
    const request = { address: MINING_ADDRESS, amount: 1.5, fee_rate: 12, request_id: 'withdrawal 1' };
    const txid = await named.sendToAddress(request);
    expect(await named.sendToAddress(request)).toBe(txid);
    const many = { amounts: { [MINING_ADDRESS]: 0.1, [await miner.getNewAddress()]: '0.00012345' } };
    const paid = [
      txid,
      await exchange.sendMany('', many.amounts, 1, 'without a request id'),
      await named.sendMany({ ...many, fee_rate: 3, request_id: 'withdrawals 2' }),
      (await named.command<{ txid: string }>('send', [{ [MINING_ADDRESS]: 0.2 }], null, 'unset', 5)).txid,
      await exchange.sendToAddress(MINING_ADDRESS, '0.30000000', 'rent'),
    ];
    expect(await named.sendMany({ ...many, fee_rate: 3, request_id: 'withdrawals 2' })).toBe(paid[2]!);
    expect((await exchange.getRawMempool()).sort()).toEqual(paid.toSorted());
    const shown = await Promise.all(paid.map((each) => exchange.getTransaction(each)));
    expect(shown.map(({ amount }) => amount)).toEqual([-1.5, -0.10012345, -0.10012345, -0.2, -0.3]);
    const { vsize } = await exchange.getRawTransaction<{ vsize: number }>(txid, true);
    const feerate = (-shown[0]!.fee! * 1e8) / vsize;
    expect(feerate).toBeGreaterThanOrEqual(12);
    expect(feerate).toBeLessThan(12.5);
    expect(shown[0]!.details).toMatchObject([{ category: 'send', amount: -1.5, fee: shown[0]!.fee, abandoned: false }]);
    const [block] = await mine();
    for (const each of paid)
      expect(await exchange.getTransaction(each)).toMatchObject({ confirmations: 1, blockhash: block });
    const spent = shown.reduce((sum, { amount, fee }) => sum + amount + fee!, before);
    expect(await exchange.getBalance()).toBeCloseTo(spent, 8);
  });

  test('a fee is bumped, and the replaced payment can be abandoned', async () => {
    const first = await exchange.sendToAddress(MINING_ADDRESS, 0.4);
    expect(await failure(exchange.abandonTransaction(first))).toEqual([
      'RpcError',
      -5,
      'Transaction not eligible for abandonment',
    ]);
    const bumped = await exchange.bumpFee(first);
    expect(bumped.fee).toBeGreaterThan(bumped.origfee);
    expect(await exchange.getTransaction(first)).toMatchObject({ confirmations: 0, walletconflicts: [bumped.txid] });
    expect(await exchange.abandonTransaction(first)).toBeNull();
    expect((await exchange.getTransaction(first)).details).toMatchObject([{ category: 'send', abandoned: true }]);
    expect((await exchange.getTransaction(bumped.txid)).details).toMatchObject([{ abandoned: false }]);
    await mine();
    expect(await exchange.getTransaction(bumped.txid)).toMatchObject({ confirmations: 1 });
    expect(await exchange.getTransaction(first)).toMatchObject({ confirmations: -1 });
  });

  test('a deposit leaves its block, comes back, and is double-spent in another', async () => {
    const address = await exchange.getNewAddress('customer 18');
    const { lastblock } = await exchange.listSinceBlock();
    const txid = await miner.sendToAddress(address, 2);
    const [gone] = await mine();
    expect(await exchange.getTransaction(txid)).toMatchObject({ confirmations: 1, blockhash: gone });
    const vout = (await exchange.listUnspent()).find((coin) => coin.txid === txid)!.vout;
    const payment = [[{ [MINING_ADDRESS]: 1 }], null, 'unset', 5, { inputs: [{ txid, vout }] }];
    const { txid: child } = await exchange.command<{ txid: string }>('send', ...payment);
    await operator.command('invalidateblock', gone);
    // Out of its block, and in the mempool again.
    expect(await exchange.getTransaction(txid)).toMatchObject({ confirmations: 0, walletconflicts: [] });
    const removed = await exchange.listSinceBlock(gone);
    expect(removed.removed).toMatchObject([{ txid, address, category: 'receive', amount: 2, confirmations: 0 }]);
    expect(removed.transactions.map((each) => [each.txid, each.confirmations]).sort()).toEqual(
      [txid, child].toSorted().map((each) => [each, 0]),
    );
    expect(removed.lastblock).toBe(lastblock);
    expect(await exchange.getReceivedByAddress(address)).toBe(0);
    // The payer takes most of it back: the same coin pays less to the exchange, and more to the miners.
    const { vin } = await exchange.decodeRawTransaction((await miner.getTransaction(txid)).hex);
    const coin = vin[0]!;
    const draft = await miner.createRawTransaction([coin], [{ [address]: 0.5 }, { [MINING_ADDRESS]: 1.49 }]);
    const rival = await miner.signRawTransactionWithWallet(draft);
    expect(rival.complete).toBe(true);
    // Its inputs hold far more, and a fee like that is a mistake.
    expect((await failure(miner.sendRawTransaction(rival.hex)))[1]).toBe(-25);
    const other = await miner.command<string>('sendrawtransaction', rival.hex, 0);
    expect(await exchange.getTransaction(txid)).toMatchObject({
      confirmations: 0,
      walletconflicts: [other],
      mempoolconflicts: [other],
    });
    const [block] = await mine();
    expect(await exchange.getTransaction(other)).toMatchObject({ confirmations: 1, amount: 0.5, blockhash: block });
    expect(await exchange.getTransaction(txid)).toMatchObject({ confirmations: -1, walletconflicts: [other] });
    // The transaction that spent it is void as well.
    expect(await exchange.getTransaction(child)).toMatchObject({ confirmations: -1 });
    await mine(5);
    expect(await exchange.getTransaction(txid)).toMatchObject({ confirmations: -6, walletconflicts: [other] });
    expect(await exchange.getReceivedByAddress(address, 0)).toBe(0.5);
    // A list from the disconnected block on contains both.
    const since = await exchange.listSinceBlock(gone);
    expect(since.removed).toMatchObject([{ txid, confirmations: -6 }]);
    expect(since.transactions.map((each) => [each.txid, each.confirmations])).toContainEqual([other, 6]);
    // It cannot be given up: it is in conflict with a block.
    expect((await failure(exchange.abandonTransaction(txid)))[1]).toBe(-5);
  });
});
