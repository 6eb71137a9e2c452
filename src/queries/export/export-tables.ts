import type { NetworkParams } from '../../params/network-params.ts';
import { parseBlock } from '../../primitives/block.ts';
import { coinHeight, isCoinbaseCoin, positionHeight, positionIndex, txPosition } from '../../primitives/coin.ts';
import type { Txid } from '../../primitives/hash.ts';
import { hashToHex } from '../../primitives/hash.ts';
import { headerFromBytes } from '../../primitives/header.ts';
import { readTxUndo } from '../../primitives/undo.ts';
import { addressOf } from '../../script/address.ts';
import { isUnspendable } from '../../script/templates.ts';
import type { ChainReads } from '../../storage/chain-reads.ts';
import { coinsOfRuns } from '../../storage/coin-store.ts';
import type { HeaderRecord } from '../../storage/header-store.ts';
import { ByteReader, equalBytes } from '../../util/bytes.ts';
import { OperatorError } from '../../util/operator-error.ts';
import { headerTime } from '../block-facts.ts';
import type { ExportColumn, ExportRow } from './export-table.ts';

/** The source of an export, and the blocks that it covers. */
interface ExportRequest {
  readonly reads: ChainReads;
  readonly params: NetworkParams;
  /** Heights, both included; a last one of null is the tip. */
  readonly from: number;
  readonly to: number | null;
  /** Scripts whose history is exported; null for all. */
  readonly scripts: readonly Uint8Array[] | null;
}

/** Rows, and null where signals may be handled. Returns the last block of the chain that the rows are of. */
export type ExportRows = Generator<ExportRow | null, HeaderRecord>;

/** A table that can be exported. */
interface ExportTable {
  readonly columns: readonly ExportColumn[];
  rows(request: ExportRequest): ExportRows;
}

/** A request whose last block is known. */
interface RangeRequest extends ExportRequest {
  readonly end: HeaderRecord;
}

const HISTORY_PAGE = 1000;
const COINS_PER_STEP = 1000;
/** The weight of a byte without witness, less that of one with it. */
const STRIPPED_WEIGHT = 3;

const height = { name: 'height', type: 'int32', help: 'height of the block' } as const;
const script = { name: 'script', type: 'string', help: 'scriptPubKey, hex' } as const;
const address = {
  name: 'address',
  type: 'string',
  nullable: true,
  help: 'address of the script, if it has one',
} as const;
const txid = { name: 'txid', type: 'string', help: 'id of the transaction, hex' } as const;

const blocks: ExportTable = {
  columns: [
    height,
    { name: 'hash', type: 'string', help: 'hash of the block, hex' },
    { name: 'previous_hash', type: 'string', help: 'hash of the block before it, hex' },
    { name: 'merkle_root', type: 'string', help: 'root of the transactions, hex' },
    { name: 'time', type: 'int64', help: 'time in the header, Unix seconds' },
    { name: 'version', type: 'int32', help: 'version in the header' },
    { name: 'bits', type: 'int64', help: 'compact form of the target' },
    { name: 'nonce', type: 'int64', help: 'nonce in the header' },
    { name: 'transactions', type: 'int32', help: 'number of transactions' },
    { name: 'inputs', type: 'int32', help: 'number of inputs, without that of the coinbase' },
    { name: 'outputs', type: 'int32', help: 'number of outputs' },
    { name: 'size', type: 'int32', help: 'bytes of the block' },
    { name: 'weight', type: 'int32', help: 'weight of the block (BIP-141)' },
    { name: 'output_value', type: 'int64', help: 'value of the outputs of all transactions but the coinbase, satoshi' },
    { name: 'fees', type: 'int64', help: 'fees of all transactions, satoshi' },
    { name: 'reward', type: 'int64', help: 'value of the outputs of the coinbase, satoshi' },
  ],
  *rows(request) {
    const range = beginRange(request);
    for (const block of activeBlocks(range)) {
      const { stats, fees } = block;
      if (stats === null) throw new OperatorError(`the block of height ${block.height} was never stored`);
      const { version, previousHash, merkleRoot, time, bits, nonce } = headerFromBytes(block.header);
      const { txCount, inputs, outputs, size, strippedSize, valueOut, reward } = stats;
      yield [
        ...[block.height, hashToHex(block.hash), hashToHex(previousHash), hashToHex(merkleRoot)],
        ...[time, version, bits, nonce, txCount, inputs, outputs, size],
        ...[size + STRIPPED_WEIGHT * strippedSize, valueOut, fees ?? 0, reward],
      ];
    }
    return endRange(range);
  },
};

const utxos: ExportTable = {
  columns: [
    txid,
    { name: 'vout', type: 'int64', help: 'index of the output' },
    height,
    { name: 'coinbase', type: 'boolean', help: 'whether the transaction is a coinbase' },
    { name: 'value', type: 'int64', help: 'value, satoshi' },
    script,
    address,
  ],
  *rows({ reads, params, from, to }) {
    // The runs stay valid when the snapshot has ended, so that it holds back no checkpoint of the node.
    const { tip, runs } = reads.snapshot(() => ({ tip: reads.tip(), runs: reads.openCoinRuns() }));
    const last = to ?? tip.height;
    try {
      assertRange(from, last, tip);
      let count = 0;
      for (const coin of coinsOfRuns(runs)) {
        if (++count % COINS_PER_STEP === 0) yield null;
        const created = coinHeight(coin);
        if (created < from || created > last) continue;
        const { outpoint, output } = coin;
        yield [
          ...[hashToHex(outpoint.txid as Txid), outpoint.vout, created, isCoinbaseCoin(coin), Number(output.value)],
          ...[output.scriptPubKey.toHex(), addressOf(output.scriptPubKey, params.address)],
        ];
      }
      return tip;
    } finally {
      for (const run of runs) run.close();
    }
  },
};

