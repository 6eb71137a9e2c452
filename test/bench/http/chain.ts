import { cpSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serverPrefix } from './processor-time.ts';

const OPERATOR_KEY = 'a-key-for-the-bench-of-the-http-server';
const START_MS = 60_000;
const BLOCKS = 110;
const PAYMENTS = 100;
/** Blocks behind the payments, so that these are deeper than a reorg reaches. */
const LATER_BLOCKS = 100;
const UNCONFIRMED = 20;
const WATCHES = 50;
const TICKET_KEYS = 60;

/** A process that serves HTTP on the loopback interface. */
export interface ServerProcess {
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Contents of a prepared data directory; hashes are in display order. */
/** Blocks with many inputs and with many outputs. */
export interface WideHashes {
  readonly inputs: string;
  readonly outputs: string;
}

export interface Sample {
  /** A key with all scopes, and one that may only broadcast. */
  readonly key: string;
  readonly narrowKey: string;
  readonly ticketKeys: readonly string[];
  readonly revokedKey: string;
  /** Hash of the block with the payments. */
  readonly blockHash: string;
  readonly blockHeight: number;
  readonly tipHeight: number;
  /** Hashes of a block of two megabytes and of the one before, of half a megabyte; null where none was requested. */
  readonly wide: WideHashes | null;
  readonly txid: string;
  /** Address that received all payments. */
  readonly address: string;
  readonly unconfirmedHex: string;
}

/** Starts the node of a checkout. */
export async function startNode(
  checkout: string,
  datadir: string,
  settings: readonly string[] = [],
): Promise<ServerProcess> {
  const command = [
    ...serverPrefix(),
    process.execPath,
    join(checkout, 'src/main.ts'),
    'start',
    ...['--network', 'regtest', '--datadir', datadir, '--http.listen', '127.0.0.1:0', '--p2p.enabled', 'false'],
    ...[
      '--http.limits.publicRate=1000000',
      '--http.limits.publicBurst=1000000',
      '--ws.connectionsPerKey=100000',
      '--ws.connections=100000',
    ],
    ...settings,
  ];
  return started(command, { OBVERSE_API_KEY: OPERATOR_KEY }, async (child) => {
    const file = join(datadir, 'regtest/.cookie');
    return portOf(child.stderr, /"port":(\d+)|http:\/\/127\.0\.0\.1:(\d+)/, () => Bun.file(file).exists());
  });
}

/** Starts one of the bare servers; that of Bun may have several threads. */
export function startBare(kind: 'bun' | 'elysia', file: string, threads = 1): Promise<ServerProcess> {
  const script = join(import.meta.dir, 'bare.ts');
  const command = [...serverPrefix(), process.execPath, script, kind, file, String(threads)];
  return started(command, {}, (child) => portOf(child.stdout, /port (\d+)/, async () => true));
}

type Child = Bun.Subprocess<'ignore', 'pipe', 'pipe'>;

async function started(
  command: readonly string[],
  env: Readonly<Record<string, string>>,
  portFor: (child: Child) => Promise<number>,
): Promise<ServerProcess> {
  const child = Bun.spawn([...command], {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    env: { ...process.env, ...env },
  });
  const stop = async () => {
    child.kill();
    await child.exited;
  };
  try {
    return { port: await portFor(child), pid: child.pid, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Reads the output until it names the port; goes on reading afterwards, so that the process is never blocked. */
async function portOf(
  output: ReadableStream<Uint8Array>,
  pattern: RegExp,
  isReady: () => Promise<boolean>,
): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const decoder = new TextDecoder();
  void (async () => {
    let text = '';
    let port = 0;
    for await (const chunk of output) {
      if (port > 0) continue;
      text += decoder.decode(chunk);
      const found = pattern.exec(text);
      if (found) resolve((port = Number(found[1] ?? found[2])));
    }
    reject(new Error(`the server ended:\n${text}`));
  })();
  const timer = setTimeout(() => reject(new Error('the server did not start')), START_MS);
  const port = await promise.finally(() => clearTimeout(timer));
  while (!(await isReady())) await Bun.sleep(20);
  return port;
}

/** Makes a regtest chain with payments, a mempool, keys and watches in a new data directory; `isWide` adds a long block. */
export async function prepareSample(checkout: string, isWide = false): Promise<{ datadir: string; sample: Sample }> {
  const datadir = mkdtempSync(join(tmpdir(), 'obverse-bench-'));
  const node = await startNode(checkout, datadir);
  try {
    return { datadir, sample: await fill(node.port, datadir, isWide) };
  } finally {
    await node.stop();
  }
}

export function copyOf(datadir: string): string {
  const copy = mkdtempSync(join(tmpdir(), 'obverse-bench-'));
  cpSync(datadir, copy, { recursive: true });
  return copy;
}

async function fill(port: number, datadir: string, isWide: boolean): Promise<Sample> {
  const cookie = readFileSync(join(datadir, 'regtest/.cookie'), 'utf8').trim();
  const url = `http://127.0.0.1:${port}`;
  const call = async (method: string, ...params: unknown[]) => {
    const reply = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(cookie)}` },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    const { result, error } = (await reply.json()) as { result: unknown; error?: { message: string } };
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  };
  const makeKey = async (label: string, scopes: readonly string[]) =>
    (await call('createapikey', label, scopes)) as { id: string; key: string };
  const newKey = async (label: string, scopes: readonly string[]) => (await makeKey(label, scopes)).key;
  const mineTo = (await call('getnewaddress')) as string;
  const address = (await call('getnewaddress')) as string;
  await call('generatetoaddress', BLOCKS, mineTo);
  let txid = '';
  for (let i = 0; i < PAYMENTS; i++) txid = (await call('sendtoaddress', address, amount(i))) as string;
  const [blockHash] = (await call('generatetoaddress', 1, mineTo)) as string[];
  await call('generatetoaddress', LATER_BLOCKS, mineTo);
  const wide = isWide ? await mineWide(call, mineTo) : null;
  let unconfirmed = '';
  for (let i = 0; i < UNCONFIRMED; i++) unconfirmed = (await call('sendtoaddress', address, amount(i))) as string;
  const key = await newKey('bench', ['admin', 'read', 'broadcast', 'wallet', 'mining', 'metrics']);
  const ticketKeys = await Promise.all(Array.from({ length: TICKET_KEYS }, () => newKey('tickets', ['read'])));
  const revoked = await makeKey('revoked', ['read']);
  await call('revokeapikey', revoked.id);
  const watches = Array.from({ length: WATCHES }, (_, i) => ({ kind: 'tx', value: i.toString(16).padStart(64, '0') }));
  await fetch(`${url}/api/watches`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ watches }),
  });
  return {
    key,
    narrowKey: await newKey('narrow', ['broadcast']),
    ticketKeys,
    revokedKey: revoked.key,
    blockHash: blockHash!,
    blockHeight: BLOCKS + 1,
    tipHeight: BLOCKS + 1 + LATER_BLOCKS + (isWide ? 2 : 0),
    wide,
    txid,
    address,
    unconfirmedHex: (await call('getrawtransaction', unconfirmed)) as string,
  };
}

type NodeCall = (method: string, ...params: unknown[]) => Promise<unknown>;

/** Transactions of the long block, inputs of each, and transactions of the block before, which makes their coins. */
const WIDE_TXS = 150;
const WIDE_INPUTS = 90;
const FAN_OUTS = 60;
const WIDE_COIN = 0.001;

/** Mines a block of two megabytes whose transactions have many inputs with witnesses, after one that makes their coins. */
async function mineWide(call: NodeCall, mineTo: string): Promise<WideHashes> {
  const coins = (WIDE_TXS * WIDE_INPUTS) / FAN_OUTS;
  const addresses: unknown[] = [];
  for (let i = 0; i < coins; i++) addresses.push(await call('getnewaddress'));
  const amounts = Object.fromEntries(addresses.map((each) => [each as string, WIDE_COIN]));
  for (let i = 0; i < FAN_OUTS; i++) await call('sendmany', '', amounts);
  const [outputs] = (await call('generatetoaddress', 1, mineTo)) as string[];
  const unspent = (await call('listunspent', 1, 1)) as { txid: string; vout: number; amount: number }[];
  const coinsToSpend = unspent.filter((coin) => coin.amount === WIDE_COIN).map(({ txid, vout }) => ({ txid, vout }));
  for (let i = 0; i < WIDE_TXS; i++) {
    const spent = coinsToSpend.slice(i * WIDE_INPUTS, (i + 1) * WIDE_INPUTS);
    const paid = ((WIDE_INPUTS - 1) * WIDE_COIN).toFixed(8);
    const unsigned = await call('createrawtransaction', spent, [{ [mineTo]: paid }]);
    const { hex } = (await call('signrawtransactionwithwallet', unsigned)) as { hex: string };
    await call('sendrawtransaction', hex);
  }
  const [inputs] = (await call('generatetoaddress', 1, mineTo)) as string[];
  return { inputs: inputs!, outputs: outputs! };
}

/** Returns the amount of the payment of this number: no two are equal. */
function amount(index: number): string {
  return ((1000 + index) / 1e4).toFixed(4);
}
