import { regtest } from '../../../src/params/regtest.ts';
import { addressOf } from '../../../src/script/address.ts';
import { post } from '../../lib/mempool-node.ts';
import type { ApiClient } from '../../lib/node-client.ts';
import { lockOf } from '../../lib/tx-builder.ts';
import type { Acknowledged, ConsumedEvent, Withdrawal } from './acknowledged.ts';

export const MINER = addressOf(lockOf('p2wpkh', 8).scriptPubKey, regtest.address)!;
/** The address that all withdrawals pay, which no wallet of the node has. */
export const RECIPIENT = addressOf(lockOf('p2wpkh', 9).scriptPubKey, regtest.address)!;
const FIRST_WATCH = 100;
/** Time for one request, and pauses between the requests of one client, milliseconds. */
const REQUEST_MS = 15_000;
const PAUSES = { blocks: 60, withdrawals: 40, watches: 80, keys: 400, events: 20 };
const EVENT_TYPES = 'newBlock,addressTransaction';
const SATOSHIS = 1e8;

interface EventPage {
  readonly items: readonly ConsumedEvent[];
  readonly gap: { readonly scope: string } | null;
}

/** Clients that mine, pay, watch, create keys and read events until they are stopped. */
export class Load {
  readonly #api: ApiClient;
  readonly #known: Acknowledged;
  readonly #stopped = new AbortController();
  #running: Promise<unknown> = Promise.resolve();

  constructor(api: ApiClient, known: Acknowledged) {
    this.#api = api;
    this.#known = known;
  }

  start(): void {
    this.#running = Promise.all([
      this.#repeat(PAUSES.blocks, () => this.mineBlock()),
      this.#repeat(PAUSES.withdrawals, () => this.sendWithdrawal(this.#nextWithdrawal())),
      this.#repeat(PAUSES.watches, () => this.#addWatch()),
      this.#repeat(PAUSES.keys, () => this.#createKey()),
      this.#repeat(PAUSES.events, () => this.readEvents()),
    ]);
  }

  /** Ends all requests, whose outcome is then unknown. */
  async stop(): Promise<void> {
    this.#stopped.abort(new Error('the load has stopped'));
    await this.#running;
  }

  /** Watches the recipient; its events are read from now on. */
  async begin(): Promise<void> {
    const { status, text } = await post(this.#api, '/api/watches', { kind: 'address', value: RECIPIENT });
    if (status >= 300) throw new Error(`watches: ${status} ${text}`);
    this.#known.cursor = (await this.#api.json<{ lastCursor: string }>('/api/events')).lastCursor;
  }

  /** Sends all withdrawals that are not acknowledged, confirms them, and reads all events. */
  async finish(): Promise<void> {
    for (const withdrawal of this.#known.withdrawals.values())
      if (withdrawal.txid === null) await this.sendWithdrawal(withdrawal);
    await this.mineBlock();
    while ((await this.readEvents()) > 0);
  }

  async mineBlock(): Promise<void> {
    const [hash] = await this.#rpc<string[]>('generatetoaddress', [1, MINER]);
    const { height } = await this.#rpc<{ height: number }>('getblockheader', [hash]);
    this.#known.blocks.push({ height, hash: hash! });
  }

  async sendWithdrawal(withdrawal: Withdrawal): Promise<void> {
    const { requestId, amount } = withdrawal;
    const params = { address: RECIPIENT, amount: amount / SATOSHIS, fee_rate: 2, request_id: requestId };
    this.#known.acknowledgeWithdrawal(withdrawal, await this.#rpc<string>('sendtoaddress', params));
  }

  /** Consumes the next page of events. Returns their number. */
  async readEvents(): Promise<number> {
    const path = `/api/events?after=${this.#known.cursor}&types=${EVENT_TYPES}&limit=100`;
    const { status, text, body } = await this.#api.request<EventPage>(path, { signal: this.#signal() });
    if (status !== 200) throw new Error(`events: ${status} ${text}`);
    if (body.gap?.scope === 'all')
      this.#known.violations.push(`events of the chain are missing: ${text.slice(0, 300)}`);
    for (const event of body.items) this.#known.consume(event);
    return body.items.length;
  }

  #nextWithdrawal(): Withdrawal {
    const { withdrawals } = this.#known;
    for (const withdrawal of withdrawals.values()) if (withdrawal.txid === null) return withdrawal;
    const n = withdrawals.size + 1;
    // Each amount is one of its own.
    const withdrawal = { requestId: `withdrawal-${n}`, amount: 10_000 + n, txid: null };
    withdrawals.set(withdrawal.requestId, withdrawal);
    return withdrawal;
  }

  async #addWatch(): Promise<void> {
    const { watches } = this.#known;
    const value = addressOf(lockOf('p2wpkh', FIRST_WATCH + watches.size).scriptPubKey, regtest.address)!;
    const { status, text } = await post(this.#api, '/api/watches', { kind: 'address', value });
    if (status !== 200 && status !== 201) throw new Error(`watches: ${status} ${text}`);
    watches.add(value);
  }

  async #createKey(): Promise<void> {
    const label = `load ${this.#known.keys.size}`;
    const { id, key } = await this.#rpc<{ id: string; key: string }>('createapikey', [label, ['read']]);
    this.#known.keys.set(id, key);
  }

  async #rpc<T>(method: string, params: unknown): Promise<T> {
    const { body, status, text } = await this.#api.rpcBody<{ result?: T; error?: unknown }>(
      { jsonrpc: '2.0', id: 1, method, params },
      { signal: this.#signal() },
    );
    if (status !== 200 || body.error || body.result === undefined) throw new Error(`${method}: ${status} ${text}`);
    return body.result;
  }

  #signal(): AbortSignal {
    return AbortSignal.any([this.#stopped.signal, AbortSignal.timeout(REQUEST_MS)]);
  }

  async #repeat(pauseMs: number, request: () => Promise<unknown>): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      await request().catch((error) => {
        if (!this.#stopped.signal.aborted) this.#known.fail(error);
      });
      await Bun.sleep(pauseMs);
    }
  }
}
