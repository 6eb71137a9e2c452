import { signatureEngine } from '../../src/crypto/secp256k1.ts';
import type { AcceptResult } from '../../src/mempool/accept-result.ts';
import type { RemovalReason } from '../../src/mempool/changes.ts';
import { followChain } from '../../src/mempool/follow-chain.ts';
import { Mempool } from '../../src/mempool/pool.ts';
import { Acceptance, type AcceptOptions } from '../../src/mempool/validation/acceptance.ts';
import { PackageAcceptance } from '../../src/mempool/validation/package-acceptance.ts';
import type { RelayOptions } from '../../src/policy/relay-options.ts';
import { type ParsedTransaction, parseTransaction } from '../../src/primitives/block.ts';
import { hashToHex } from '../../src/primitives/hash.ts';
import { type Transaction, transactionBytes, txidOf } from '../../src/primitives/transaction.ts';
import type { RegtestChain } from './chain-builder.ts';
import { TestNode } from './chain-fixture.ts';
import { DEFAULT_RELAY_OPTIONS } from './default-options.ts';

export const parsed = (tx: Transaction): ParsedTransaction => parseTransaction(transactionBytes(tx));

/**
 * A mempool on a chain, both real:
 *
 *     await using pool = await TestMempool.on(chain);
 *     await pool.accept(tx);
 */
export class TestMempool implements AsyncDisposable {
  readonly node: TestNode;
  readonly mempool: Mempool;
  readonly acceptance: Acceptance;
  readonly packages: PackageAcceptance;
  /** The notifications, in order: `+txid`, or `-txid reason`. */
  readonly log: string[] = [];

  private constructor(node: TestNode, options: Partial<RelayOptions>) {
    this.node = node;
    const { chain, clock } = node;
    const observer = {
      added: (slot: number) => this.log.push(`+${this.#name(slot)}`),
      removed: (slot: number, reason: RemovalReason) => this.log.push(`-${this.#name(slot)} ${reason}`),
      modified: () => {},
    };
    this.mempool = new Mempool({ ...DEFAULT_RELAY_OPTIONS, ...options }, { clock, observer });
    const deps = { mempool: this.mempool, chain, engine: signatureEngine(), clock };
    this.acceptance = new Acceptance(deps);
    this.packages = new PackageAcceptance(deps, this.acceptance);
    chain.setFollower({
      follow: () => {},
      has: (txid) => this.mempool.entries.find(txid) >= 0,
      onCommitted: ({ connected, disconnected }) =>
        followChain(
          {
            connected: connected.map((entry) => () => chain.readBlock(entry)),
            disconnected: disconnected.map((entry) => () => chain.readBlock(entry)),
            reaccept: true,
            invalidated: disconnected.at(-1)?.failed ?? false,
          },
          { ...this, chain },
        ),
    });
  }

  /** Opens a node that has connected the whole chain. */
  static async on(chain: RegtestChain, options: Partial<RelayOptions> = {}): Promise<TestMempool> {
    const node = new TestNode({ params: chain.params });
    await node.take(chain.blocks.slice(1));
    return new TestMempool(node, options);
  }

  accept(tx: Transaction, options: AcceptOptions = {}): Promise<AcceptResult> {
    return this.node.chain.whenSettled(() => this.acceptance.accept(parsed(tx), options));
  }

  /** `accepted`, or Core's reason. */
  async reason(tx: Transaction, options: AcceptOptions = {}): Promise<string> {
    const result = await this.accept(tx, options);
    return result.status === 'rejected' ? result.rejection.reason : result.status;
  }

  has(tx: Transaction): boolean {
    return this.mempool.entries.find(txidOf(tx)) >= 0;
  }

  get count(): number {
    return this.mempool.entries.count;
  }

  #name(slot: number): string {
    return hashToHex(this.mempool.entries.txid(slot));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.node[Symbol.asyncDispose]();
  }
}
