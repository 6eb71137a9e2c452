import { type SipHashKey, sipHashKeyOf, sipHashWords } from '../crypto/siphash.ts';
import { visitOutputs, visitSpentOutputs } from '../primitives/output-scan.ts';
import { isUnspendable } from '../script/templates.ts';
import { grown, grownRows } from '../util/column.ts';
import { SlotIndex } from '../util/slot-index.ts';

/**
 * The effect of a mempool transaction on a script: satoshis received and spent, and the number of outputs and inputs.
 */
export interface ScriptTouch {
  readonly slot: number;
  readonly received: number;
  readonly sent: number;
  readonly outputs: number;
  readonly inputs: number;
}

const INITIAL = 256;
const PRINT = 8;

/**
 * Index of the mempool transactions that involve a script. Scripts are identified by a keyed 64-bit hash, so that sums
 * need no access to the transactions. Callers that show a transaction must compare the scripts.
 */
export class ScriptIndex {
  readonly #key: SipHashKey = sipHashKeyOf(crypto.getRandomValues(new Uint8Array(16)));
  readonly #words = new Uint32Array(2);
  readonly #print = new Uint8Array(PRINT);
  // Each touch, a pair of transaction and script, has a slot.
  #prints = new Uint8Array(INITIAL * PRINT);
  #owner = new Int32Array(INITIAL);
  #received = new Float64Array(INITIAL);
  #sent = new Float64Array(INITIAL);
  #outputs = new Uint32Array(INITIAL);
  #inputs = new Uint32Array(INITIAL);
  /** Touches of the same script are linked; the first is in the index. */
  #next = new Int32Array(INITIAL);
  #previous = new Int32Array(INITIAL);
  /** Touches of the same transaction are linked. */
  #nextOfOwner = new Int32Array(INITIAL);
  #firstOfOwner = new Int32Array(INITIAL);
  readonly #byPrint = new SlotIndex(PRINT, () => this.#prints);
  readonly #free: number[] = [];
  #slots = 0;

  /** Adds a transaction by its serialization and the undo records of its spent outputs. */
  add(owner: number, raw: Uint8Array, spent: Uint8Array): void {
    while (owner >= this.#firstOfOwner.length)
      this.#firstOfOwner = grown(this.#firstOfOwner, grownRows(this.#firstOfOwner.length));
    this.#firstOfOwner[owner] = -1;
    visitSpentOutputs(spent, (value, script) => {
      const touch = this.#touch(owner, script);
      this.#sent[touch]! += value;
      this.#inputs[touch]!++;
    });
    visitOutputs(raw, (value, script) => {
      // Unspendable outputs are not indexed, as in the address index.
      if (isUnspendable(script)) return;
      const touch = this.#touch(owner, script);
      this.#received[touch]! += value;
      this.#outputs[touch]!++;
    });
  }

  remove(owner: number): void {
    for (let touch = this.#firstOfOwner[owner]!; touch >= 0; touch = this.#nextOfOwner[touch]!) {
      const [previous, next] = [this.#previous[touch]!, this.#next[touch]!];
      if (next >= 0) this.#previous[next] = previous;
      if (previous >= 0) this.#next[previous] = next;
      else {
        this.#byPrint.remove(touch);
        if (next >= 0) this.#byPrint.add(next);
      }
      this.#free.push(touch);
    }
    this.#firstOfOwner[owner] = -1;
  }

  /** Yields all touches of a script, unordered. */
  *touches(script: Uint8Array): Generator<ScriptTouch> {
    for (let touch = this.#find(script); touch >= 0; touch = this.#next[touch]!)
      yield {
        slot: this.#owner[touch]!,
        received: this.#received[touch]!,
        sent: this.#sent[touch]!,
        outputs: this.#outputs[touch]!,
        inputs: this.#inputs[touch]!,
      };
  }

  #find(script: Uint8Array): number {
    sipHashWords(this.#key, script, this.#words);
    const [low, high] = [this.#words[0]!, this.#words[1]!];
    for (let i = 0; i < 4; i++) {
      this.#print[i] = low >>> (i * 8);
      this.#print[i + 4] = high >>> (i * 8);
    }
    return this.#byPrint.find(this.#print);
  }

  /** Returns the touch of a transaction and a script, creating it if needed. */
  #touch(owner: number, script: Uint8Array): number {
    const first = this.#find(script);
    // New touches are inserted after the first, so that the current transaction's touch is among the first two.
    if (first >= 0 && this.#owner[first] === owner) return first;
    const second = first < 0 ? -1 : this.#next[first]!;
    if (second >= 0 && this.#owner[second] === owner) return second;
    const touch = this.#free.pop() ?? this.#slots++;
    if (touch >= this.#owner.length) this.#grow();
    this.#prints.set(this.#print, touch * PRINT);
    this.#owner[touch] = owner;
    this.#received[touch] = 0;
    this.#sent[touch] = 0;
    this.#outputs[touch] = 0;
    this.#inputs[touch] = 0;
    this.#nextOfOwner[touch] = this.#firstOfOwner[owner]!;
    this.#firstOfOwner[owner] = touch;
    this.#previous[touch] = first;
    this.#next[touch] = second;
    if (first < 0) this.#byPrint.add(touch);
    else {
      this.#next[first] = touch;
      if (second >= 0) this.#previous[second] = touch;
    }
    return touch;
  }

  #grow(): void {
    const rows = grownRows(this.#owner.length);
    this.#prints = grown(this.#prints, rows * PRINT);
    this.#owner = grown(this.#owner, rows);
    this.#received = grown(this.#received, rows);
    this.#sent = grown(this.#sent, rows);
    this.#outputs = grown(this.#outputs, rows);
    this.#inputs = grown(this.#inputs, rows);
    this.#next = grown(this.#next, rows);
    this.#previous = grown(this.#previous, rows);
    this.#nextOfOwner = grown(this.#nextOfOwner, rows);
  }
}
