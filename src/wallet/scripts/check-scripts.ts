import { equalBytes } from '../../util/bytes.ts';
import type { ScriptRecord, WalletKeyStore } from '../store/wallet-keys-store.ts';
import { WalletDamage } from '../wallet-error.ts';
import type { WalletScripts } from './wallet-scripts.ts';

/** Scripts that are derived again in one step, a few milliseconds. */
const STEP = 32;

/**
 * Derives every stored script again, some in each step. Throws WalletDamage where one is not its descriptor's, or where
 * one is missing. Rows may be added in between.
 */
export function* checkStoredScripts(scripts: WalletScripts, keys: WalletKeyStore): Generator<void, void> {
  const missing = new Map<number, { readonly end: number; rows: number }>();
  for (const { id, record, descriptor, cached } of scripts.descriptors()) {
    const each = descriptor.expandFromCache(record.rangeStart, cached)?.scripts.length ?? 0;
    missing.set(id, { end: record.filled, rows: each * (record.filled - record.rangeStart) });
  }
  let last: Pick<ScriptRecord, 'script' | 'descriptor'> = { script: new Uint8Array(0), descriptor: 0 };
  for (;;) {
    const rows = keys.scriptsAfter(last, STEP);
    if (rows.length === 0) break;
    for (const { script, descriptor: id, position } of rows) {
      const owned = scripts.findDescriptor(id);
      const made = owned?.descriptor.expandFromCache(position, owned.cached)?.scripts;
      if (!made?.some((each) => equalBytes(each, script)))
        throw new WalletDamage(`a script at index ${position} is not one of descriptor ${id}`);
      const left = missing.get(id);
      if (left && position < left.end) left.rows--;
    }
    last = rows.at(-1)!;
    yield;
  }
  for (const [id, { rows }] of missing)
    if (rows > 0) throw new WalletDamage(`${rows} scripts of descriptor ${id} are missing`);
}
