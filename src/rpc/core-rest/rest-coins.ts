import { coins } from '../../http/core-number.ts';
import { coinHeight } from '../../primitives/coin.ts';
import { readCompactSize, writeCompactSize } from '../../primitives/compact-size.ts';
import { hashFromHex, hashToHex, type Txid } from '../../primitives/hash.ts';
import { decodeOutpoint, type Outpoint } from '../../primitives/outpoint.ts';
import { encodeOutput, type TxOutput } from '../../primitives/transaction.ts';
import type { Answer } from '../../queries/answer.ts';
import type { ReadEnv } from '../../queries/read-env.ts';
import { ByteReader, ByteWriter, DecodeError } from '../../util/bytes.ts';
import { coreScript } from '../../views/core/core-script.ts';
import { encodedReply, jsonReply, noFormat, restFail } from './rest-reply.ts';
import { digitsValue, type RestTarget } from './rest-target.ts';

const MAX_OUTPOINTS = 15;
const MAX_UINT32 = 2 ** 32 - 1;
const HASH = /^[0-9a-fA-F]{64}$/;
const EMPTY = 'Error: empty request';
/** Core's MEMPOOL_HEIGHT, the height of coins of the mempool. */
const MEMPOOL_HEIGHT = 0x7fff_ffff;

interface AskedCoins {
  readonly checkMempool: boolean;
  readonly outpoints: readonly Outpoint[];
}

/** Returns which outpoints are unspent, with their outputs (BIP-64). `body` is that of the request. */
export function coinsReply(env: ReadEnv, { param, format }: RestTarget, body: Uint8Array): Answer {
  const { checkMempool, outpoints } = askedCoins(param, format, body);
  if (outpoints.length > MAX_OUTPOINTS)
    return restFail(400, `Error: max outpoints exceeded (max: ${MAX_OUTPOINTS}, tried: ${outpoints.length})`);
  const found = outpoints.map((outpoint) => findCoin(env, outpoint, checkMempool));
  const unspent = found.filter((coin) => coin !== null);
  const { height, hash } = env.tip;
  if (format === 'json')
    return jsonReply({
      chainHeight: height,
      chaintipHash: hashToHex(hash),
      bitmap: found.map((coin) => (coin === null ? '0' : '1')).join(''),
      utxos: unspent.map((coin) => ({
        height: coin.height,
        value: coins(coin.output.value),
        scriptPubKey: coreScript(coin.output.scriptPubKey, env.params),
      })),
    });
  const bitmap = new Uint8Array(Math.ceil(found.length / 8));
  for (const [i, coin] of found.entries()) if (coin !== null) bitmap[i >> 3]! |= 1 << (i & 7);
  const w = new ByteWriter(1024);
  w.u32(height);
  w.bytes(hash);
  writeCompactSize(w, bitmap.length);
  w.bytes(bitmap);
  writeCompactSize(w, unspent.length);
  for (const coin of unspent) {
    // The version of the transaction, which Core no longer keeps.
    w.u32(0);
    w.u32(coin.height);
    encodeOutput(w, coin.output);
  }
  return encodedReply(format!, w.finish(), null);
}

function askedCoins(param: string, format: RestTarget['format'], body: Uint8Array): AskedCoins {
  const path = param.length > 1 ? param.slice(1).split('/') : [];
  if (body.length === 0 && path.length === 0) return restFail(400, EMPTY);
  const checkMempool = path[0] === 'checkmempool';
  const outpoints = path.slice(checkMempool ? 1 : 0).map(readOutpoint);
  if (path.length > 0 && outpoints.length === 0) return restFail(400, EMPTY);
  if (format === null) return noFormat();
  if (format === 'json') return outpoints.length === 0 ? restFail(400, EMPTY) : { checkMempool, outpoints };
  const bytes = format === 'hex' ? bytesOfHex(new TextDecoder().decode(body)) : body;
  if (bytes.length === 0) return { checkMempool, outpoints };
  if (outpoints.length > 0) return restFail(400, 'Combination of URI scheme inputs and raw post data is not allowed');
  return decodeBody(bytes);
}

function readOutpoint(text: string): Outpoint {
  const parts = text.split('-');
  const vout = parts.length === 2 ? digitsValue(parts[1]!, MAX_UINT32) : null;
  if (vout === null || !HASH.test(parts[0]!)) return restFail(400, 'Parse error');
  return { txid: hashFromHex<Txid>(parts[0]!.toLowerCase()), vout };
}

/**
 * Core puts the length in front of a body before it reads a flag for the mempool and the outpoints. So the length is the
 * flag, a body begins with the number of outpoints, and one of 253 bytes or more cannot be read.
 */
function decodeBody(bytes: Uint8Array): AskedCoins {
  const w = new ByteWriter(bytes.length + 9);
  writeCompactSize(w, bytes.length);
  w.bytes(bytes);
  const r = new ByteReader(w.finish());
  try {
    const checkMempool = r.u8() !== 0;
    const count = readCompactSize(r);
    const outpoints: Outpoint[] = [];
    for (let i = 0; i < count; i++) outpoints.push(decodeOutpoint(r));
    return { checkMempool, outpoints };
  } catch (error) {
    if (error instanceof DecodeError) return restFail(400, 'Parse error');
    throw error;
  }
}

/** As Core's ParseHex: white space between bytes is skipped, and any other text has no bytes. */
function bytesOfHex(text: string): Uint8Array {
  const pairs = text.trim().split(/\s+/).join('');
  return /^(?:[0-9a-fA-F]{2})*$/.test(pairs) ? Uint8Array.fromHex(pairs) : new Uint8Array(0);
}

function findCoin(
  env: ReadEnv,
  outpoint: Outpoint,
  checkMempool: boolean,
): { height: number; output: TxOutput } | null {
  if (checkMempool) {
    const { mempool } = env;
    if (mempool.spender(outpoint)) return null;
    const output = mempool.findEntry(outpoint.txid)?.parsed.tx.outputs[outpoint.vout];
    if (output) return { height: MEMPOOL_HEIGHT, output };
  }
  const coin = env.reads.coins.get(outpoint);
  return coin && { height: coinHeight(coin), output: coin.output };
}
