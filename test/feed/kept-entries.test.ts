import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { KeptEntries } from '../../src/feed/kept-entries.ts';
import type { KeptEntry, LogEntry } from '../../src/feed/log-entry.ts';
import type { TxSource } from '../../src/mempool/mirror.ts';

/** A mempool, the entries of its log, and the same entries as plain objects. */
class Fixture {
  readonly kept: KeptEntries;
  readonly expected: LogEntry[] = [];
  readonly slots = new Map<number, { seq: number; tx: TxSource }>();
  readonly #pending = new Map<number, TxSource>();
  #seq = 0;

  constructor(maxBytes = 1 << 20) {
    this.kept = new KeptEntries({
      maxBytes,
      unconfirmedAt: (slot, seq) => {
        const entry = this.slots.get(slot);
        return entry?.seq === seq ? entry.tx : null;
      },
      pendingRemoval: (seq) => this.#pending.get(seq) ?? null,
    });
  }

  add(slot: number, bytes: Uint8Array): void {
    if (this.slots.has(slot)) return;
    const tx = { raw: bytes, spent: bytes.slice(1) };
    const entry = this.#entry('newTransaction', { ...tx, slot, feeRate: bytes.length / 7 });
    this.slots.set(slot, { seq: entry.seq, tx });
    this.#keep(entry);
  }

  /** Removes a transaction. A reader that comes between the removal and its entry finds the transaction as well. */
  remove(slot: number): void {
    const found = this.slots.get(slot);
    if (!found) return;
    const entry = this.#entry('transactionRemoved', { ...found.tx, reason: 'replaced' });
    this.slots.delete(slot);
    this.#pending.set(entry.seq, found.tx);
    this.kept.linkRemoval(found.seq, entry.seq);
    this.check();
    this.#pending.delete(entry.seq);
    this.#keep(entry);
  }

  note(text: string): void {
    this.#keep(this.#entry('walletAbandoned', { data: JSON.stringify({ text }) }));
  }

  evict(): void {
    if (this.kept.length === 0) return;
    const { seq, type } = this.expected.shift()!;
    expect(this.kept.evictFirst()).toEqual({ seq, type });
  }

  check(): void {
    const { kept, expected } = this;
    expect(kept.length).toBe(expected.length);
    for (const [i, entry] of expected.entries()) {
      expect(kept.entryAt(i)).toEqual(entry);
      expect(kept.find(entry.seq - 1)).toBe(i);
      expect(kept.timeAt(i)).toBe(entry.seq * 2);
    }
    if (kept.length === 0) expect(Math.round(kept.bytes)).toBe(0);
  }

  #entry(type: string, facts: Partial<KeptEntry>): KeptEntry {
    // Numbers have gaps, since those of the chain and of silent changes lie between them.
    this.#seq += 3;
    const data = `{"cursor":"c${this.#seq}","seq":${this.#seq}}`;
    return { seq: this.#seq, type, data, raw: null, spent: null, feeRate: 0, reason: null, slot: -1, ...facts };
  }

  #keep(entry: KeptEntry): void {
    const { seq, type, data, raw, spent, feeRate, reason } = entry;
    this.kept.add(entry, seq * 2);
    const text = `{"type":"${type}","data":${data}}`;
    this.expected.push({ seq, type, text, tx: raw && spent ? { raw, spent } : null, feeRate, reason });
  }
}

test('packed entries are those that were added, wherever their transactions are', () => {
  const slot = fc.nat(400);
  const operation = fc.oneof(
    {
      weight: 8,
      arbitrary: fc.tuple(fc.constant('add' as const), slot, fc.uint8Array({ minLength: 1, maxLength: 40 })),
    },
    { weight: 3, arbitrary: fc.tuple(fc.constant('remove' as const), slot) },
    { weight: 1, arbitrary: fc.tuple(fc.constant('note' as const), fc.string({ unit: 'grapheme', maxLength: 9 })) },
    { weight: 2, arbitrary: fc.constant(['evict'] as const) },
  );
  fc.assert(
    fc.property(fc.array(operation, { minLength: 600, maxLength: 900, size: 'max' }), (operations) => {
      const it = new Fixture();
      // Few removals at first, so that pages fill.
      for (const [i, op] of operations.entries())
        if (op[0] === 'add') it.add(op[1], op[2]);
        else if (op[0] === 'note') it.note(op[1]);
        else if (op[0] === 'evict') it.evict();
        else if (i > 450) it.remove(op[1]);
      it.check();
      while (it.kept.length > 0) it.evict();
      it.check();
    }),
    { numRuns: 5 },
  );
});

test('the transaction of an event that is no longer in the mempool is kept with the event', () => {
  const it = new Fixture();
  it.add(1, Uint8Array.of(1, 2, 3));
  const { seq, tx } = it.slots.get(1)!;
  // The slot has another transaction, and no removal was reported.
  it.slots.set(1, { seq: seq + 1, tx: { raw: Uint8Array.of(9), spent: Uint8Array.of(9) } });
  for (let i = 0; i < 400; i++) it.note('');
  expect(it.kept.entryAt(0).tx).toEqual(tx);
});

test('400 events of transactions in the mempool take less than 200 bytes each', () => {
  const it = new Fixture();
  for (let slot = 0; slot < 400; slot++) it.add(slot, crypto.getRandomValues(new Uint8Array(1000)));
  const packed = 128;
  const before = it.kept.bytes;
  for (let i = 0; i < packed; i++) it.kept.evictFirst();
  expect((before - it.kept.bytes) / packed).toBeLessThan(200);
});

test('the pages that are open for readers count, and take at most an eighth of the limit and one page', () => {
  const limit = 1 << 20;
  const it = new Fixture(limit);
  for (let slot = 0; slot < 1000; slot++) {
    it.add(slot, crypto.getRandomValues(new Uint8Array(slot < 500 ? 100 : 1000)));
    // Every transaction is kept with its event.
    it.slots.clear();
  }
  const closed = it.kept.bytes;
  const pageAt = (page: number) => it.kept.entryAt(page * 64);
  pageAt(0);
  const small = it.kept.bytes - closed;
  // A page has the text, the bytes and the undo data of 64 entries.
  expect(small).toBeGreaterThan(64 * 200);
  let most = 0;
  for (let round = 0; round < 3; round++)
    for (let page = 0; page < 11; page++) {
      pageAt(page);
      most = Math.max(most, it.kept.bytes - closed);
    }
  expect(most).toBeGreaterThan(64 * 2000);
  expect(most).toBeLessThanOrEqual(limit / 8 + 64 * 2100);
  // Eight small pages fit.
  for (let page = 0; page < 7; page++) pageAt(page);
  expect(it.kept.bytes - closed).toBeGreaterThan(4 * small);
  while (it.kept.length > 0) it.kept.evictFirst();
  expect(Math.round(it.kept.bytes)).toBe(0);
});
