import { existsSync } from 'node:fs';
import type { NetworkParams } from '../../../params/network-params.ts';
import { coinHeight, isCoinbaseCoin } from '../../../primitives/coin.ts';
import { writeCompactSize } from '../../../primitives/compact-size.ts';
import { writeCompressedCoin } from '../../../primitives/compressed-coin.ts';
import { hashToHex } from '../../../primitives/hash.ts';
import { compareVarInts } from '../../../primitives/var-int.ts';
import type { UtxoDump } from '../../../queries/reader-jobs.ts';
import { BlockPruned } from '../../../storage/chain-reads.ts';
import type { ChainSource } from '../../../storage/chain-source.ts';
import { CoinRewind, MissingBlockData } from '../../../storage/coin-rewind.ts';
import { coinsOfRuns, type PlacedCoin } from '../../../storage/coin-store.ts';
import type { HeaderRecord } from '../../../storage/header-store.ts';
import type { Run } from '../../../storage/runs/run.ts';
import { encodeSetElement, setHasher } from '../../../storage/utxo-hash.ts';
import { encodeSnapshotMetadata, writeSnapshotTx } from '../../../storage/utxo-snapshot.ts';
import { ByteWriter, DecodeError, equalBytes } from '../../../util/bytes.ts';
import { diskProblem } from '../../../util/disk-problem.ts';
import { rpcFail } from '../../engine/rpc-error.ts';
import { DumpFile, type DumpOutput, DumpPipe, isNamedPipe } from './dump-output.ts';

const MISSING_DATA = 'Could not roll back to requested height since necessary block data is already pruned.';
const CHECK_EVERY = 1024;
/** Indexes below this have VARINTs in their own order. */
const ORDERED_INDEXES = 16_512;

/** The result of dumptxoutset. */
export interface DumpedUtxoSet {
  readonly coins_written: number;
  readonly base_hash: string;
  readonly base_height: number;
  readonly path: string;
  readonly txoutset_hash: string;
  readonly nchaintx: number;
}

interface Base {
  readonly reads: ChainSource;
  readonly params: NetworkParams;
}

/** The sources of a dump: they stay valid when the snapshot of the database has ended. */
interface DumpSource {
  readonly tip: HeaderRecord;
  readonly target: HeaderRecord;
  readonly coins: number;
  readonly txs: number;
  readonly runs: readonly Run[];
}

/**
 * Writes the UTXO set of the tip or of an earlier block of the active chain to a file. No snapshot of the database is held
 * meanwhile: the set is read from its runs, which never change, and earlier states from undo data. Where the path is a
 * named pipe, its reader gets the bytes. Throws RpcError.
 */
export function dumpUtxoSet({ reads, params }: Base, dump: UtxoDump, checkpoint: () => void): DumpedUtxoSet {
  const { path } = dump;
  const source = reads.snapshot(() => openSource(reads, dump));
  const rewind = new CoinRewind(reads);
  try {
    const isPipe = isNamedPipe(path);
    if (!isPipe && existsSync(path))
      rpcFail(
        'invalidParameter',
        `${path} already exists. If you are sure this is what you want, move it out of the way first`,
      );
    const file = isPipe ? new DumpPipe(path, checkpoint) : new DumpFile(path);
    try {
      rewindSource(rewind, source, checkpoint);
      const { target, coins, txs } = source;
      file.write(encodeSnapshotMetadata({ magic: params.magic, baseHash: target.hash, coins }));
      const hash = writeCoins(file, [...rewind.runs, ...source.runs], coins, checkpoint);
      file.finish();
      return {
        coins_written: coins,
        base_hash: hashToHex(target.hash),
        base_height: target.height,
        path,
        txoutset_hash: hashToHex(hash),
        nchaintx: txs,
      };
    } catch (error) {
      file.discard();
      throw dumpProblem(error, path);
    }
  } finally {
    rewind.close();
    for (const run of source.runs) run.close();
  }
}

/** Returns what the operator can repair as an RpcError, any other error unchanged. */
function dumpProblem(error: unknown, path: string): unknown {
  const disk = diskProblem(error);
  if (disk !== null) return rpcFail('misc', `Couldn't write ${path}: ${disk}`);
  if (!(error instanceof DecodeError)) return error;
  return rpcFail('misc', `The UTXO set cannot be read: ${error.message}: stop the node and run obverse verify`);
}

function openSource(reads: ChainSource, { target: wanted }: UtxoDump): DumpSource {
  const tip = reads.tip();
  const target =
    wanted === null ? tip : typeof wanted === 'number' ? atHeight(reads, tip, wanted) : byHash(reads, wanted);
  const totals = reads.headers.totals(target.height);
  if (totals === null) return rpcFail('misc', MISSING_DATA);
  const { utxos, txs } = totals;
  return { tip, target, coins: utxos, txs, runs: reads.openCoinRuns() };
}

function atHeight(reads: ChainSource, tip: HeaderRecord, height: number): HeaderRecord {
  if (height < 0) return rpcFail('invalidParameter', `Target block height ${height} is negative`);
  if (height > tip.height)
    return rpcFail('invalidParameter', `Target block height ${height} after current tip ${tip.height}`);
  return reads.headers.byHeight(height)!;
}

function byHash(reads: ChainSource, hash: Uint8Array): HeaderRecord {
  const block = reads.headers.byHash(hash);
  if (!block) return rpcFail('invalidAddressOrKey', 'Block not found', 'block_not_found');
  if (!reads.headers.isActive(block)) return rpcFail('invalidParameter', 'Block is not in main chain');
  return block;
}

function rewindSource(rewind: CoinRewind, { tip, target }: DumpSource, checkpoint: () => void): void {
  try {
    rewind.rewind(tip, target, checkpoint);
  } catch (error) {
    if (!(error instanceof MissingBlockData || error instanceof BlockPruned)) throw error;
    rpcFail('misc', MISSING_DATA);
  }
}

/** Writes all coins. Returns the hash_serialized_3 of the set, wire order. */
function writeCoins(file: DumpOutput, runs: readonly Run[], expected: number, checkpoint: () => void): Uint8Array {
  const hasher = setHasher('hash_serialized_3')!;
  const element = new ByteWriter(16_384);
  let written = 0;
  let group: PlacedCoin[] = [];
  for (const coin of coinsOfRuns(runs)) {
    if (++written % CHECK_EVERY === 0) checkpoint();
    element.reset();
    encodeSetElement(element, coin);
    hasher.add(element.finish());
    if (group.length > 0 && !equalBytes(group[0]!.outpoint.txid, coin.outpoint.txid)) {
      writeGroup(file, group);
      group = [];
    }
    group.push(coin);
  }
  if (group.length > 0) writeGroup(file, group);
  if (written !== expected) throw new Error(`the UTXO set has ${written} coins, not ${expected}`);
  return hasher.digest();
}

/** Writes the coins of one transaction, which come in the order of their indexes. */
function writeGroup(file: DumpOutput, group: PlacedCoin[]): void {
  if (group.at(-1)!.outpoint.vout >= ORDERED_INDEXES)
    group.sort((a, b) => compareVarInts(a.outpoint.vout, b.outpoint.vout));
  const w = file.writer;
  writeSnapshotTx(w, group[0]!.outpoint.txid, group.length);
  for (const coin of group) {
    writeCompactSize(w, coin.outpoint.vout);
    const { value, scriptPubKey } = coin.output;
    writeCompressedCoin(w, coinHeight(coin), isCoinbaseCoin(coin), Number(value), scriptPubKey);
    file.flushFull();
  }
}
