import { unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hash256 } from '../../../src/crypto/hash-functions.ts';
import { encodeFilter, matchFilter } from '../../../src/indexes/basic-filter.ts';
import { BlockFileScanner } from '../../../src/node/block-file-scanner.ts';
import { encodeBlock, type ParsedTransaction, parseBlock, parseTransaction } from '../../../src/primitives/block.ts';
import {
  compactSizeLength,
  readCompactSize,
  readVarBytes,
  readVector,
  writeCompactSize,
} from '../../../src/primitives/compact-size.ts';
import type { BlockHash } from '../../../src/primitives/hash.ts';
import { headerBytes, headerFromBytes, headerHash } from '../../../src/primitives/header.ts';
import {
  decodeTransaction,
  transactionBytes,
  transactionFromBytes,
  txidOf,
  wtxidOf,
} from '../../../src/primitives/transaction.ts';
import { readTxUndo, writeUndoRecord } from '../../../src/primitives/undo.ts';
import { ByteReader, ByteWriter, concatBytes, equalBytes, hexToBytes } from '../../../src/util/bytes.ts';
import { decodeFilter } from '../../lib/decode-filter.ts';
import { corpusBlocks, corpusFilters, corpusScripts, corpusTransactions } from '../corpus.ts';
import type { Random } from '../random.ts';
import { decoded, type FuzzTarget, hold } from '../target.ts';

function holdsTogether({ tx, txid, wtxid, raw, strippedSize }: ParsedTransaction): void {
  hold(equalBytes(transactionBytes(tx), raw), 'a transaction is encoded as it was read');
  const stripped = transactionBytes(tx, { witness: false });
  hold(stripped.length === strippedSize, 'size without witness');
  hold(equalBytes(txid, txidOf(tx)) && equalBytes(wtxid, wtxidOf(tx)), 'ids');
  // Without its witness it is still a transaction, unless it has no inputs (BIP-144).
  if (tx.inputs.length > 0)
    hold(equalBytes(transactionBytes(transactionFromBytes(stripped)), stripped), 'is read without witness');
}

const transaction: FuzzTarget = {
  name: 'transaction',
  help: 'decode, encode, ids',
  corpus: corpusTransactions,
  run(input) {
    const parsed = decoded(() => parseTransaction(input));
    if (parsed) holdsTogether(parsed);
    const r = new ByteReader(input);
    const first = decoded(() => decodeTransaction(r));
    if (first) hold(equalBytes(transactionBytes(first), input.subarray(0, r.pos)), 'reads what it encodes');
  },
};

const block: FuzzTarget = {
  name: 'block',
  help: 'parse, encode, ids of every transaction',
  corpus: corpusBlocks,
  run(input) {
    const parsed = decoded(() => parseBlock(input));
    if (!parsed) return;
    const w = new ByteWriter();
    encodeBlock(w, { header: parsed.header, transactions: parsed.txs.map(({ tx }) => tx) });
    hold(equalBytes(w.finish(), input), 'a block is encoded as it was read');
    hold(equalBytes(parsed.hash, headerHash(parsed.header)), 'hash of the header');
    for (const [i, tx] of parsed.txs.entries()) {
      holdsTogether(tx);
      hold(equalBytes(parsed.txids.subarray(i * 32, i * 32 + 32), tx.txid), 'list of txids');
      hold(equalBytes(input.subarray(tx.offset, tx.offset + tx.raw.length), tx.raw), 'where a transaction stands');
    }
  },
};

const header: FuzzTarget = {
  name: 'header',
  help: 'decode, encode, hash',
  corpus: () => corpusBlocks().map((raw) => raw.slice(0, 80)),
  generate: (random) => random.bytes(80),
  run(input) {
    const value = decoded(() => headerFromBytes(input));
    hold((value !== null) === input.length >= 80, 'a header is 80 bytes');
    if (!value) return;
    hold(equalBytes(headerBytes(value), input.subarray(0, 80)), 'a header is encoded as it was read');
    hold(equalBytes(headerHash(value), hash256(input.slice(0, 80))), 'hash');
  },
};

const MAX_SIZE = 0x0200_0000;

const compactSize: FuzzTarget = {
  name: 'compact-size',
  help: 'sizes, and what they lead',
  corpus: () =>
    ['00', 'fc', 'fdfd00', 'fe00000100', 'fe00000002', 'ff0000000001000000', '0301aa02bbcc'].map(hexToBytes),
  run(input) {
    const r = new ByteReader(input);
    const size = decoded(() => readCompactSize(r));
    if (size !== null) {
      hold(size >= 0 && size <= MAX_SIZE, 'no size above the limit');
      const w = new ByteWriter();
      writeCompactSize(w, size);
      hold(equalBytes(w.finish(), input.subarray(0, r.pos)), 'only the shortest form is read');
      hold(compactSizeLength(size) === r.pos, 'length of a size');
    }
    const bytes = decoded(() => readVarBytes(new ByteReader(input)));
    if (bytes) hold(bytes.length === size, 'as many bytes as the size says');
    const list = decoded(() => readVector(new ByteReader(input), readVarBytes));
    if (list) hold(list.length === size, 'as many elements as the size says');
  },
};

