import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { post } from './mempool-node.ts';
import { ApiClient, type Page } from './node-client.ts';
import type { NodeProcess } from './node-process.ts';
import { runCommand } from './run-command.ts';

/** The settings by which a command finds a data directory, and the node that runs on it. */
export function settingsOf({ datadir, api }: Pick<NodeProcess, 'datadir' | 'api'>): string[] {
  return [...directoryOf(datadir), '--http.listen', new URL(api.url).host];
}

export function directoryOf(datadir: string): string[] {
  return ['--network', 'regtest', '--datadir', datadir];
}

/** Runs `obverse backup` beside a running node, in this process. */
export function backup(node: NodeProcess, dir: string, ...flags: string[]) {
  return runCommand(['backup', dir, ...flags, ...settingsOf(node)]);
}

/** Runs `obverse restore` into a data directory, in this process. */
export function restore(dir: string, datadir: string, ...flags: string[]) {
  return runCommand(['restore', dir, '--into', datadir, '--network', 'regtest', ...flags]);
}

/** The data of operators and clients in a node. */
export interface OwnData {
  readonly address: string;
  /** A key of its own, whose watches and webhooks these are. */
  readonly key: { readonly id: string; readonly key: string };
}

/** Mines coins to the default wallet, sends some, and creates a key with watches and a webhook. */
export async function fillNode(node: Pick<NodeProcess, 'api'>, blocks = 105): Promise<OwnData> {
  const { api } = node;
  const address = await api.rpc<string>('getnewaddress', ['', 'bech32']);
  await api.rpc('generatetoaddress', [blocks, address]);
  await api.rpc('sendtoaddress', [await api.rpc<string>('getnewaddress', []), 1]);
  await api.rpc('generatetoaddress', [1, address]);
  const scopes = ['read', 'wallet.read', 'webhooks'];
  const key = await api.rpc<OwnData['key']>('createapikey', ['shop', scopes]);
  const client = new ApiClient(api.url, key.key);
  await addWatch(client, address);
  const hook = await post(client, '/api/webhooks', { url: 'http://127.0.0.1:9/hook', types: ['newBlock'] });
  if (hook.status !== 200) throw new Error(hook.text);
  return { address, key };
}

export async function addWatch(client: ApiClient, value: string): Promise<void> {
  const reply = await post(client, '/api/watches', { kind: 'address', value, confirmations: [1, 6], label: 'shop' });
  if (reply.status !== 200) throw new Error(reply.text);
}

/** The figures by which a restored node is compared with the one that the backup was taken of. */
export interface Figures {
  readonly wallets: Readonly<Record<string, { readonly balance: unknown; readonly descriptors: unknown }>>;
  readonly keys: readonly { readonly id: string; readonly scopes: readonly string[] }[];
  readonly watches: readonly unknown[];
  readonly webhooks: readonly string[];
}

interface Hook {
  readonly id: string;
  readonly url: string;
}

/** Reads the figures; the key of the data must be accepted. */
export async function figuresOf({ api }: Pick<NodeProcess, 'api'>, { key }: OwnData): Promise<Figures> {
  const client = new ApiClient(api.url, key.key);
  const wallets: Record<string, { balance: unknown; descriptors: unknown }> = {};
  for (const name of await api.rpc<string[]>('listwallets')) {
    const ask = async <T>(method: string) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [] });
      return (await api.request<{ result: T }>(`/wallet/${name}`, { method: 'POST', body })).body.result;
    };
    wallets[name] = {
      balance: (await ask<{ mine: unknown }>('getbalances')).mine,
      descriptors: (await ask<{ descriptors: unknown }>('listdescriptors')).descriptors,
    };
  }
  const keys = await api.rpc<Figures['keys']>('listapikeys');
  return {
    wallets,
    keys: keys.map(({ id, scopes }) => ({ id, scopes })),
    watches: (await client.all('/api/watches')).items,
    webhooks: (await client.json<Page<Hook>>('/api/webhooks')).items.map(({ id, url }) => `${id} ${url}`),
  };
}

/** The coins of the chain, as one hash. */
export function coinsOf({ api }: Pick<NodeProcess, 'api'>): Promise<{ muhash: string; height: number }> {
  return api.rpc('gettxoutsetinfo', ['muhash']);
}

/** A file with mode and content, of a folder. */
export function fileOf(dir: string, path: string): { mode: number; bytes: Buffer } {
  const full = join(dir, path);
  return { mode: statSync(full).mode & 0o777, bytes: readFileSync(full) };
}
