import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { workOf } from '../../src/consensus/work.ts';
import { AddressRows } from '../../src/indexes/address-rows.ts';
import { genesisBlock } from '../../src/params/genesis.ts';
import type { NetworkParams } from '../../src/params/network-params.ts';
import { type ParsedBlock, parseBlock } from '../../src/primitives/block.ts';
import { type Coin, txPosition } from '../../src/primitives/coin.ts';
import { hashToHex, type Txid } from '../../src/primitives/hash.ts';
import { outpointKey } from '../../src/primitives/outpoint.ts';
import { writeUndoRecord } from '../../src/primitives/undo.ts';
import { type FilePosition, RecordWriter } from '../../src/storage/block-files.ts';
import { openWriter } from '../../src/storage/chain-database.ts';
import { batchCoin, coinKey } from '../../src/storage/coin-store.ts';
import { EventWriter } from '../../src/storage/event-store.ts';
import { type BodyStats, HeaderWriter } from '../../src/storage/header-store.ts';
import { MetaStore } from '../../src/storage/meta-store.ts';
import { RunBatch } from '../../src/storage/runs/run-batch.ts';
import { COINS, SPENDERS, TX_INDEX } from '../../src/storage/runs/run-family.ts';
import { RunStore } from '../../src/storage/runs/run-store.ts';
import { ScriptKeys } from '../../src/storage/script-store.ts';
import { indexSpenders, spenderKeys } from '../../src/storage/spender-store.ts';
import { indexTx, TxWriter } from '../../src/storage/tx-store.ts';
import { sealUndo } from '../../src/storage/undo-record.ts';
import { ByteReader, ByteWriter } from '../../src/util/bytes.ts';
import { systemClock } from '../../src/util/clock.ts';
import { addressBatches } from './run-chain.ts';

const HAVE_BLOCK_AND_UNDO = 3;
const HAVE_BLOCK = 1;

/** The blocks of a file of `magic, size, block` records. */
export function blocksOfFile(bytes: Uint8Array): Uint8Array[] {
  const r = new ByteReader(bytes);
  const blocks: Uint8Array[] = [];
  while (r.remaining > 8) {
    r.skip(4);
    blocks.push(r.bytes(r.u32()));
  }
  return blocks;
}

function bodyStats({ raw, txs, strippedSize }: ParsedBlock): BodyStats {
  const sums = txs.map(({ tx }) => Number(tx.outputs.reduce((sum, { value }) => sum + value, 0n)));
  return {
    txCount: txs.length,
    size: raw.length,
    strippedSize,
    inputs: txs.slice(1).reduce((count, { tx }) => count + tx.inputs.length, 0),
    outputs: txs.reduce((count, { tx }) => count + tx.outputs.length, 0),
    valueOut: sums.slice(1).reduce((sum, value) => sum + value, 0),
    reward: sums[0]!,
  };
}

/**
 * Fills the folder of a chain, taking every block as valid; `side` are further blocks that are kept but not
 * connected, each on a block before it. The genesis block may lead the list or be left out. Slow and simple, for tests.
 */