const addressHistory: ExportTable = {
  columns: [
    height,
    { name: 'time', type: 'int64', help: 'time in the header of the block, Unix seconds' },
    { name: 'index', type: 'int32', help: 'index of the transaction in the block' },
    txid,
    script,
    address,
    { name: 'received', type: 'int64', help: 'value of the outputs to the script, satoshi' },
    { name: 'sent', type: 'int64', help: 'value of the inputs from the script, satoshi' },
  ],
  *rows(request) {
    const range = beginRange(request);
    if (request.scripts === null) yield* historyOfBlocks(range);
    else for (const script of request.scripts) yield* historyOfScript(range, script);
    return endRange(range);
  },
};

export const EXPORT_TABLES = { blocks, utxos, 'address-history': addressHistory } as const;

function assertRange(from: number, to: number, tip: HeaderRecord): void {
  if (to > tip.height) throw new OperatorError(`--to ${to} is above the tip, ${tip.height}`);
  if (from > to) throw new OperatorError(`--from ${from} is above the last block, ${to}`);
}

function beginRange(request: ExportRequest): RangeRequest {
  const { reads, from, to } = request;
  return reads.snapshot(() => {
    const tip = reads.tip();
    assertRange(from, to ?? tip.height, tip);
    return { ...request, end: reads.headers.byHeight(to ?? tip.height)! };
  });
}

/** Returns the last block of the range. Throws OperatorError where a reorg has disconnected it. */
function endRange({ reads, end }: RangeRequest): HeaderRecord {
  const block = reads.headers.byHeight(end.height);
  if (block === null || !equalBytes(block.hash, end.hash)) throw reorged(end.height);
  return end;
}

function reorged(height: number): OperatorError {
  return new OperatorError(`a reorg changed the chain at height ${height} during the export: run it again`);
}

/** Yields the blocks of the range. Throws OperatorError where a reorg changes those that were exported. */
function* activeBlocks({ reads, from, end }: RangeRequest): Generator<HeaderRecord> {
  let last: HeaderRecord | null = null;
  for (let at = from; at <= end.height; at++) {
    const block = reads.headers.byHeight(at);
    if (block === null || (last !== null && !equalBytes(block.header.subarray(4, 36), last.hash))) throw reorged(at);
    yield block;
    last = block;
  }
}

/** One row for each transaction and each script that it pays to or spends from, in the order of the chain. */
function* historyOfBlocks(request: RangeRequest): Generator<ExportRow | null> {
  const { reads, params } = request;
  for (const block of activeBlocks(request)) {
    const raw = reads.rawBlock(block);
    const undo = reads.rawUndo(block);
    // The first block has no undo data.
    if (raw === null || (undo === null && block.height > 0))
      throw new OperatorError(`the block of height ${block.height} or its undo data is not stored: begin above it`);
    const r = new ByteReader(undo ?? new Uint8Array());
    const time = headerTime(block);
    for (const [index, { tx, txid }] of parseBlock(raw).txs.entries()) {
      const sums = new Map<string, { readonly script: Uint8Array; received: number; sent: number }>();
      const add = (script: Uint8Array, received: bigint, sent: bigint) => {
        const key = script.toHex();
        let sum = sums.get(key);
        if (sum === undefined) sums.set(key, (sum = { script, received: 0, sent: 0 }));
        sum.received += Number(received);
        sum.sent += Number(sent);
      };
      for (const { output } of index === 0 ? [] : readTxUndo(r, tx.inputs.length))
        add(output.scriptPubKey, 0n, output.value);
      for (const { scriptPubKey, value } of tx.outputs) if (!isUnspendable(scriptPubKey)) add(scriptPubKey, value, 0n);
      for (const [hex, { script, received, sent }] of sums)
        yield [block.height, time, index, hashToHex(txid), hex, addressOf(script, params.address), received, sent];
    }
    yield null;
  }
}

/** The rows of one script, through the address index. */
function* historyOfScript(request: RangeRequest, script: Uint8Array): Generator<ExportRow | null> {
  const { reads, params, from, end } = request;
  const hex = script.toHex();
  const shown = addressOf(script, params.address);
  const below = txPosition(end.height + 1, 0);
  for (let above = txPosition(from, 0) - 1; ; ) {
    const page = reads.snapshot(() => {
      if (!reads.isCovered('address'))
        throw new OperatorError(
          'the address index does not cover the chain: wait until it is built, or omit --address',
        );
      const records = reads.scripts.history(reads.scripts.keyOf(script), {
        ...{ above, below, order: 'asc', limit: HISTORY_PAGE },
      });
      return records.map(({ position, received, sent }) => {
        const at = positionHeight(position);
        const record = reads.txs.byPosition(position)!;
        const row = [at, headerTime(reads.headers.byHeight(at)!), positionIndex(position), hashToHex(record.txid)];
        return { position, row: [...row, hex, shown, received, sent] satisfies ExportRow };
      });
    });
    for (const { row } of page) yield row;
    const last = page.at(-1);
    if (last === undefined || page.length < HISTORY_PAGE) return;
    above = last.position;
    yield null;
  }
}
