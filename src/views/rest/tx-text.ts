import type { TxPosition } from '../../primitives/coin.ts';
import type { Txid } from '../../primitives/hash.ts';
import type { ReadEnv } from '../../queries/read-env.ts';
import { confirmationsAt, type TxFacts } from '../../queries/tx-facts.ts';
import type { ChainState } from '../../storage/chain-reads.ts';
import { HOLE, partsLength, textParts } from '../text-parts.ts';
import { txView } from './tx-view.ts';

/** A confirmed transaction in the form of REST, as the cache keeps it. */
export interface TxText {
  readonly txid: Txid;
  readonly position: TxPosition;
  /** JSON between the values of `outputs`, the confirmations and the tip. */
  readonly parts: readonly string[];
  /** The outputs that were unspent in the chain when the parts were made. */
  readonly outputs: readonly { readonly vout: number; spentInChain: boolean }[];
  /** The state in which `outputs` was compared with the chain. */
  state: ChainState;
  /** The whole JSON of that state and this number of the mempool; null before it was first made. */
  whole: { readonly mempoolSeq: number; readonly json: string } | null;
}

/** Returns the text of a transaction; null if it is unconfirmed, or if its spent outputs are unknown and may become known. */
export function txTextOf(env: ReadEnv, facts: TxFacts): TxText | null {
  const { parsed, isCoinbase, spent, place } = facts;
  if (place === null || (spent === null && !isCoinbase)) return null;
  const view = txView(env, facts, { withMempool: false });
  const unspent = view.vout.filter((output) => output.spent === false);
  const parts = textParts({
    ...view,
    vout: view.vout.map((output) => (output.spent === false ? { ...output, spent: HOLE } : output)),
    status: { ...view.status, confirmations: HOLE },
    tip: HOLE,
  });
  return {
    txid: parsed.txid.slice() as Txid,
    position: place.position,
    parts,
    outputs: unspent.map(({ n }) => ({ vout: n, spentInChain: false })),
    state: env.state,
    whole: null,
  };
}

/** Returns the number of characters that a text takes, with those of its whole JSON. */
export function txTextLength({ parts }: TxText): number {
  return 2 * partsLength(parts);
}

/** Returns the JSON of a transaction in the present state of chain and mempool. */
export function txJson(env: ReadEnv, text: TxText): string {
  const { mempool, state } = env;
  const { whole } = text;
  if (whole?.mempoolSeq === mempool.seq && text.state === state) return whole.json;
  const { txid, parts, outputs, position } = text;
  if (text.state !== state)
    for (const output of outputs) output.spentInChain ||= env.reads.coins.get({ txid, vout: output.vout }) === null;
  text.state = state;
  let json = parts[0]!;
  for (const [i, { vout, spentInChain }] of outputs.entries())
    json += `${spentInChain || mempool.spender({ txid, vout }) !== null}${parts[i + 1]!}`;
  json += confirmationsAt(env.tip, position) + parts[outputs.length + 1]!;
  json += JSON.stringify(state.tipView) + parts[outputs.length + 2]!;
  text.whole = { mempoolSeq: mempool.seq, json };
  return json;
}
