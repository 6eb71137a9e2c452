import { coins } from '../../http/core-number.ts';
import { parseBlock } from '../../primitives/block.ts';
import { writeCompactSize } from '../../primitives/compact-size.ts';
import { type BlockHash, hashFromHex, hashToHex } from '../../primitives/hash.ts';
import { encodeOutput } from '../../primitives/transaction.ts';
import { readTxUndo } from '../../primitives/undo.ts';
import type { Answer } from '../../queries/answer.ts';
import { rawBlock } from '../../queries/block-facts.ts';
import { filterBytes, filterIndexState } from '../../queries/filter-reads.ts';
import type { ReadEnv } from '../../queries/read-env.ts';
import { type HeaderRecord, hasFailed } from '../../storage/header-store.ts';
import { ByteReader, ByteWriter, concatBytes } from '../../util/bytes.ts';
import { coreBlock, coreHeader } from '../../views/core/core-block.ts';
import { coreScript } from '../../views/core/core-script.ts';
import { encodedReply, jsonReply, noFormat, restFail, textReply } from './rest-reply.ts';
import { digitsValue, queryValue, type RestTarget } from './rest-target.ts';

const HASH = /^[0-9a-fA-F]{64}$/;
const MAX_HEADERS = 2000;
const DEFAULT_HEADERS = '5';
const MAX_INT32 = 2 ** 31 - 1;
const MAX_UINT64 = 2n ** 64n - 1n;
/** Digits of a number below 2^64, with leading zeros. */
const DIGITS = /^[0-9]{1,100}$/;
/** Time to write a header as JSON, to read a header or a filter header, and to read a byte of a block, microseconds. */
const HEADER_JSON_US = 60;
const HEADER_READ_US = 5;
const FILTER_HEADER_US = 8;
const READ_US_PER_BYTE = 0.002;
const UNDO_JSON_US_PER_BYTE = 0.2;
const BASIC = 'basic';
/** Characters that Core repeats in an error (SAFE_CHARS_URI). */
const UNSAFE = /[^A-Za-z0-9!*'();:@&=+$,/?#[\]\-_.~%]/g;

/** Throws if the text is not a hash in display order. */
export function restHash<T extends Uint8Array>(text: string): T {
  return HASH.test(text)
    ? (hashFromHex(text.toLowerCase()) as Uint8Array as T)
    : restFail(400, `Invalid hash: ${text}`);
}

function knownBlock({ reads }: ReadEnv, hash: BlockHash, text: string): HeaderRecord {
  return reads.headers.byHash(hash) ?? restFail(404, `${text} not found`);
}

/** `verbosity` is that of the JSON. */
export function blockReply(env: ReadEnv, { param, format }: RestTarget, verbosity: 1 | 3): Answer {
  const block = storedBlock(env, param);
  if (format === null) return noFormat();
  if (format === 'json') return jsonReply(coreBlock(env, block, verbosity));
  env.expectWork(block.stats!.size * READ_US_PER_BYTE);
  return encodedReply(format, rawBlock(env, block), hashToHex(block.hash));
}

/** A part of the encoded block. */
export function blockPartReply(env: ReadEnv, { param, format, query }: RestTarget): Answer {
  const part = (name: string) => {
    const text = queryValue(query, name) ?? '';
    const value = DIGITS.test(text) ? BigInt(text) : null;
    return value !== null && value <= MAX_UINT64 ? value : restFail(400, `Block part ${name} missing or invalid`);
  };
  const offset = part('offset');
  const size = part('size');
  const block = storedBlock(env, param);
  if (size === 0n || offset + size > block.stats!.size)
    return restFail(400, `Bad block part offset/size ${offset}/${size} for ${param}`);
  if (format === null) return noFormat();
  if (format === 'json') return restFail(400, 'JSON output is not supported for this request type');
  env.expectWork(Number(size) * READ_US_PER_BYTE);
  const bytes = env.reads.rawBlockPart(block, Number(offset), Number(size))!;
  return encodedReply(format, bytes, `${hashToHex(block.hash)}-${offset}-${size}`);
}

function storedBlock(env: ReadEnv, param: string): HeaderRecord {
  const block = knownBlock(env, restHash(param), param);
  if (block.body) return block;
  return restFail(404, `${param} not available (${block.stats ? 'pruned data' : 'not fully downloaded'})`);
}

export function headersReply(env: ReadEnv, { param, format, query }: RestTarget): Answer {
  const path = param.split('/');
  if (path.length > 2) return restFail(400, 'Invalid URI format. Expected /rest/headers/<hash>.<ext>?count=<count>');
  const count = headerCount(path.length === 2 ? path[0]! : (queryValue(query, 'count') ?? DEFAULT_HEADERS));
  const hash = restHash<BlockHash>(path.at(-1)!);
  if (format === null) return noFormat();
  env.expectWork(count * (format === 'json' ? HEADER_JSON_US : HEADER_READ_US));
  const headers = activeBlocks(env, hash, count);
  if (format !== 'json') return encodedReply(format, concatBytes(...headers.map(({ header }) => header)), null);
  return jsonReply(headers.map((block) => coreHeader(env, block)));
}

function headerCount(text: string): number {
  const count = digitsValue(text, MAX_HEADERS);
  if (count !== null && count > 0) return count;
  return restFail(400, `Header count is invalid or out of acceptable range (1-${MAX_HEADERS}): ${text}`);
}

/** Returns blocks of the active chain from one on; none if it is not in the active chain. */
function activeBlocks({ reads }: ReadEnv, hash: BlockHash, count: number): HeaderRecord[] {
  const first = reads.headers.byHash(hash);
  return first !== null && reads.headers.isActive(first) ? reads.headers.range(first.height, count) : [];
}

export function blockHashReply({ reads, tip }: ReadEnv, { param, format }: RestTarget): Answer {
  const height = digitsValue(param, MAX_INT32);
  if (height === null) return restFail(400, `Invalid height: ${param.replace(UNSAFE, '')}`);
  if (height > tip.height) return restFail(404, 'Block height out of range');
  const { hash } = reads.headers.byHeight(height)!;
  if (format === 'bin') return encodedReply(format, hash, null);
  if (format === 'hex') return textReply(hashToHex(hash), null, format);
  return format === 'json' ? jsonReply({ blockhash: hashToHex(hash) }) : noFormat();
}

/** The outputs that the transactions of a block spent. */
export function spentReply(env: ReadEnv, { param, format }: RestTarget): Answer {
  if (param.includes('/')) return restFail(400, 'Invalid URI format. Expected /rest/spenttxouts/<hash>.<ext>');
  const block = knownBlock(env, restHash(param), param);
  if (format === null) return noFormat();
  env.expectWork((block.stats?.size ?? 0) * (format === 'json' ? UNDO_JSON_US_PER_BYTE : READ_US_PER_BYTE * 10));
  const undo = block.height === 0 ? new Uint8Array(0) : spentRecords(env, block, param);
  const r = new ByteReader(undo);
  // The undo data has no count of the inputs.
  const { txs } = parseBlock(rawBlock(env, block));
  const spent = txs.map(({ tx }, i) => (i === 0 ? [] : readTxUndo(r, tx.inputs.length)));
  const tag = hashToHex(block.hash);
  if (format === 'json')
    return jsonReply(
      spent.map((list) =>
        list.map(({ output: { value, scriptPubKey } }) => ({
          value: coins(value),
          scriptPubKey: coreScript(scriptPubKey, env.params),
        })),
      ),
      tag,
    );
  const w = new ByteWriter(undo.length + 1024);
  writeCompactSize(w, spent.length);
  for (const list of spent) {
    writeCompactSize(w, list.length);
    for (const { output } of list) encodeOutput(w, output);
  }
  return encodedReply(format, w.finish(), tag);
}

function spentRecords(env: ReadEnv, block: HeaderRecord, param: string): Uint8Array {
  const undo = block.body === null ? null : env.reads.rawUndo(block);
  return undo ?? restFail(404, `${param} undo not available`);
}

export function filterReply(env: ReadEnv, { param, format }: RestTarget): Answer {
  const path = param.split('/');
  if (path.length !== 2)
    return restFail(400, 'Invalid URI format. Expected /rest/blockfilter/<filtertype>/<blockhash>');
  const [type, text] = path as [string, string];
  const hash = restHash<BlockHash>(text);
  const index = filterIndex(env, type);
  const block = knownBlock(env, hash, text);
  const record = env.reads.filters.get(block.id);
  const filter = record && filterBytes(env, record);
  if (filter === null) {
    const connected = block.fees !== null && !hasFailed(block.status);
    return restFail(
      404,
      connected ? missingFilter(index.synced) : 'Filter not found. Block was not connected to active chain.',
    );
  }
  const tag = hashToHex(block.hash);
  if (format === 'json') return jsonReply({ filter: filter.toHex() }, tag);
  if (format === null) return noFormat();
  const w = new ByteWriter(filter.length + 64);
  // The number of the basic filter.
  w.u8(0);
  w.bytes(block.hash);
  writeCompactSize(w, filter.length);
  w.bytes(filter);
  return encodedReply(format, w.finish(), tag);
}

export function filterHeadersReply(env: ReadEnv, { param, format, query }: RestTarget): Answer {
  const path = param.split('/');
  if (path.length !== 2 && path.length !== 3)
    return restFail(
      400,
      'Invalid URI format. Expected /rest/blockfilterheaders/<filtertype>/<blockhash>.<ext>?count=<count>',
    );
  const count = headerCount(path.length === 3 ? path[1]! : (queryValue(query, 'count') ?? DEFAULT_HEADERS));
  const hash = restHash<BlockHash>(path.at(-1)!);
  const index = filterIndex(env, path[0]!);
  if (format === null) return noFormat();
  env.expectWork(count * (HEADER_READ_US + FILTER_HEADER_US));
  const blocks = activeBlocks(env, hash, count);
  const headers = blocks.map(
    ({ id }) => env.reads.filters.get(id)?.header ?? restFail(404, missingFilter(index.synced)),
  );
  if (format === 'json') return jsonReply(headers.map((header) => hashToHex(header)));
  return encodedReply(format, concatBytes(...headers), null);
}

function filterIndex(env: ReadEnv, type: string): { synced: boolean } {
  if (type !== BASIC) return restFail(400, `Unknown filtertype ${type}`);
  return filterIndexState(env) ?? restFail(400, `Index is not enabled for filtertype ${type}`);
}

function missingFilter(synced: boolean): string {
  const reason = synced
    ? 'This error is unexpected and indicates index corruption.'
    : 'Block filters are still in the process of being indexed.';
  return `Filter not found. ${reason}`;
}
