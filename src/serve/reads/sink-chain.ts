import { positionHeight } from '../../primitives/coin.ts';
import { hashToHex, type Txid } from '../../primitives/hash.ts';
import { rawBlockOf } from '../../sink/stale-blocks.ts';
import type { ChainState } from '../../storage/chain-reads.ts';
import type { ChainSource } from '../../storage/chain-source.ts';
import type { ExpectedRows } from '../../storage/expected-rows.ts';
import type { HeaderRecord } from '../../storage/header-store.ts';
import type { CoveredBlock, IndexName } from '../../storage/index-store.ts';
import type { Run } from '../../storage/runs/run.ts';
import type { TxRecord } from '../../storage/tx-store.ts';
import { type AnswerRows, pageKey } from './chain-rows.ts';
import { notInSink } from './not-in-sink.ts';
import { type RowNeeds, RowsMissing } from './row-needs.ts';
import { SinkCoins } from './sink-coins.ts';
import { SinkHeaders } from './sink-headers.ts';
import { SinkScripts } from './sink-scripts.ts';
import { SinkTxs } from './sink-txs.ts';

/**
 * The chain of a sink at one tip, as an answer reads it: rows that were fetched before. Where one is missing, RowsMissing is
 * thrown, and the answer is made again when it was fetched. One object makes one attempt at one answer.
 */
export class SinkChain implements ChainSource {
  /** There are no files. */
  readonly dir = '';
  readonly headers: SinkHeaders;
  readonly txs: SinkTxs;
  readonly coins: SinkCoins;
  readonly scripts: SinkScripts;
  readonly indexes: ChainSource['indexes'];
  readonly spenders: ChainSource['spenders'];
  readonly #rows: AnswerRows;
  readonly #state: ChainState;

  constructor(rows: AnswerRows, state: ChainState) {
    this.#rows = rows;
    this.#state = state;
    this.headers = new SinkHeaders(rows, state.tip);
    this.txs = new SinkTxs(rows, this.headers);
    this.coins = new SinkCoins(rows, this.txs);
    this.scripts = new SinkScripts(rows);
    const { tip, live } = state;
    this.indexes = {
      live: () => live,
      covered: (name: IndexName): CoveredBlock | null =>
        live.has(name) ? { hash: tip.hash, height: tip.height } : null,
    };
    this.spenders = {
      candidates({ txid, vout }) {
        const known = rows.get('spenders', pageKey(txid.toHex(), vout));
        if (known === undefined) throw new RowsMissing({ spent: [{ txid: hashToHex(txid), vout }] });
        return [...known];
      },
    };
  }

  get events(): never {
    return notInSink('events at this place');
  }

  get meta(): never {
    return notInSink('settings of a node');
  }

  get filters(): never {
    return notInSink('block filters');
  }

  get coinStats(): never {
    return notInSink('statistics of the UTXO set');
  }

  openCoinRuns(): Run[] {
    return notInSink('runs of the UTXO set');
  }

  snapshot<T>(read: () => T): T {
    return read();
  }

  snapshotWithState<T>(read: (state: ChainState, open: () => void) => T): T {
    return read(this.#state, () => {});
  }

  state(): ChainState {
    return this.#state;
  }

  tip(): HeaderRecord {
    return this.#state.tip;
  }

  /** Null: a sink has all blocks. */
  pruneHeight(): number | null {
    return null;
  }

  isCovered(index: IndexName): boolean {
    return this.#state.live.has(index);
  }

  firstHeightSince(time: number): number {
    const height = this.#rows.get('since', time);
    if (height === undefined) throw new RowsMissing({ since: time });
    return height ?? Math.max(1, this.#state.tip.height);
  }

  expectRows({ heights, txids, transactions, scripts, spent }: ExpectedRows): void {
    const rows = this.#rows;
    const blocks = heights?.filter((height) => rows.get('block', height) === undefined) ?? [];
    const places = txids?.filter((txid) => rows.get('position', txid.toHex()) === undefined) ?? [];
    const whole = transactions?.filter((position) => rows.get('tx', position) === undefined) ?? [];
    const totals = scripts ? this.scripts.expect(scripts) : [];
    const spends =
      spent?.filter(({ txid, vout }) => rows.get('spenders', pageKey(txid.toHex(), vout)) === undefined) ?? [];
    const needs: RowNeeds = {
      ...(blocks.length > 0 && { blocks: blocks.map((height) => [height, height] as const) }),
      ...(places.length > 0 && { places: places.map((txid) => hashToHex(txid as Txid)) }),
      ...(whole.length > 0 && { transactions: whole }),
      ...(totals.length > 0 && { totals }),
      ...(spends.length > 0 && { spent: spends.map(({ txid, vout }) => ({ txid: hashToHex(txid), vout })) }),
    };
    if (Object.keys(needs).length > 0) throw new RowsMissing(needs);
  }

  rawBlock(block: HeaderRecord): Uint8Array | null {
    if (!this.headers.isActive(block)) return this.#ofStale('raw', block);
    const raw = this.#rows.get('raw', block.height);
    if (raw === undefined) throw new RowsMissing({ rawBlock: block.height });
    return rawBlockOf(block.header, block.stats!.txCount, raw);
  }

  rawBlockPart(block: HeaderRecord, from: number, length: number): Uint8Array | null {
    return this.rawBlock(block)?.subarray(from, from + length) ?? null;
  }

  rawUndo(block: HeaderRecord): Uint8Array | null {
    if (block.undo === null) return null;
    if (!this.headers.isActive(block)) return this.#ofStale('undo', block);
    const undo = this.#rows.get('undo', block.height);
    if (undo === undefined) throw new RowsMissing({ rawUndo: block.height });
    return undo;
  }

  #ofStale(kind: 'raw' | 'undo', block: HeaderRecord): Uint8Array {
    const hash = hashToHex(block.hash);
    const found = this.#rows.get(kind, hash);
    if (found === undefined) throw new RowsMissing({ staleBlock: hash });
    return found;
  }

  sizeOfTx({ position }: TxRecord): number {
    return this.txs.placeAt(position)!.size;
  }

  rawTx({ position }: TxRecord): { block: HeaderRecord; raw: Uint8Array } {
    return { block: this.#blockOf(position), raw: this.txs.wholeAt(position).parsed.raw };
  }

  transaction({ position }: TxRecord): ReturnType<ChainSource['transaction']> {
    const { parsed, spent } = this.txs.wholeAt(position);
    return { block: this.#blockOf(position), parsed, spent: [...spent] };
  }

  #blockOf(position: number): HeaderRecord {
    return this.headers.byHeight(positionHeight(position))!;
  }
}
