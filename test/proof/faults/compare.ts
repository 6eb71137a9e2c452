import { type AddressTx, ApiClient } from '../../lib/node-client.ts';
import type { NodeProcess } from '../../lib/node-process.ts';
import type { Acknowledged } from './acknowledged.ts';
import { RECIPIENT } from './load.ts';

interface Seen {
  blocks: number;
  withdrawals: number;
  watches: number;
  keys: number;
}

/** Compares what a node has with what it acknowledged, each time from where the last comparison ended. */
export class Comparison {
  readonly #known: Acknowledged;
  readonly #seen: Seen = { blocks: 0, withdrawals: 0, watches: 0, keys: 0 };

  constructor(known: Acknowledged) {
    this.#known = known;
  }

  /** Compares what was acknowledged since the last call. */
  async compareNew({ api }: NodeProcess): Promise<void> {
    const known = this.#known;
    const seen = this.#seen;
    for (const { height, hash } of known.blocks.slice(seen.blocks)) {
      const header = await api.rpc<{ confirmations: number }>('getblockheader', [hash]).catch(() => null);
      if (header === null || header.confirmations < 1)
        known.violations.push(`block ${height} ${hash} was acknowledged and is not in the active chain`);
    }
    for (const { requestId, txid } of [...known.withdrawals.values()].slice(seen.withdrawals)) {
      if (txid === null) continue;
      const tx = await api.rpc<{ confirmations: number }>('gettransaction', [txid]).catch(() => null);
      if (tx === null || tx.confirmations < 0)
        known.violations.push(`${requestId} was acknowledged as ${txid}, which the wallet lacks`);
    }
    for (const value of [...known.watches].slice(seen.watches)) {
      const { items } = await api.json<{ items: readonly unknown[] }>(`/api/watches?value=${value}`);
      if (items.length !== 1) known.violations.push(`the watch of ${value} was acknowledged and is missing`);
    }
    for (const [id, key] of [...known.keys].slice(seen.keys)) {
      const { status } = await new ApiClient(api.url, key).request('/api/watches');
      if (status !== 200) known.violations.push(`key ${id} was acknowledged and gets ${status}`);
    }
    const open = [...known.withdrawals.values()].findIndex(({ txid }) => txid === null);
    seen.blocks = known.blocks.length;
    seen.withdrawals = open < 0 ? known.withdrawals.size : open;
    seen.watches = known.watches.size;
    seen.keys = known.keys.size;
  }

  /** Compares everything, when all withdrawals are acknowledged and confirmed and all events are consumed. */
  async compareAll(node: NodeProcess): Promise<void> {
    const known = this.#known;
    Object.assign(this.#seen, { blocks: 0, withdrawals: 0, watches: 0, keys: 0 } satisfies Seen);
    await this.compareNew(node);
    const { items } = await node.api.all<AddressTx>(`/api/address/${RECIPIENT}/txs?confirmed=true&limit=500`);
    const paid = new Map(items.map(({ txid, received }) => [txid, received]));
    for (const { requestId, amount, txid } of known.withdrawals.values()) {
      if (paid.get(txid!) !== amount)
        known.violations.push(`${requestId} is ${paid.get(txid!)} in the chain, not ${amount}`);
      if (!known.confirmed.has(txid!)) known.violations.push(`no event says that ${requestId} is confirmed`);
    }
    if (paid.size !== known.withdrawals.size)
      known.violations.push(`${paid.size} transactions pay the recipient, not ${known.withdrawals.size}`);
    if (known.confirmed.size !== paid.size)
      known.violations.push(
        `${known.confirmed.size} transactions are confirmed by events, and ${paid.size} by the chain`,
      );
    await this.#compareWallet(node);
  }

  async #compareWallet({ api }: NodeProcess): Promise<void> {
    const { mine } = await api.rpc<{ mine: { trusted: number; untrusted_pending: number; immature: number } }>(
      'getbalances',
    );
    const { descriptors } = await api.rpc<{ descriptors: { desc: string; next?: number }[] }>('listdescriptors');
    const scanned = descriptors.map(({ desc, next = 0 }) => ({ desc, range: next + 1 }));
    const { total_amount } = await api.rpc<{ total_amount: number }>('scantxoutset', ['start', scanned]);
    const balance = mine.trusted + mine.untrusted_pending + mine.immature;
    if (balance.toFixed(8) !== total_amount.toFixed(8))
      this.#known.violations.push(`the wallet has ${balance}, and the coins of its scripts are ${total_amount}`);
  }
}
