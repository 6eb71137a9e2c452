import type { ByteReader, ByteWriter } from '../../util/bytes.ts';
import {
  addressFromBip155,
  addressFromV1,
  addressToBip155,
  addressToV1,
  type NetAddress,
  type PeerAddress,
} from '../address/net-address.ts';
import {
  emptyCodec,
  type ListLimit,
  messageCodec,
  readBytes,
  readCompactU64,
  readList,
  writeBytes,
  writeCompactU64,
  writeList,
} from './codec.ts';
import { readPort, writePort } from './version.ts';

const MAX_ADDRESSES = 1000;
/** Maximum length of an address in any network (BIP-155). */
const MAX_ADDRESS_SIZE = 512;
const V1_SIZE = 4 + 8 + 16 + 2;
const V2_LEAST_SIZE = 4 + 1 + 1 + 1 + 2;

export interface AddressesMessage {
  /** An address of an unknown network is decoded as the unspecified address. */
  readonly addresses: readonly PeerAddress[];
}

export const getaddr = emptyCodec('getaddr');

export const addr = messageCodec<AddressesMessage>(
  'addr',
  (w, { addresses }) => writeList(w, addresses, writeV1, limitOf('addr')),
  (r) => ({ addresses: readList(r, V1_SIZE, readV1, limitOf('addr')) }),
);

/** BIP-155. */
export const addrv2 = messageCodec<AddressesMessage>(
  'addrv2',
  (w, { addresses }) => writeList(w, addresses, writeV2Address, limitOf('addrv2')),
  (r) => ({ addresses: readList(r, V2_LEAST_SIZE, readV2Address, limitOf('addrv2')) }),
);

function limitOf(type: string): ListLimit {
  return { max: MAX_ADDRESSES, verdict: 'misbehaving', reason: (count) => `${type} message size = ${count}` };
}

function writeV1(w: ByteWriter, { time, services, address, port }: PeerAddress): void {
  w.u32(time);
  w.u64(services);
  w.bytes(addressToV1(address));
  writePort(w, port);
}

function readV1(r: ByteReader): PeerAddress {
  const time = r.u32();
  const services = r.u64();
  const address = addressFromV1(r.bytes(16));
  return { time, services, address, port: readPort(r) };
}

/** Writes an address in the format of `addrv2` (BIP-155), which peers.dat uses as well. */
export function writeV2Address(w: ByteWriter, { time, services, address, port }: PeerAddress): void {
  w.u32(time);
  writeCompactU64(w, services);
  writeV2NetAddress(w, address);
  writePort(w, port);
}

export function readV2Address(r: ByteReader): PeerAddress {
  const time = r.u32();
  const services = readCompactU64(r);
  const address = readV2NetAddress(r);
  return { time, services, address, port: readPort(r) };
}

export function writeV2NetAddress(w: ByteWriter, address: NetAddress): void {
  const { id, bytes } = addressToBip155(address);
  w.u8(id);
  writeBytes(w, bytes, MAX_ADDRESS_SIZE);
}

export function readV2NetAddress(r: ByteReader): NetAddress {
  const id = r.u8();
  return addressFromBip155(id, readBytes(r, MAX_ADDRESS_SIZE, 'address'));
}
