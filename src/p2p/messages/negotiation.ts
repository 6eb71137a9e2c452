import type { Amount } from '../../primitives/amount.ts';
import { type ByteReader, DecodeError } from '../../util/bytes.ts';
import { bytesOfText, emptyCodec, messageCodec, readBytes, textOf, ViolationError, writeBytes } from './codec.ts';

const MIN_FEATURE_ID = 4;
const MAX_FEATURE_ID = 80;
const MAX_FEATURE_DATA = 512;

export const verack = emptyCodec('verack');
/** BIP-339. */
export const wtxidrelay = emptyCodec('wtxidrelay');
/** BIP-155. */
export const sendaddrv2 = emptyCodec('sendaddrv2');
/** BIP-130. */
export const sendheaders = emptyCodec('sendheaders');

export interface SendCmpctMessage {
  /** Whether the sender wants new blocks announced by unsolicited `cmpctblock` messages (high-bandwidth mode). */
  readonly announce: boolean;
  readonly version: bigint;
}

/** BIP-152. */
export const sendcmpct = messageCodec<SendCmpctMessage>(
  'sendcmpct',
  (w, { announce, version }) => {
    w.u8(announce ? 1 : 0);
    w.u64(version);
  },
  (r) => {
    const announce = r.u8();
    const version = r.u64();
    if (announce > 1) throw new ViolationError('invalid sendcmpct announce field', 'misbehaving');
    return { announce: announce === 1, version };
  },
);

export interface FeeFilterMessage {
  /** Satoshis per 1,000 virtual bytes. A value outside the money range is to be ignored. */
  readonly feerate: Amount;
}

/** BIP-133. */
export const feefilter = messageCodec<FeeFilterMessage>(
  'feefilter',
  (w, { feerate }) => w.i64(feerate),
  (r) => ({ feerate: r.i64() }),
);

export interface SendTxRcnclMessage {
  readonly version: number;
  readonly salt: bigint;
}

/** BIP-330. */
export const sendtxrcncl = messageCodec<SendTxRcnclMessage>(
  'sendtxrcncl',
  (w, { version, salt }) => {
    w.u32(version);
    w.u64(salt);
  },
  (r) => ({ version: r.u32(), salt: r.u64() }),
);

export interface FeatureMessage {
  /** One character per byte. */
  readonly id: string;
  readonly data: Uint8Array;
}

/** Announces an optional feature. It is the only message with trailing bytes forbidden. */
export const feature = messageCodec<FeatureMessage>(
  'feature',
  (w, { id, data }) => {
    writeBytes(w, bytesOfText(id), MAX_FEATURE_ID);
    writeBytes(w, data, MAX_FEATURE_DATA);
  },
  (r) => disconnectingErrors(() => readFeature(r)),
);

/** As in Core, a malformed feature ends the connection. */
function disconnectingErrors<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof DecodeError ? new ViolationError(error.message, 'disconnect') : error;
  }
}

function readFeature(r: ByteReader): FeatureMessage {
  const id = textOf(readBytes(r, MAX_FEATURE_ID, 'feature id'));
  const data = readBytes(r, MAX_FEATURE_DATA, 'feature data');
  if (id.length < MIN_FEATURE_ID) throw new DecodeError(`feature id of ${id.length} bytes is too short`);
  if (r.remaining > 0) throw new DecodeError('bytes after the feature');
  return { id, data };
}
