import { addr, addrv2, getaddr } from './addresses.ts';
import { block, merkleblock, tx } from './blocks.ts';
import { filteradd, filterclear, filterload } from './bloom.ts';
import type { MessageCodec } from './codec.ts';
import { blocktxn, cmpctblock, getblocktxn } from './compact-blocks.ts';
import { cfcheckpt, cfheaders, cfilter, getcfcheckpt, getcfheaders, getcfilters } from './filters.ts';
import { getblocks, getheaders, headers } from './headers.ts';
import { getdata, inv, mempool, notfound } from './inventory.ts';
import {
  feature,
  feefilter,
  sendaddrv2,
  sendcmpct,
  sendheaders,
  sendtxrcncl,
  verack,
  wtxidrelay,
} from './negotiation.ts';
import { ping, pong } from './ping.ts';
import { version } from './version.ts';

/** Codecs of all supported messages by message type. */
export const MESSAGES = {
  version,
  verack,
  wtxidrelay,
  sendaddrv2,
  sendheaders,
  sendtxrcncl,
  sendcmpct,
  feefilter,
  feature,
  ping,
  pong,
  addr,
  addrv2,
  getaddr,
  inv,
  getdata,
  notfound,
  mempool,
  getheaders,
  getblocks,
  headers,
  block,
  tx,
  merkleblock,
  filterload,
  filteradd,
  filterclear,
  cmpctblock,
  getblocktxn,
  blocktxn,
  getcfilters,
  cfilter,
  getcfheaders,
  cfheaders,
  getcfcheckpt,
  cfcheckpt,
};

export type MessageType = keyof typeof MESSAGES;

/** The value from which a message of a type is encoded. */
export type ValueOf<K extends MessageType> = Parameters<(typeof MESSAGES)[K]['encode']>[0];

/** The value to which a message of a type is decoded. */
export type DecodedOf<K extends MessageType> = ReturnType<(typeof MESSAGES)[K]['decode']>;

/** A decoded message; `type` determines the type of `value`. */
export type Message = { [K in MessageType]: { readonly type: K; readonly value: DecodedOf<K> } }[MessageType];

export function isMessageType(type: string): type is MessageType {
  return Object.hasOwn(MESSAGES, type);
}

/** Returns the payload of a message. */
export function encodeMessage<K extends MessageType>(type: K, value: ValueOf<K>): Uint8Array {
  return (MESSAGES[type] as MessageCodec<ValueOf<K>>).encode(value);
}

/** Decodes a payload; returns null for an unknown message type. Throws MessageError if the payload is malformed. */
export function decodeMessage(type: string, payload: Uint8Array): Message | null {
  return isMessageType(type) ? ({ type, value: MESSAGES[type].decode(payload) } as Message) : null;
}