const undo: FuzzTarget = {
  name: 'undo',
  help: 'undo records; the first byte is their number',
  corpus: () =>
    corpusScripts()
      .slice(0, 200)
      .map((script, i) => {
        const w = new ByteWriter();
        w.u8(1);
        writeUndoRecord(w, i * 2 ** 20 + i, BigInt(i) * 1000n, script);
        return w.finish();
      }),
  run(input) {
    const coins = decoded(() => {
      const r = new ByteReader(input);
      return readTxUndo(r, r.u8());
    });
    // Positions are numbers, so values that no chain reaches may not survive.
    if (!coins?.every(({ position }) => Number.isSafeInteger(position))) return;
    const w = new ByteWriter();
    w.u8(coins.length);
    for (const { position, output } of coins) writeUndoRecord(w, position, output.value, output.scriptPubKey);
    hold(equalBytes(w.finish(), input.subarray(0, w.length)), 'records are written as they were read');
  },
};

const NO_BLOCK = new Uint8Array(32) as BlockHash;

const filter: FuzzTarget = {
  name: 'filter',
  help: 'BIP-158 filters from outside',
  corpus: corpusFilters,
  run(input) {
    const script = input.subarray(0, 30);
    const values = decoded(() => decodeFilter(input));
    const matches = decoded(() => matchFilter(input, NO_BLOCK, [script]));
    if (!values) return;
    hold(matches !== null, 'a filter that decodes can be asked');
    const again = encodeFilter(values);
    // The padding bits of the last byte are arbitrary.
    hold(again.length === input.length, 'a filter is as long as its elements take');
    const last = input.length - 1;
    hold(equalBytes(again.subarray(0, last), input.subarray(0, last)), 'a filter is encoded as it was read');
    hold(again.length === 1 || matchFilter(again, NO_BLOCK, [script]) === matches, 'padding decides nothing');
  },
};

const MAGIC = 0xdab5_bffa;
const RECORD_HEADER = 8;
function record(body: Uint8Array, size = body.length): Uint8Array {
  const head = new Uint8Array(RECORD_HEADER);
  const view = new DataView(head.buffer);
  view.setUint32(0, MAGIC, true);
  view.setUint32(4, size, true);
  return concatBytes(head, body);
}

const blockFile: FuzzTarget = {
  name: 'block-file',
  help: 'files of magic, size, block',
  corpus: () => [
    concatBytes(
      ...corpusBlocks()
        .slice(0, 3)
        .map((raw) => record(raw)),
    ),
  ],
  generate(random: Random) {
    const parts: Uint8Array[] = [];
    for (let left = random.int(8); left > 0; left--) {
      const body = random.bytes(random.once(3) ? random.length(300) : 80 + random.length(100));
      parts.push(random.once(4) ? record(body, random.u32() >>> random.int(32)) : record(body));
      if (random.once(3)) parts.push(new Uint8Array(random.length(70_000)));
      if (random.once(3)) parts.push(record(new Uint8Array(0)).slice(0, random.int(8)));
    }
    return concatBytes(...parts);
  },
  run(input) {
    const path = join(tmpdir(), `obverse-fuzz-${process.pid}.dat`);
    writeFileSync(path, input);
    const scanner = new BlockFileScanner(path, MAGIC);
    // The file stays open, and leaves nothing behind even after a crash.
    unlinkSync(path);
    try {
      let end = 0;
      for (let found = scanner.next(); found; found = scanner.next()) {
        const { offset, raw } = found;
        hold(offset >= end && scanner.position > offset, 'records follow each other');
        hold(raw.length >= 80, 'no record below the size of a header');
        const from = offset + RECORD_HEADER;
        hold(equalBytes(input.subarray(offset, from), record(new Uint8Array(0), raw.length)), 'begins with its head');
        hold(equalBytes(input.subarray(from, from + raw.length), raw), 'what stands there');
        hold(equalBytes(scanner.readAt(offset), raw), 'is read again the same');
        end = from + raw.length;
      }
      hold(scanner.position === input.length && scanner.next() === null, 'ends where the file does');
    } finally {
      scanner.close();
    }
  },
};

export const CODEC_TARGETS: readonly FuzzTarget[] = [transaction, block, header, compactSize, undo, filter, blockFile];
