import { join } from 'node:path';
import type { ApiClient } from './node-client.ts';
import { freePort, NodeProcess, poll } from './node-process.ts';

/**
 * Mock time of the directories, a moment far in the future: saved transactions, fee history and bans do not expire
 * before a test opens them, whenever it runs.
 */
export const FIXTURE_TIME = Date.UTC(2036, 0, 1) / 1000;

/** Objects of the directory that the requests refer to. */
export interface UpgradeFacts {
  readonly wallets: readonly string[];
  /** Passphrase of the wallet of the same name. */
  readonly passphrases: Readonly<Record<string, string>>;
  readonly addresses: readonly string[];
  readonly txids: readonly string[];
  /** Hashes of blocks, those that left the chain among them. */
  readonly blocks: readonly string[];
  /** Cursors of the event log, in ascending order. */
  readonly cursors: readonly string[];
  /** API keys with the scopes that they have; the first has all. */
  readonly keys: readonly { readonly key: string; readonly scopes: readonly string[] }[];
}

/** A request, and the reply of the version that wrote the directory. */
export interface UpgradeAnswer {
  /** `GET path`, `method params`, or `wallet: method params`. */
  readonly request: string;
  readonly status: number;
  readonly reply: unknown;
}

export interface UpgradeRecord {
  /** The commit whose executable wrote the directory. */
  readonly commit: string;
  readonly facts: UpgradeFacts;
  readonly answers: readonly UpgradeAnswer[];
}

interface WalletCall {
  readonly wallet: string | null;
  readonly method: string;
  readonly params: readonly unknown[];
}

type UpgradeRequest = string | WalletCall;

/** Requests whose replies an upgrade must not change. */
function upgradeRequests({ wallets, addresses, txids, blocks, cursors }: UpgradeFacts): UpgradeRequest[] {
  const node = (method: string, ...params: unknown[]): WalletCall => ({ wallet: null, method, params });
  return [
    '/api/info',
    '/api/blocks',
    '/api/watches',
    '/api/mempool',
    '/api/fees',
    '/api/events?after=0&limit=1000',
    ...cursors.map((cursor) => `/api/events?after=${cursor}&limit=1000`),
    ...blocks.flatMap((hash) => [`/api/block/${hash}`, `/api/block/${hash}/txs`]),
    ...txids.map((txid) => `/api/tx/${txid}`),
    ...addresses.flatMap((address) => ['', '/txs?limit=500', '/utxos'].map((part) => `/api/address/${address}${part}`)),
    node('getblockchaininfo'),
    node('gettxoutsetinfo', 'hash_serialized_3'),
    node('gettxoutsetinfo', 'muhash'),
    node('getchaintips'),
    node('getchaintxstats'),
    node('getindexinfo'),
    node('getrawmempool', true),
    node('getprioritisedtransactions'),
    node('estimatesmartfee', 2),
    node('estimaterawfee', 2),
    node('listbanned'),
    node('listwallets'),
    node('listwalletdir'),
    node('getaddressbalance', { addresses }),
    node('getaddressdeltas', { addresses }),
    node('getaddressutxos', { addresses }),
    ...blocks.flatMap((hash) => [node('getblock', hash, 3), node('getblockfilter', hash)]),
    ...txids.map((txid) => node('getrawtransaction', txid, 2)),
    ...wallets.flatMap((wallet) => walletRequests(wallet, addresses)),
  ];
}

function walletRequests(wallet: string, addresses: readonly string[]): WalletCall[] {
  const calls: [method: string, ...params: unknown[]][] = [
    ['getwalletinfo'],
    ['getbalances'],
    ['listunspent', 0],
    ['listtransactions', '*', 1000],
    ['listsinceblock'],
    ['listlabels'],
    ['listlockunspent'],
    ['listdescriptors'],
    ['gethdkeys'],
    ['listreceivedbyaddress', 0, true],
    ['listaddressgroupings'],
    ...addresses.map((address): [string, ...unknown[]] => ['getaddressinfo', address]),
  ];
  return calls.map(([method, ...params]) => ({ wallet, method, params }));
}

/** Sends all requests one after the other. */
export async function recordAnswers(api: ApiClient, facts: UpgradeFacts): Promise<UpgradeAnswer[]> {
  const answers: UpgradeAnswer[] = [];
  for (const request of upgradeRequests(facts)) {
    if (typeof request === 'string') {
      const { status, body } = await api.request(request);
      answers.push({ request: `GET ${request}`, status, reply: body });
      continue;
    }
    const { wallet, method, params } = request;
    const { status, reply } = await sendMethod(api, wallet, method, params);
    const name = `${wallet === null ? '' : `${wallet}: `}${method} ${JSON.stringify(params)}`;
    answers.push({ request: name, status, reply });
  }
  return answers;
}

async function sendMethod(api: ApiClient, wallet: string | null, method: string, params: readonly unknown[]) {
  const { status, body } = await api.request<{ result?: unknown; error?: unknown }>(
    wallet === null ? '/' : `/wallet/${wallet}`,
    { method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) },
  );
  return { status, isError: body.error !== undefined, reply: body.error ?? body.result };
}

/** Returns the result of a method of the node or of a wallet. */
export async function callMethod<T = unknown>(
  api: ApiClient,
  wallet: string | null,
  method: string,
  ...params: unknown[]
): Promise<T> {
  const { isError, reply } = await sendMethod(api, wallet, method, params);
  if (isError) throw new Error(`${method}: ${JSON.stringify(reply)}`);
  return reply as T;
}

/** Starts a node on a directory of this kind; without an executable from the sources. */
export async function startUpgraded(executable: string | undefined, datadir: string): Promise<NodeProcess> {
  const node = await new NodeProcess({
    ...(executable !== undefined && { executable }),
    datadir,
    testKey: false,
    args: [
      ...['--config', join(datadir, 'obverse.toml'), '--p2p.listen', `127.0.0.1:${await freePort()}`],
      ...['--wallet.keypool', '10'],
    ],
  }).ready();
  await callMethod(node.api, null, 'setmocktime', FIXTURE_TIME);
  return node;
}

interface WalletState {
  readonly lastprocessedblock: { readonly height: number };
  readonly scanning: false | object;
}

/** Waits until the saved mempool is loaded, and all loaded wallets have caught up and found their addresses. */
export function untilSettled(api: ApiClient): Promise<boolean> {
  return poll('the mempool and the wallets', async () => {
    const { loaded } = await callMethod<{ loaded: boolean }>(api, null, 'getmempoolinfo');
    const height = await callMethod<number>(api, null, 'getblockcount');
    const wallets = await callMethod<string[]>(api, null, 'listwallets');
    const infos = await Promise.all(wallets.map((wallet) => callMethod<WalletState>(api, wallet, 'getwalletinfo')));
    return loaded && infos.every((info) => info.scanning === false && info.lastprocessedblock.height === height);
  });
}
