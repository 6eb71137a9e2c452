import fc from 'fast-check';
import type { NetAddress, PeerAddress } from '../../../src/p2p/address/net-address.ts';
import type { DecodedOf, MessageType } from '../../../src/p2p/messages/messages.ts';
import { parseTransaction } from '../../../src/primitives/block.ts';
import type { BlockHash, MerkleRoot, Txid } from '../../../src/primitives/hash.ts';
import { headerBytes, headerHash } from '../../../src/primitives/header.ts';
import { transactionBytes } from '../../../src/primitives/transaction.ts';
import { concatBytes } from '../../../src/util/bytes.ts';

const u8 = fc.integer({ min: 0, max: 0xff });
const u16 = fc.integer({ min: 0, max: 0xffff });
const u32 = fc.integer({ min: 0, max: 0xffff_ffff });
const i32 = fc.integer({ min: -0x8000_0000, max: 0x7fff_ffff });
const u64 = fc.bigInt({ min: 0n, max: (1n << 64n) - 1n });
const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
const hash = bytes(32);
const blockHash = hash as fc.Arbitrary<BlockHash>;
const list = <T>(item: fc.Arbitrary<T>) => fc.array(item, { maxLength: 5 });
const latin1 = (minLength: number, maxLength: number) =>
  fc.uint8Array({ minLength, maxLength }).map((chars) => Buffer.from(chars).toString('latin1'));

/** Networks that the format before BIP-155 can represent. */
const oldAddress: fc.Arbitrary<NetAddress> = fc.oneof(
  bytes(4).map((v4) => ({ network: 'ipv4' as const, bytes: v4 })),
  bytes(16).map((v6) => ({ network: 'ipv6' as const, bytes: v6.with(0, 0x20) })),
);
const address: fc.Arbitrary<NetAddress> = fc.oneof(
  oldAddress,
  hash.map((key) => ({ network: 'onion' as const, bytes: key })),
  hash.map((key) => ({ network: 'i2p' as const, bytes: key })),
  bytes(16).map((key) => ({ network: 'cjdns' as const, bytes: key })),
);
const peer = (of: fc.Arbitrary<NetAddress>): fc.Arbitrary<PeerAddress> =>
  fc.record({ time: u32, services: u64, address: of, port: u16 });

export const header = fc.record({
  version: i32,
  previousHash: blockHash,
  merkleRoot: hash as fc.Arbitrary<MerkleRoot>,
  time: u32,
  bits: u32,
  nonce: u32,
});

export const transaction = fc
  .record({
    version: u32,
    prevout: fc.record({ txid: hash as fc.Arbitrary<Txid>, vout: u32 }),
    scriptSig: fc.uint8Array({ maxLength: 20 }),
    sequence: u32,
    witness: fc.array(fc.uint8Array({ maxLength: 20 }), { maxLength: 2 }),
    value: fc.bigInt({ min: 0n, max: 2_100_000_000_000_000n }),
    scriptPubKey: fc.uint8Array({ maxLength: 30 }),
    locktime: u32,
  })
  .map(({ version, value, scriptPubKey, locktime, ...input }) =>
    parseTransaction(transactionBytes({ version, inputs: [input], outputs: [{ value, scriptPubKey }], locktime })),
  );

const locator = fc.record({ version: i32, locator: list(blockHash), stopHash: blockHash });
const inventory = fc.record({ items: list(fc.record({ kind: u32, hash })) });
const filterRange = fc.record({ filterType: u8, startHeight: u32, stopHash: blockHash });

/** Arbitrary values of every message. */
export const VALUES: { readonly [K in MessageType]: fc.Arbitrary<DecodedOf<K>> } = {
  version: fc.record({
    version: i32,
    services: u64,
    time: fc.bigInt({ min: 0n, max: (1n << 63n) - 1n }),
    receiverServices: u64,
    receiver: fc.record({ address: oldAddress, port: u16 }),
    nonce: u64,
    userAgent: latin1(0, 256),
    startHeight: i32,
    relay: fc.boolean(),
  }),
  verack: fc.constant(null),
  wtxidrelay: fc.constant(null),
  sendaddrv2: fc.constant(null),
  sendheaders: fc.constant(null),
  sendcmpct: fc.record({ announce: fc.boolean(), version: u64 }),
  feefilter: fc.record({ feerate: fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n }) }),
  sendtxrcncl: fc.record({ version: fc.nat(0xffff_ffff), salt: fc.bigInt(0n, 2n ** 64n - 1n) }),
  feature: fc.record({ id: latin1(4, 80), data: fc.uint8Array({ maxLength: 512 }) }),
  ping: fc.record({ nonce: u64 }),
  pong: fc.record({ nonce: fc.option(u64) }),
  addr: fc.record({ addresses: list(peer(oldAddress)) }),
  addrv2: fc.record({ addresses: list(peer(address)) }),
  getaddr: fc.constant(null),
  inv: inventory,
  getdata: inventory,
  notfound: inventory,
  mempool: fc.constant(null),
  getheaders: locator,
  getblocks: locator,
  headers: fc.record({ headers: list(header) }),
  block: fc.tuple(header, fc.uint8Array({ maxLength: 100 })).map(([head, rest]) => ({
    hash: headerHash(head),
    header: head,
    raw: concatBytes(headerBytes(head), rest),
  })),
  tx: fc.record({ tx: transaction }),
  merkleblock: fc.record({
    header,
    transactionCount: u32,
    hashes: list(hash),
    flags: fc.uint8Array({ maxLength: 10 }),
  }),
  filterload: fc.record({
    filter: fc.uint8Array({ maxLength: 50 }),
    hashFunctions: fc.nat(50),
    tweak: u32,
    flags: u8,
  }),
  filteradd: fc.record({ element: fc.uint8Array({ maxLength: 520 }) }),
  filterclear: fc.constant(null),
  cmpctblock: fc.record({
    header,
    nonce: u64,
    shortIds: list(fc.integer({ min: 0, max: 0xffff_ffff_ffff })),
    prefilled: list(fc.record({ gap: u16, tx: transaction })),
  }),
  getblocktxn: fc.record({
    blockHash,
    indexes: fc.uniqueArray(u16, { maxLength: 5 }).map((all) => all.sort((a, b) => a - b)),
  }),
  blocktxn: fc.record({ blockHash, txs: list(transaction) }),
  getcfilters: filterRange,
  cfilter: fc.record({ filterType: u8, blockHash, filter: fc.uint8Array({ maxLength: 50 }) }),
  getcfheaders: filterRange,
  cfheaders: fc.record({ filterType: u8, stopHash: blockHash, previousHeader: hash, hashes: list(hash) }),
  getcfcheckpt: fc.record({ filterType: u8, stopHash: blockHash }),
  cfcheckpt: fc.record({ filterType: u8, stopHash: blockHash, headers: list(hash) }),
};
