import { sha256 } from '../../crypto/hash-functions.ts';
import type { TxPosition } from '../../primitives/coin.ts';
import type { ScriptRows } from '../../storage/chain-source.ts';
import type { HistoryRecord, ScriptCoin, ScriptKey, ScriptTotals } from '../../storage/script-store.ts';
import { type AnswerRows, pageKey } from './chain-rows.ts';
import { historyKey } from './fetch-plan.ts';
import { RowsMissing } from './row-needs.ts';

type HistoryRange = Parameters<ScriptRows['history']>[1];

/** The history and the unspent outputs of scripts in a sink. The key of a script is its SHA-256. */
export class SinkScripts implements ScriptRows {
  readonly #rows: AnswerRows;
  /** Keys of the scripts that the answer has announced, and those of which it has read a page. */
  readonly #expected = new Set<string>();
  readonly #begun = { history: new Set<string>(), coins: new Set<string>() };

  constructor(rows: AnswerRows) {
    this.#rows = rows;
  }

  /** Notes that the answer reads these scripts, and returns the keys of those whose totals have to be fetched. */
  expect(scripts: readonly Uint8Array[]): string[] {
    const keys = scripts.map((script) => this.keyOf(script).toHex());
    for (const key of keys) this.#expected.add(key);
    return [...new Set(keys)].filter((key) => this.#rows.get('totals', key) === undefined);
  }

  keyOf(script: Uint8Array): ScriptKey {
    return sha256(script) as unknown as ScriptKey;
  }

  totals(script: Uint8Array): ScriptTotals | null {
    const key = this.keyOf(script).toHex();
    const totals = this.#rows.get('totals', key);
    if (totals === undefined) throw new RowsMissing({ totals: [key] });
    return totals;
  }

  history(scriptKey: ScriptKey, range: HistoryRange): HistoryRecord[] {
    if (range.limit <= 0) return [];
    const key = scriptKey.toHex();
    const records = this.#rows.get('history', historyKey(key, range));
    if (records === undefined) {
      const keys = this.#keysWith(key, 'history', (other) => historyKey(other, range));
      throw new RowsMissing({ history: { keys, ...range, withTxs: this.#expected.size <= 1 } });
    }
    this.#begun.history.add(key);
    return [...records];
  }

  coins(scriptKey: ScriptKey, { position, vout }: { position: TxPosition; vout: number }, limit: number): ScriptCoin[] {
    if (limit <= 0) return [];
    const key = scriptKey.toHex();
    const coins = this.#rows.get('coins', pageKey(key, position, vout, limit));
    if (coins === undefined) {
      const keys = this.#keysWith(key, 'coins', (other) => pageKey(other, position, vout, limit));
      throw new RowsMissing({ coins: { keys, position, vout, limit } });
    }
    this.#begun.coins.add(key);
    return [...coins];
  }

  coinbaseValueFrom(scriptKey: ScriptKey, height: number): number {
    const key = scriptKey.toHex();
    const value = this.#rows.get('coinbases', pageKey(key, height));
    if (value === undefined) throw new RowsMissing({ coinbases: { key, height } });
    return value;
  }

  /** Returns a key, and those of the other announced scripts whose first page is the same one, and is not there yet. */
  #keysWith(key: string, kind: 'history' | 'coins', keyOfPage: (key: string) => string): string[] {
    if (this.#begun[kind].has(key)) return [key];
    const others = [...this.#expected].filter(
      (other) =>
        other !== key &&
        !this.#begun[kind].has(other) &&
        this.#rows.get('totals', other) != null &&
        this.#rows.get(kind, keyOfPage(other)) === undefined,
    );
    return [key, ...others];
  }
}
