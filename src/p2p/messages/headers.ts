import { readCompactSize } from '../../primitives/compact-size.ts';
import type { BlockHash } from '../../primitives/hash.ts';
import { type BlockHeader, decodeHeader, encodeHeader, HEADER_SIZE } from '../../primitives/header.ts';
import type { ByteReader, ByteWriter } from '../../util/bytes.ts';
import { HASH_SIZE, type ListLimit, messageCodec, readHash, readList, writeList } from './codec.ts';

const MAX_LOCATOR = 101;
export const MAX_HEADERS = 2000;

export interface LocatorMessage {
  /** Protocol version of the sender, which is ignored. */
  readonly version: number;
  /** Block locator: hashes from the sender's tip backwards. */
  readonly locator: readonly BlockHash[];
  /** The last block wanted; all zeros for as many as the limit allows. */
  readonly stopHash: BlockHash;
}

export const getheaders = locatorCodec('getheaders');
export const getblocks = locatorCodec('getblocks');

function locatorCodec(type: string) {
  const limit: ListLimit = {
    max: MAX_LOCATOR,
    verdict: 'disconnect',
    reason: (count) => `${type} locator size ${count} > ${MAX_LOCATOR}`,
  };
  return messageCodec<LocatorMessage>(
    type,
    (w, { version, locator, stopHash }) => {
      w.u32(version >>> 0);
      writeList(w, locator, (writer, hash) => writer.bytes(hash), limit);
      w.bytes(stopHash);
    },
    (r) => {
      const version = r.i32();
      const locator = readList(r, HASH_SIZE, (reader) => readHash(reader) as BlockHash, limit);
      return { version, locator, stopHash: readHash(r) as BlockHash };
    },
  );
}

export interface HeadersMessage {
  readonly headers: readonly BlockHeader[];
}

const HEADERS_LIMIT: ListLimit = {
  max: MAX_HEADERS,
  verdict: 'misbehaving',
  reason: (count) => `headers message size = ${count}`,
};

export const headers = messageCodec<HeadersMessage>(
  'headers',
  (w, message) => writeList(w, message.headers, writeHeader, HEADERS_LIMIT),
  (r) => ({ headers: readList(r, HEADER_SIZE + 1, readHeader, HEADERS_LIMIT) }),
);

function writeHeader(w: ByteWriter, header: BlockHeader): void {
  encodeHeader(w, header);
  w.u8(0);
}

function readHeader(r: ByteReader): BlockHeader {
  const header = decodeHeader(r);
  // The transaction count, which is always 0 in `headers`. Core ignores its value.
  readCompactSize(r);
  return header;
}
