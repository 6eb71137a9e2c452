import { hashToHex } from '../../src/primitives/hash.ts';
import { type Transaction, transactionBytes, txidOf } from '../../src/primitives/transaction.ts';
import type { RegtestChain, TestBlock } from './chain-builder.ts';
import { directoryWith } from './chain-directory.ts';
import type { ApiClient, ErrorBody, Reply } from './node-client.ts';
import { type NodeProcess, startNode } from './node-process.ts';

/** The body with which `POST /api/tx` answers an accepted transaction. */
export interface BroadcastBody {
  readonly txid: string;
  readonly wtxid: string;
  readonly status: string;
  readonly vsize: number;
  readonly fee: number;
  readonly feeRate: number;
  readonly replaced: readonly string[];
  readonly blockHash: string | null;
  readonly confirmations: number;
  readonly relayedTo: number;
}

export interface RejectedDetails {
  readonly reason: string;
  readonly debug: string | null;
  readonly class: string;
  readonly retryable: boolean;
  readonly txid: string;
  readonly conflicts: readonly string[];
  readonly missingInputs: readonly { txid: string; vout: number }[];
}

export const hexOf = (tx: Transaction): string => transactionBytes(tx).toHex();
export const idOf = (tx: Transaction): string => hashToHex(txidOf(tx));

/** Starts a node that has connected a chain of the last hours, and so is not in initial block download. */
export async function nodeWith(chain: RegtestChain, args: readonly string[] = []): Promise<NodeProcess> {
  const node = await startNode({ datadir: await directoryWith(chain), args });
  await mempoolLoaded(node);
  return node;
}

/** Waits until what was saved is back. */
export async function mempoolLoaded(node: NodeProcess): Promise<void> {
  await node.until('the mempool', async () => (await node.api.json<{ loaded: boolean }>('/api/mempool')).loaded);
}

export function post<T>(api: ApiClient, path: string, body: unknown): Promise<Reply<T>> {
  return api.request<T>(path, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  });
}

/** Submits a transaction that must be accepted. */
export async function broadcast(api: ApiClient, tx: Transaction): Promise<BroadcastBody> {
  const reply = await post<BroadcastBody>(api, '/api/tx', { tx: hexOf(tx) });
  if (reply.status !== 200) throw new Error(`${reply.status} ${reply.text}`);
  return reply.body;
}

/** Submits a transaction that must be rejected. */
export async function refused(api: ApiClient, tx: Transaction, more: object = {}): Promise<RejectedDetails> {
  const reply = await post<ErrorBody>(api, '/api/tx', { tx: hexOf(tx), ...more });
  if (reply.status !== 422) throw new Error(`${reply.status} ${reply.text}`);
  return reply.body.error.details as unknown as RejectedDetails;
}

/** Submits a block; returns when the node has it. */
export async function submit(api: ApiClient, block: TestBlock): Promise<void> {
  const { body, text } = await api.rpcBody<{ result: string | null }>({
    jsonrpc: '2.0',
    id: 1,
    method: 'submitblock',
    params: [block.raw.toHex()],
  });
  if (body.result !== null && body.result !== 'inconclusive') throw new Error(`submitblock: ${text}`);
}

/** Mines a block on a chain and submits it. */
export async function mine(api: ApiClient, chain: RegtestChain, txs: readonly Transaction[] = []): Promise<TestBlock> {
  const block = chain.mine(1, { txs });
  await submit(api, block);
  return block;
}
