import { ApiError, fail } from '../http/errors.ts';
import { checkValues, invalid } from '../http/input.ts';
import { mediaType } from '../http/media-type.ts';
import { type ParsedTransaction, parseTransaction } from '../primitives/block.ts';
import type { Broadcast } from '../queries/broadcast.ts';
import { DecodeError, hexToBytes } from '../util/bytes.ts';
import { parseJsonText, readJsonBody } from './json-body.ts';

const DEFAULT_MAX_FEE_RATE = 10_000;
/** More than the number of values in any valid body. */
const MAX_VALUES = 50;
const ACCEPTED = ['application/json', 'text/plain', 'application/octet-stream'];
/** Maximum number of transactions in one request. */
const MAX_TXS = 25;
/** Maximum size of a body of transactions in hex. */
export const TXS_BODY = 4 * 1024 ** 2;

/** Reads the body of `POST /api/tx`: JSON, bare hex or raw bytes. Throws ApiError. */
export async function readBroadcast(request: Request): Promise<Broadcast> {
  const bytes = new Uint8Array(await request.arrayBuffer());
  const type = mediaType(request);
  if (type === 'application/octet-stream') return { tx: decode(bytes), maxFeeRate: DEFAULT_MAX_FEE_RATE, maxBurn: 0 };
  if (type !== '' && !ACCEPTED.includes(type))
    throw new ApiError('unsupported_media_type', `unsupported media type ${type}`, { accepted: ACCEPTED });
  const text = new TextDecoder().decode(bytes).trim();
  // Without a media type the first character decides.
  if (type === 'application/json' || (type === '' && text.startsWith('{'))) {
    await checkValues(bytes, MAX_VALUES);
    return fromJson(text);
  }
  return { tx: decodeHex(text), maxFeeRate: DEFAULT_MAX_FEE_RATE, maxBurn: 0 };
}

function fromJson(text: string): Broadcast {
  const body = parseJsonText(text);
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    return fail('invalid_request', 'the body must be an object with the member tx');
  const { tx, hex, rawtx, maxFeeRate = DEFAULT_MAX_FEE_RATE, maxBurn = 0 } = body as Record<string, unknown>;
  const encoded = tx ?? hex ?? rawtx;
  if (typeof encoded !== 'string') return invalid('tx', 'must be the hex of a transaction');
  if (typeof maxFeeRate !== 'number' || maxFeeRate < 0) return invalid('maxFeeRate', 'must be a number of at least 0');
  if (!Number.isSafeInteger(maxBurn) || (maxBurn as number) < 0)
    return invalid('maxBurn', 'must be a number of satoshis of at least 0');
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
  return fail('tx_decode_failed', `invalid transaction: ${error.message}`, { reason: error.message });
}

/** Returns the transactions of a body `{"txs":["hex",…]}`. Throws ApiError. */
export async function readTxs(request: Request): Promise<ParsedTransaction[]> {
  const body = await readJsonBody(request, {
    types: ['application/json', 'text/plain'],
    named: ['application/json'],
    maxValues: MAX_VALUES,
  });
  const txs = typeof body === 'object' && body !== null && 'txs' in body ? body.txs : null;
  if (!Array.isArray(txs) || txs.length === 0 || txs.length > MAX_TXS)
    return invalid('txs', `must be a list of 1 to ${MAX_TXS} transactions`);
  return txs.map((hex: unknown) =>
    typeof hex === 'string' ? decodeHex(hex) : invalid('txs', 'must be a list of hex texts'),
  );
}
