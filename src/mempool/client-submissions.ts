import { type ParsedTransaction, parseTransaction, weightOf } from '../primitives/block.ts';
import { hashToHex, type Txid, type Wtxid } from '../primitives/hash.ts';
import type { Outpoint } from '../primitives/outpoint.ts';
import { hasValidOps } from '../script/script-reader.ts';
import { isUnspendable } from '../script/templates.ts';
import type { AcceptResult, PackageResult } from './accept-result.ts';
import type { MempoolRelay } from './relay.ts';
import { type SubmissionDeps, SubmissionQueue } from './submission-queue.ts';
import type { Acceptance, AcceptOptions } from './validation/acceptance.ts';
import type { PackageAcceptance } from './validation/package-acceptance.ts';

/** Limits of a submitted transaction. */
export interface BroadcastLimits {
  /** Satoshis per 1,000 virtual bytes (BIP-141); null sets no bound. */
  readonly maxFeerate: number | null;
  /** Maximum value of an unspendable output, satoshis. */
  readonly maxBurn: number;
}

/** Result of a submitted transaction. */
export type BroadcastResult =
  | Extract<AcceptResult, { status: 'rejected' | 'different-witness' }>
  | {
      readonly status: 'accepted' | 'in-mempool';
      readonly vsize: number;
      readonly fee: number;
      readonly replaced: readonly Txid[];
      /** Number of peers it was announced to. */
      readonly relayedTo: number;
    }
  /** It would be accepted, and is broadcast privately in place of that. */
  | { readonly status: 'scheduled'; readonly vsize: number; readonly fee: number }
  /** Too many transactions are broadcast privately. */
  | { readonly status: 'private-queue-full' };

interface ClientSubmissionDeps extends SubmissionDeps {
  readonly acceptance: Acceptance;
  readonly packages: PackageAcceptance;
  readonly relay: MempoolRelay;
}

const FAILED = { kind: 'transaction', reason: 'transaction failed' } as const;

/** The mempool as clients and wallets submit transactions to it. */
export class ClientSubmissions {
  readonly #deps: ClientSubmissionDeps;
  readonly #queue: SubmissionQueue;

  constructor(deps: ClientSubmissionDeps) {
    this.#deps = deps;
    this.#queue = new SubmissionQueue(deps);
  }

  /** Submits a transaction of a client. Its bytes must parse. */
  broadcast(raw: Uint8Array, { maxFeerate, maxBurn }: BroadcastLimits): Promise<BroadcastResult> {
    const parsed = parseTransaction(raw);
    const burn = checkBurn(parsed, maxBurn);
    if (burn) return Promise.resolve(burn);
    const maxFee = maxFeeOf(parsed, maxFeerate);
    return this.#queue.enqueue(parsed, (scriptsValid) =>
      this.#broadcast(parsed, { local: true, maxFee, scriptsValid }),
    );
  }

  /**
   * Validates a transaction of a client as `broadcast` does, and passes it to `schedule` in place of the mempool, which returns
   * whether it has room. One that is in the mempool is scheduled as well. Its bytes must parse.
   */
  async broadcastPrivately(
    raw: Uint8Array,
    { maxFeerate, maxBurn }: BroadcastLimits,
    schedule: (parsed: ParsedTransaction) => boolean,
  ): Promise<BroadcastResult> {
    const parsed = parseTransaction(raw);
    const burn = checkBurn(parsed, maxBurn);
    if (burn) return burn;
    const { acceptance, mempool, settled } = this.#deps;
    return settled(() => {
      const slot = mempool.entries.find(parsed.txid);
      const options = { local: true, testOnly: true, maxFee: maxFeeOf(parsed, maxFeerate) };
      const result =
        slot >= 0
          ? ({ status: 'in-mempool', vsize: mempool.entries.vsize(slot), fee: mempool.entries.fee(slot) } as const)
          : acceptance.accept(parsed, options);
      if (result.status !== 'in-mempool' && result.status !== 'accepted') return result;
      if (!schedule(parsed)) return { status: 'private-queue-full' };
      return { status: 'scheduled', vsize: result.vsize, fee: result.fee };
    });
  }

  /** Validates transactions in topological order without adding them. Their bytes must parse. */
  test(raws: readonly Uint8Array[]): Promise<PackageResult> {
    const txs = raws.map(parseTransaction);
    const { packages, settled } = this.#deps;
    return settled(() => packages.test(txs));
  }

  /** Submits a child with its parents. Their bytes must parse. `maxFeerate` in satoshis per 1,000 virtual bytes. */
  async submitPackage(raws: readonly Uint8Array[], limits: BroadcastLimits): Promise<PackageResult> {
    const txs = raws.map(parseTransaction);
    for (const parsed of txs) {
      const burn = checkBurn(parsed, limits.maxBurn);
      if (burn) return { rejection: FAILED, results: new Map([[hashToHex(parsed.wtxid), burn]]) };
    }
    const { maxFeerate } = limits;
    const { packages, relay, settled } = this.#deps;
    return settled(() => {
      const result = packages.accept(txs, { local: true, maxFeerate });
      for (const { txid } of txs) relay.announce(txid);
      return result;
    });
  }

  #broadcast(parsed: ParsedTransaction, options: AcceptOptions): BroadcastResult {
    const { mempool, acceptance, relay } = this.#deps;
    const { entries } = mempool;
    const slot = entries.find(parsed.txid);
    if (slot >= 0) {
      if (entries.findWtxid(parsed.wtxid) !== slot) {
        // As in Core, the transaction of the mempool is announced in place of the submitted one.
        relay.announce(parsed.txid);
        return { status: 'different-witness', wtxid: entries.wtxid(slot).slice() as Wtxid };
      }
      const [vsize, fee] = [entries.vsize(slot), entries.fee(slot)];
      return { status: 'in-mempool', vsize, fee, replaced: [], relayedTo: relay.announce(parsed.txid) };
    }
    const result = acceptance.accept(parsed, options);
    if (result.status !== 'accepted') return result as BroadcastResult;
    const { vsize, fee, replaced } = result;
    return { status: 'accepted', vsize, fee, replaced, relayedTo: relay.announce(parsed.txid) };
  }
}

/** Returns the highest fee that a feerate allows, satoshis; null for any. */
function maxFeeOf(parsed: ParsedTransaction, maxFeerate: number | null): number | null {
  return maxFeerate === null ? null : Math.ceil((maxFeerate * Math.ceil(weightOf(parsed) / 4)) / 1000);
}

/** Returns a rejection if a transaction burns more than allowed in one output. */
function checkBurn({ tx }: ParsedTransaction, maxBurn: number): Extract<AcceptResult, { status: 'rejected' }> | null {
  const burns = tx.outputs.some(
    ({ value, scriptPubKey }) => value > maxBurn && (isUnspendable(scriptPubKey) || !hasValidOps(scriptPubKey)),
  );
  if (!burns) return null;
  const debug = 'Unspendable output exceeds maximum configured by user (maxburnamount)';
  const rejection = { kind: 'fee', reason: 'max-burn-exceeded', debug } as const;
  const missingInputs: Outpoint[] = [];
  return { status: 'rejected', rejection, conflicts: [], missingInputs };
}
