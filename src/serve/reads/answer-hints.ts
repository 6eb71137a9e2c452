import { sha256 } from '../../crypto/hash-functions.ts';
import type { RowNeeds } from './row-needs.ts';

const TX_ROUTES = new Set(['tx', 'tx-hex', 'tx-raw', 'tx-status', 'tx-cpfp', 'tx-outspends', 'tx-outspend']);
const BLOCK_BODIES = new Set(['block-raw', 'block-hex']);

/** The members of inputs that hints are made of. */
interface HintInput {
  readonly txid?: string;
  readonly hash?: string;
  readonly summary?: boolean;
  readonly limit?: number;
  readonly cursor?: string | null;
  readonly script?: Uint8Array;
  readonly scripts?: readonly { readonly script: Uint8Array }[];
}

/**
 * Returns the rows that an answer of an endpoint will read for sure, as far as its input names them, so that they are
 * fetched together with the first ones that it lacks.
 */
export function hintsOf(name: string, input: unknown): RowNeeds {
  if (typeof input !== 'object' || input === null) return {};
  const { txid, hash, summary, limit, cursor, script, scripts } = input as HintInput;
  if (txid !== undefined && TX_ROUTES.has(name)) return { txids: [txid] };
  if (script !== undefined && name.startsWith('address')) return { totals: [sha256(script).toHex()] };
  if (scripts !== undefined && name === 'address-utxos')
    return { totals: scripts.map((each) => sha256(each.script).toHex()) };
  if (hash === undefined) return {};
  if (name === 'block')
    return { hashes: [hash], blockPage: { hash, from: 0, count: 1 }, ...(!summary && { blockTxids: { hash } }) };
  if (name === 'block-txids') return { hashes: [hash], blockTxids: { hash } };
  if (name === 'block-txs' && cursor === null && limit !== undefined)
    return { hashes: [hash], blockPage: { hash, from: 0, count: limit } };
  return BLOCK_BODIES.has(name) ? { hashes: [hash] } : {};
}
