import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { type MempoolChange, withoutBytes } from '../../src/mempool/changes.ts';
import { Entries, type NewEntry } from '../../src/mempool/entries.ts';
import { type EntryColumns, reservedColumns } from '../../src/mempool/entry-columns.ts';
import { MempoolMirror } from '../../src/mempool/mirror.ts';
import { UpdateProgress } from '../../src/mempool/update-progress.ts';
import type { Txid } from '../../src/primitives/hash.ts';
import { type Transaction, transactionBytes } from '../../src/primitives/transaction.ts';
import { writeUndoRecord } from '../../src/primitives/undo.ts';
import { ByteWriter } from '../../src/util/bytes.ts';
import { ManualClock } from '../lib/manual-clock.ts';
import { parsed } from '../lib/mempool-fixture.ts';

/** A transaction that no other number gives, with an output script of its own. */
function transaction(n: number, inputs: number, bytes: number): Transaction {
  const txid = new Uint8Array(32) as Txid;
  new DataView(txid.buffer).setUint32(0, n, true);
  return {
    version: 2,
    locktime: n,
    inputs: Array.from({ length: inputs }, (_, vout) => ({
      prevout: { txid, vout },
      scriptSig: new Uint8Array(bytes).fill(n),
      sequence: 1,
      witness: [],
    })),
    outputs: [{ value: BigInt(1000 + n), scriptPubKey: script(n) }],
  };
}

const script = (n: number) => Uint8Array.of(0, 20, ...new Uint8Array(16), n, n >>> 8, n >>> 16, n >>> 24);

function entryOf(tx: Transaction, n: number): NewEntry {
  const w = new ByteWriter();
  for (const _ of tx.inputs) writeUndoRecord(w, n, BigInt(n), script(n + 1));
  return {
    ...{ parsed: parsed(tx), spent: w.finish().slice(), fee: n, feeDelta: 0, weight: 4 * n, vsize: n, sigopCost: 1 },
    ...{ time: n, height: n, locked: false },
  };
}

const FACTS = { silent: false, unbroadcast: false, replaced: [] } as const;

/** The owner of the entries, and a mirror that receives its updates later, in its own time. */
class Pair {
  readonly progress = new UpdateProgress();
  readonly entries: Entries;
  readonly mirror: MempoolMirror;
  readonly present = new Map<number, Transaction>();
  readonly sent: { changes: ReturnType<typeof withoutBytes>; shared: ReturnType<Entries['drainShared']> }[] = [];
  #changes: MempoolChange[] = [];
  #seq = 0;
  #end = 0;

  /** `columns` are known to both from the start; without any, the first update has them. */
  constructor(columns: EntryColumns | null) {
    this.entries = new Entries({ progress: this.progress, ...(columns && { columns }) });
    this.mirror = new MempoolMirror(new ManualClock(0), columns);
  }

  add(inputs: number, bytes: number): void {
    const n = ++this.#seq;
    let slot = 0;
    while (slot < this.#end && !this.entries.isFree(slot)) slot++;
    this.#end = Math.max(this.#end, slot + 1);
    const tx = transaction(n, inputs, bytes);
    const entry = entryOf(tx, n);
    this.entries.add(slot, entry);
    this.entries.setSeq(slot, n);
    this.present.set(slot, tx);
    const { parsed: of, locked: _, ...facts } = entry;
    this.#changes.push({ ...facts, ...FACTS, kind: 'added', seq: n, data: '{}', slot, raw: of.raw });
  }

  remove(pick: number): void {
    const slot = [...this.present.keys()][pick % this.present.size];
    if (slot === undefined) return;
    const txid = this.entries.txid(slot).slice();
    this.entries.remove(slot);
    this.present.delete(slot);
    const seq = ++this.#seq;
    this.#changes.push({
      kind: 'removed',
      slot,
      seq,
      data: '{}',
      silent: false,
      txid,
      reason: 'block',
      replacedBy: null,
    });
  }

  send(): void {
    this.sent.push({ changes: withoutBytes(this.#changes), shared: this.entries.drainShared() });
    this.#changes = [];
    this.progress.recordSent();
  }

  /** The mirror applies the next update; each change must show the right transaction at that time. */
  receive(): void {
    const update = this.sent.shift();
    if (!update) return;
    if (update.shared) this.mirror.share(update.shared);
    for (const change of update.changes) {
      this.mirror.apply(change);
      if (change.kind !== 'row') continue;
      const seen = this.mirror.entryAt(change.slot);
      expect(seen.parsed.tx.locktime).toBe(change.seq);
      expect([seen.fee, seen.vsize, seen.time, seen.seq]).toEqual([change.seq, change.seq, change.seq, change.seq]);
    }
    this.progress.recordApplied(1);
  }
}

/** Makes the columns that both sides know from the start, if any; some are too small for the transactions. */
const KNOWN_COLUMNS = fc.constantFrom(
  () => null,
  () => reservedColumns(7000),
  () => reservedColumns(300_000),
);

test('a mirror that shares the entries sees each transaction until it has applied the removal, however late', () => {
  const step = fc.oneof(
    { weight: 5, arbitrary: fc.record({ inputs: fc.integer({ min: 1, max: 4 }), bytes: fc.nat(300) }) },
    { weight: 3, arbitrary: fc.record({ remove: fc.nat() }) },
    { weight: 3, arbitrary: fc.constant('send' as const) },
    { weight: 2, arbitrary: fc.constant('receive' as const) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), KNOWN_COLUMNS, (steps, columns) => {
      const pair = new Pair(columns());
      for (const each of steps)
        if (each === 'send') pair.send();
        else if (each === 'receive') pair.receive();
        else if ('remove' in each) pair.remove(each.remove);
        else pair.add(each.inputs, each.bytes);
      pair.send();
      while (pair.sent.length > 0) pair.receive();
      expect(pair.mirror.entries.count).toBe(pair.present.size);
      for (const [slot, tx] of pair.present) {
        const { txid } = parsed(tx);
        expect(pair.mirror.entries.find(txid)).toBe(slot);
        expect(pair.mirror.source(txid)?.raw.toHex()).toBe(transactionBytes(tx).toHex());
        expect(pair.mirror.entries.spender(tx.inputs.at(-1)!.prevout)).toBe(slot);
        expect(pair.mirror.entries.spendersOf(tx.inputs[0]!.prevout.txid)).toEqual([slot]);
        expect(pair.mirror.scriptSums(tx.outputs[0]!.scriptPubKey).received).toBe(Number(tx.outputs[0]!.value));
      }
    }),
    { numRuns: 60 },
  );
});

test.each([
  ['without columns from the start', () => null],
  ['with columns from the start', () => reservedColumns(70_000)],
])('columns and segments that are added later reach the mirror with the rows that need them, %s', (_, columns) => {
  const pair = new Pair(columns());
  for (let i = 0; i < 400; i++) {
    pair.add(2, 200);
    if (i % 50 === 49) pair.send();
  }
  pair.add(1, 200_000);
  pair.send();
  while (pair.sent.length > 0) pair.receive();
  expect(pair.mirror.entries.count).toBe(401);
  for (const [slot, tx] of pair.present)
    expect(pair.mirror.entries.raw(slot).toHex()).toBe(transactionBytes(tx).toHex());
});
