/** A withdrawal of the load. It is sent until the node acknowledges it. */
export interface Withdrawal {
  readonly requestId: string;
  readonly amount: number;
  /** Null until the node has acknowledged it. */
  txid: string | null;
}

/** An event of the chain, as a consumer receives it. */
export interface ConsumedEvent {
  readonly type: string;
  readonly data: {
    readonly cursor: string;
    readonly hash?: string;
    readonly height?: number;
    readonly previousHash?: string;
    readonly phase?: string;
    readonly txid?: string;
  };
}

/** The data that the node has acknowledged to its clients, and the events that they have consumed. */
export class Acknowledged {
  readonly blocks: { readonly height: number; readonly hash: string }[] = [];
  readonly withdrawals = new Map<string, Withdrawal>();
  /** Addresses of stored watches. */
  readonly watches = new Set<string>();
  /** Secrets of keys by their ids. */
  readonly keys = new Map<string, string>();
  /** Confirmed transactions of the watched address that the consumer has received. */
  readonly confirmed = new Set<string>();
  readonly violations: string[] = [];
  /** Messages of requests that failed, with their numbers. */
  readonly failures = new Map<string, number>();
  cursor = '';
  events = 0;
  #tip: { height: number; hash: string } | null = null;

  /** Number of withdrawals that the node has acknowledged. */
  get sent(): number {
    return [...this.withdrawals.values()].filter(({ txid }) => txid !== null).length;
  }

  /** The last block that the consumer has received. */
  get consumedTip(): { readonly height: number; readonly hash: string } | null {
    return this.#tip;
  }

  acknowledgeWithdrawal(withdrawal: Withdrawal, txid: string): void {
    if (withdrawal.txid !== null && withdrawal.txid !== txid)
      this.violations.push(`${withdrawal.requestId} was acknowledged as ${withdrawal.txid} and again as ${txid}`);
    withdrawal.txid = txid;
  }

  /** Books an event. The chain of the load has no reorg, so each block follows the one before it. */
  consume({ type, data }: ConsumedEvent): void {
    this.events++;
    this.cursor = data.cursor;
    if (type === 'newBlock') {
      const tip = this.#tip;
      if (tip !== null && (data.height !== tip.height + 1 || data.previousHash !== tip.hash))
        this.violations.push(
          `the event of block ${data.height} ${data.hash} follows that of ${tip.height} ${tip.hash}`,
        );
      this.#tip = { height: data.height!, hash: data.hash! };
    } else if (type === 'addressTransaction' && data.phase === 'confirmed') {
      if (this.confirmed.has(data.txid!)) this.violations.push(`two events say that ${data.txid} is confirmed`);
      this.confirmed.add(data.txid!);
    } else if (type === 'addressTransaction' && data.phase === 'reverted')
      this.violations.push(`an event says that ${data.txid} is reverted`);
  }

  fail(error: unknown): void {
    const text = String(error)
      .replaceAll(/"requestId":"[^"]*"/g, '"requestId":"…"')
      .replaceAll(/\d+/g, 'N')
      .replaceAll(/[0-9a-fN]{16,}/g, 'HASH')
      .slice(0, 160);
    if (this.failures.has(text) || this.failures.size < 100)
      this.failures.set(text, (this.failures.get(text) ?? 0) + 1);
  }
}
