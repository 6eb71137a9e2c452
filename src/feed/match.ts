import type { ParsedTransaction } from '../primitives/block.ts';
import type { Coin } from '../primitives/coin.ts';
import { hashToHex } from '../primitives/hash.ts';
import { outpointBytes, outpointPrint, scriptPrint, txidPrint, type WatchFilter } from './watch-filter.ts';

/** Payments of a transaction to one script, and its spends from it. */
export interface ScriptFlow {
  /** Number of the first input (from 0) or output (behind the inputs) with this script; orders the events. */
  readonly slot: number;
  /** Hex. */
  readonly script: string;
  /** Satoshis. */
  readonly received: number;
  readonly sent: number;
  /** JSON texts of what REST shows as `outputs` and `inputs`. */
  readonly outputs: string;
  readonly inputs: string;
}

/** A transaction that may touch what is watched. */
export interface TxTouches {
  /** In its block; 0 in the mempool. */
  readonly index: number;
  /** Display order. */
  readonly txid: string;
  readonly scripts: readonly ScriptFlow[];
  readonly outpoints: readonly OutpointTouch[];
}

/** A watched outpoint that a transaction spends. */
interface OutpointTouch {
  /** Number of the input. */
  readonly slot: number;
  /** `txid:n`. */
  readonly outpoint: string;
  /** Satoshis. */
  readonly value: number;
}

/** Returns null if nothing of the transaction can be watched. `spent` is null for a coinbase. */
export function matchTx(
  { tx, txid }: ParsedTransaction,
  spent: readonly Coin[] | null,
  index: number,
  filter: WatchFilter,
): TxTouches | null {
  const { seed } = filter;
  const scripts = new Map<string, Touching>();
  const outpoints: OutpointTouch[] = [];
  const touching = (script: Uint8Array, slot: number): Touching => {
    const hex = script.toHex();
    let touch = scripts.get(hex);
    if (!touch) scripts.set(hex, (touch = { slot, received: 0, sent: 0, outputs: [], inputs: [] }));
    return touch;
  };
  for (let n = 0; spent && n < spent.length; n++) {
    const { value, scriptPubKey } = spent[n]!.output;
    const { prevout } = tx.inputs[n]!;
    if (filter.has(scriptPrint(scriptPubKey, seed))) {
      const touch = touching(scriptPubKey, n);
      touch.sent += Number(value);
      touch.inputs.push({ n, txid: hashToHex(prevout.txid), vout: prevout.vout, value: Number(value) });
    }
    if (filter.outpoints && filter.has(outpointPrint(outpointBytes(prevout.txid, prevout.vout), seed)))
      outpoints.push({ slot: n, outpoint: `${hashToHex(prevout.txid)}:${prevout.vout}`, value: Number(value) });
  }
  for (let n = 0; n < tx.outputs.length; n++) {
    const { value, scriptPubKey } = tx.outputs[n]!;
    if (!filter.has(scriptPrint(scriptPubKey, seed))) continue;
    const touch = touching(scriptPubKey, tx.inputs.length + n);
    touch.received += Number(value);
    touch.outputs.push({ n, value: Number(value) });
  }
  const named = filter.txids && filter.has(txidPrint(txid, seed));
  if (scripts.size === 0 && outpoints.length === 0 && !named) return null;
  return {
    index,
    txid: hashToHex(txid),
    scripts: Array.from(scripts, ([script, { slot, received, sent, outputs, inputs }]) => ({
      slot,
      script,
      received,
      sent,
      outputs: JSON.stringify(outputs),
      inputs: JSON.stringify(inputs),
    })),
    outpoints,
  };
}

interface Touching {
  slot: number;
  received: number;
  sent: number;
  outputs: { n: number; value: number }[];
  inputs: { n: number; txid: string; vout: number; value: number }[];
}

/** Encodes the touches as one line of text, which the main thread decodes faster than JSON. */
export function touchesToLine({ index, txid, scripts, outpoints }: TxTouches): string {
  const fields: (string | number)[] = [index, txid, scripts.length];
  for (const { slot, script, received, sent, outputs, inputs } of scripts)
    fields.push(slot, script, received, sent, outputs, inputs);
  for (const { slot, outpoint, value } of outpoints) fields.push(slot, outpoint, value);
  return fields.join('\t');
}

export function touchesFromLine(line: string): TxTouches {
  const fields = line.split('\t');
  let at = 0;
  const text = () => fields[at++]!;
  const number = () => Number(fields[at++]);
  const index = number();
  const txid = text();
  const scripts = Array.from({ length: number() }, () => ({
    slot: number(),
    script: text(),
    received: number(),
    sent: number(),
    outputs: text(),
    inputs: text(),
  }));
  const outpoints: OutpointTouch[] = [];
  while (at < fields.length) outpoints.push({ slot: number(), outpoint: text(), value: number() });
  return { index, txid, scripts, outpoints };
}
