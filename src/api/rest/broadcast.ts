import { type ParsedTransaction, parseTransaction } from '../../primitives/block.ts';
import { hashToHex } from '../../primitives/hash.ts';
import { DecodeError, hexToBytes } from '../../util/bytes.ts';
import type { ApiContext } from '../context.ts';
import { ApiError, fail } from '../errors.ts';
import { mediaType } from '../media-type.ts';
import type { ReadEnv } from '../readers/read-env.ts';
import { confirmationsAt, feeOf, txFacts, vsizeOf } from '../readers/tx-facts.ts';
import { feeRate, sat } from '../views/sat.ts';
import { checkValues, invalid } from './input.ts';

/** A transaction as a client sent it, and how much it may cost. */
interface Broadcast {
  readonly tx: ParsedTransaction;
  /** Satoshis per virtual byte; 0 sets no bound. */
  readonly maxFeeRate: number;
  /** Satoshis in outputs that nobody can spend. */
  readonly maxBurn: number;
}

const DEFAULT_MAX_FEE_RATE = 10_000;
/** More than the members of a body can be. */
const MAX_VALUES = 50;
const ACCEPTED = ['application/json', 'text/plain', 'application/octet-stream'];

/** Reads the body of `POST /api/tx`: JSON, bare hex or raw bytes. Throws ApiError. */
export async function readBroadcast(request: Request): Promise<Broadcast> {
  const bytes = new Uint8Array(await request.arrayBuffer());
  const type = mediaType(request);
  if (type === 'application/octet-stream') return { tx: decode(bytes), maxFeeRate: DEFAULT_MAX_FEE_RATE, maxBurn: 0 };
  if (type !== '' && !ACCEPTED.includes(type))
    throw new ApiError('unsupported_media_type', `${type} is not taken here`, { accepted: ACCEPTED });
  const text = new TextDecoder().decode(bytes).trim();
  // Without a type the first character tells.
  if (type === 'application/json' || (type === '' && text.startsWith('{'))) {
    await checkValues(bytes, MAX_VALUES);
    return fromJson(text);
  }
  return { tx: decodeHex(text), maxFeeRate: DEFAULT_MAX_FEE_RATE, maxBurn: 0 };
}

function fromJson(text: string): Broadcast {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return fail('invalid_request', 'the body is not JSON');
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    return fail('invalid_request', 'the body must be an object with the member tx');
  const { tx, hex, rawtx, maxFeeRate = DEFAULT_MAX_FEE_RATE, maxBurn = 0 } = body as Record<string, unknown>;
  const encoded = tx ?? hex ?? rawtx;
  if (typeof encoded !== 'string') return invalid('tx', 'must be the hex of a transaction');
  if (typeof maxFeeRate !== 'number' || maxFeeRate < 0) return invalid('maxFeeRate', 'must be a number from 0');
  if (!Number.isSafeInteger(maxBurn) || (maxBurn as number) < 0) return invalid('maxBurn', 'must be satoshis from 0');
  return { tx: decodeHex(encoded), maxFeeRate, maxBurn: maxBurn as number };
}

function decodeHex(hex: string): ParsedTransaction {
  let bytes: Uint8Array;
  try {
    bytes = hexToBytes(hex);
  } catch (error) {
    return undecodable(error);
  }
  return decode(bytes);
}

function decode(bytes: Uint8Array): ParsedTransaction {
  try {
    return parseTransaction(bytes);
  } catch (error) {
    return undecodable(error);
  }
}

function undecodable(error: unknown): never {
  if (!(error instanceof DecodeError)) throw error;
  return fail('tx_decode_failed', `this is no transaction: ${error.message}`, { reason: error.message });
}

/** What is said of a transaction that is in the chain already; null for any other. */
export function alreadyConfirmed(env: ReadEnv, { tx }: Broadcast) {
  const record = env.reads.txs.byTxid(tx.txid);
  if (!record) return null;
  const facts = txFacts(env, record);
  const vsize = vsizeOf(facts.parsed);
  const fee = feeOf(facts);
  return {
    txid: hashToHex(facts.parsed.txid),
    wtxid: hashToHex(facts.parsed.wtxid),
    status: 'already_confirmed',
    vsize,
    fee: fee === null ? null : sat(fee),
    feeRate: fee === null ? null : feeRate(fee, vsize),
    replaced: [],
    blockHash: hashToHex(facts.place!.block.hash),
    confirmations: confirmationsAt(env.tip, record.position),
    relayedTo: 0,
  };
}

/** Why a transaction that is not in the chain is not taken: without a mempool there is nowhere to put it. */
export function refuseBroadcast({ node, params }: ApiContext, { tip }: Pick<ReadEnv, 'tip'>): never {
  checkNotSyncing(node().status(), params.name, tip.height);
  return fail('feature_disabled', 'this node keeps no mempool', { feature: 'mempool' });
}

/** Throws `syncing` during initial sync, but not on regtest, where blocks are as old as one likes. */
export function checkNotSyncing(
  status: { readonly initialBlockDownload: boolean; readonly headers: number },
  network: string,
  height: number,
): void {
  if (!status.initialBlockDownload || network === 'regtest') return;
  fail('syncing', 'the node is still in its initial sync', { height, headers: status.headers });
}
