import { addr, addrv2, getaddr } from './addresses.ts';
import { block, merkleblock, tx } from './blocks.ts';
import { filteradd, filterclear, filterload } from './bloom.ts';
import type { MessageCodec } from './codec.ts';
import { blocktxn, cmpctblock, getblocktxn } from './compact-blocks.ts';
import { cfcheckpt, cfheaders, cfilter, getcfcheckpt, getcfheaders, getcfilters } from './filters.ts';
import { getblocks, getheaders, headers } from './headers.ts';
import { getdata, inv, mempool, notfound } from './inventory.ts';
import { feature, feefilter, sendaddrv2, sendcmpct, sendheaders, verack, wtxidrelay } from './negotiation.ts';
import { ping, pong } from './ping.ts';
import { version } from './version.ts';

/** Every message that is understood, by its name on the wire. */
export const MESSAGES = {
  version,
  verack,
  wtxidrelay,
  sendaddrv2,
  sendheaders,
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

/** What a message of a type is made from. */
export type ValueOf<K extends MessageType> = Parameters<(typeof MESSAGES)[K]['encode']>[0];

/** What a message of a type decodes to. */
export type DecodedOf<K extends MessageType> = ReturnType<(typeof MESSAGES)[K]['decode']>;

/** A message that was understood; `type` tells what `value` is. */
export type Message = { [K in MessageType]: { readonly type: K; readonly value: DecodedOf<K> } }[MessageType];

export function isMessageType(type: string): type is MessageType {
  return Object.hasOwn(MESSAGES, type);
}

/** The payload of a message. */
export function encodeMessage<K extends MessageType>(type: K, value: ValueOf<K>): Uint8Array {
  return (MESSAGES[type] as MessageCodec<ValueOf<K>>).encode(value);
}

/** The message behind a payload, null where the type is unknown. Throws MessageError on one that is malformed. */
export function decodeMessage(type: string, payload: Uint8Array): Message | null {
  return isMessageType(type) ? ({ type, value: MESSAGES[type].decode(payload) } as Message) : null;
}