export function fillChain(
  dir: string,
  params: NetworkParams,
  blocks: readonly Uint8Array[],
  side: readonly Uint8Array[] = [],
): void {
  mkdirSync(dir, { recursive: true });
  const genesisHash = hashToHex(params.consensus.genesisHash);
  const db = openWriter(join(dir, 'chain.db'), { network: params.name, genesisHash }, 64);
  // A writer leaves the range of its event numbers, also where it has no events.
  new EventWriter(db);
  const bodies = new RecordWriter(join(dir, 'blocks'), 'blk', params.magic, { file: 0, length: 0 });
  const undos = new RecordWriter(join(dir, 'blocks'), 'rev', params.magic, { file: 0, length: 0 });
  const headers = new HeaderWriter(db);
  const txs = new TxWriter(db);
  const coins = new Map<string, Coin & { txid: Uint8Array; vout: number }>();
  const txIndex = new RunBatch(TX_INDEX);
  const spenders = new RunBatch(SPENDERS);
  const rows = new AddressRows();
  const runs = new RunStore(db, dir, systemClock);
  const works = new Map<string, { work: bigint; height: number }>();
  let nextId = 1;
  let circulating = 0;
  let txCount = 0;

  const undo = new ByteWriter(1 << 20);
  const connect = (block: ParsedBlock, height: number) => {
    undo.reset();
    let fees = 0;
    for (const [index, { tx, txid, offset }] of block.txs.entries()) {
      const position = txPosition(height, index);
      txs.insertTx(position, txid, offset, undo.length);
      indexTx(txIndex, txid, position, false);
      txCount++;
      let valueIn = 0;
      if (index > 0) {
        for (const { prevout } of tx.inputs) {
          const key = outpointKey(prevout);
          const coin = coins.get(key);
          if (!coin) throw new Error(`no coin ${key}`);
          coins.delete(key);
          const value = Number(coin.output.value);
          circulating -= value;
          valueIn += value;
          writeUndoRecord(undo, coin.position, coin.output.value, coin.output.scriptPubKey);
          rows.spend(coin.output.scriptPubKey, position, { position: coin.position, vout: prevout.vout }, value);
        }
      }
      let sum = 0;
      for (const [vout, output] of tx.outputs.entries()) {
        const value = Number(output.value);
        sum += value;
        const unspendable = output.scriptPubKey[0] === 0x6a || output.scriptPubKey.length > 10_000;
        if (height === 0 || unspendable) continue;
        coins.set(outpointKey({ txid, vout }), { position, output, txid, vout });
        circulating += value;
        rows.receive(output.scriptPubKey, position, vout, value);
      }
      if (index > 0) fees += valueIn - sum;
    }
    indexSpenders(spenders, spenderKeys(block, height), false);
    const body = bodies.append(block.raw);
    const place = undos.append(sealUndo(block.hash, undo.finish()));
    record(block, height, { body, undo: place, stats: bodyStats(block), fees });
    headers.extend(height, nextId - 1, { circulating, utxos: coins.size, txs: txCount });
  };

  const record = (
    block: ParsedBlock,
    height: number,
    rest:
      | { body: FilePosition; undo: FilePosition; stats: BodyStats; fees: number }
      | { body: FilePosition; stats: BodyStats; fees: null },
  ) => {
    const before = works.get(hashToHex(block.header.previousHash))?.work ?? 0n;
    const chainwork = before + workOf(block.header.bits);
    works.set(hashToHex(block.hash), { work: chainwork, height });
    const id = nextId++;
    const status = rest.fees === null ? HAVE_BLOCK : HAVE_BLOCK_AND_UNDO;
    headers.insert({ id, hash: block.hash, header: block.raw.slice(0, 80), height, chainwork, status });
    headers.setBody(id, block.header.time + 5, rest.body, rest.stats);
    if (rest.fees !== null) headers.setUndo(id, rest.undo, rest.fees);
  };

  db.transaction(() => {
    const genesis = genesisBlock(params);
    const leads = blocks[0] && hashToHex(parseBlock(blocks[0]).hash) === genesisHash;
    for (const [height, raw] of (leads ? blocks : [genesis, ...blocks]).entries()) connect(parseBlock(raw), height);
    for (const raw of side) {
      const block = parseBlock(raw);
      const parent = works.get(hashToHex(block.header.previousHash));
      record(block, (parent?.height ?? -1) + 1, { body: bodies.append(raw), stats: bodyStats(block), fees: null });
    }
    txs.finish();
    const unspent = new RunBatch(COINS);
    for (const { txid, vout, position, output } of coins.values())
      batchCoin(
        unspent,
        coinKey({ txid: txid as Txid, vout }),
        position,
        Number(output.value),
        output.scriptPubKey,
        0,
        output.scriptPubKey.length,
      );
    const salt = new MetaStore(db).scriptSalt();
    runs.stageBatches([unspent, txIndex, spenders, ...addressBatches(rows, new ScriptKeys(salt))]);
    runs.insertStaged();
    const [tip] = db
      .query<{ hash: Uint8Array; height: number }, []>(
        'SELECT h.hash, h.height FROM chain c JOIN headers h ON h.id = c.header_id ORDER BY c.height DESC LIMIT 1',
      )
      .all();
    for (const name of ['positions', 'tx', 'address', 'spender'])
      db.prepare('INSERT INTO indexes (name, hash, height) VALUES (?, ?, ?)').run(name, tip!.hash, tip!.height);
    db.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('bestHeaderHeight', ?)").run(nextId - 2 - side.length);
  })();
  for (const file of [bodies, undos]) {
    file.flush();
    file.close();
  }
  // Makes what readers expect of an event log, though it is empty.
  new EventWriter(db);
  runs.close();
  db.close();
}
