import type { BlockHash } from '../../primitives/hash.ts';
import { HASH_SIZE, messageCodec, readBytes, readHash, readList, writeBytes, writeList } from './codec.ts';

/** BIP-157. The only filter type is 0, the basic filter of BIP-158. */
export interface FilterRangeMessage {
  readonly filterType: number;
  readonly startHeight: number;
  readonly stopHash: BlockHash;
}

export const getcfilters = rangeCodec('getcfilters');
export const getcfheaders = rangeCodec('getcfheaders');

function rangeCodec(type: string) {
  return messageCodec<FilterRangeMessage>(
    type,
    (w, { filterType, startHeight, stopHash }) => {
      w.u8(filterType);
      w.u32(startHeight);
      w.bytes(stopHash);
    },
    (r) => {
      const filterType = r.u8();
      const startHeight = r.u32();
      return { filterType, startHeight, stopHash: readHash(r) as BlockHash };
    },
  );
}

export interface FilterMessage {
  readonly filterType: number;
  readonly blockHash: BlockHash;
  readonly filter: Uint8Array;
}

export const cfilter = messageCodec<FilterMessage>(
  'cfilter',
  (w, { filterType, blockHash, filter }) => {
    w.u8(filterType);
    w.bytes(blockHash);
    writeBytes(w, filter, Number.POSITIVE_INFINITY);
  },
  (r) => {
    const filterType = r.u8();
    const blockHash = readHash(r) as BlockHash;
    return { filterType, blockHash, filter: readBytes(r, r.remaining, 'filter') };
  },
);

export interface FilterHeadersMessage {
  readonly filterType: number;
  readonly stopHash: BlockHash;
  readonly previousHeader: Uint8Array;
  readonly hashes: readonly Uint8Array[];
}

export const cfheaders = messageCodec<FilterHeadersMessage>(
  'cfheaders',
  (w, { filterType, stopHash, previousHeader, hashes }) => {
    w.u8(filterType);
    w.bytes(stopHash);
    w.bytes(previousHeader);
    writeList(w, hashes, (writer, hash) => writer.bytes(hash));
  },
  (r) => {
    const filterType = r.u8();
    const stopHash = readHash(r) as BlockHash;
    const previousHeader = readHash(r);
    return { filterType, stopHash, previousHeader, hashes: readList(r, HASH_SIZE, readHash) };
  },
);

export interface GetFilterCheckpointsMessage {
  readonly filterType: number;
  readonly stopHash: BlockHash;
}

export const getcfcheckpt = messageCodec<GetFilterCheckpointsMessage>(
  'getcfcheckpt',
  (w, { filterType, stopHash }) => {
    w.u8(filterType);
    w.bytes(stopHash);
  },
  (r) => {
    const filterType = r.u8();
    return { filterType, stopHash: readHash(r) as BlockHash };
  },
);

export interface FilterCheckpointsMessage {
  readonly filterType: number;
  readonly stopHash: BlockHash;
  /** Filter headers at every height that is a multiple of 1,000 (BIP-157). */
  readonly headers: readonly Uint8Array[];
}

export const cfcheckpt = messageCodec<FilterCheckpointsMessage>(
  'cfcheckpt',
  (w, { filterType, stopHash, headers }) => {
    w.u8(filterType);
    w.bytes(stopHash);
    writeList(w, headers, (writer, hash) => writer.bytes(hash));
  },
  (r) => {
    const filterType = r.u8();
    const stopHash = readHash(r) as BlockHash;
    return { filterType, stopHash, headers: readList(r, HASH_SIZE, readHash) };
  },
);
