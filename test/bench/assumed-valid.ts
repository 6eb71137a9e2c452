import { closeSync, copyFileSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { grindBlock } from '../../src/mining/grind.ts';
import { BlockFileScanner } from '../../src/node/block-file-scanner.ts';
import { regtest } from '../../src/params/regtest.ts';
import { encodeBlock, parseBlock } from '../../src/primitives/block.ts';
import { hashToHex, type MerkleRoot, type Txid } from '../../src/primitives/hash.ts';
import { headerHash } from '../../src/primitives/header.ts';
import { type Transaction, txidOf } from '../../src/primitives/transaction.ts';
import { pushNumber } from '../../src/script/script-builder.ts';
import { ByteWriter, concatBytes } from '../../src/util/bytes.ts';
import type { AssumedValidCost } from './assumed-valid-process.ts';
import { measureProcess } from './measured-process.ts';
import { grouped, printGrid } from './report.ts';

/** More than two weeks of blocks must lie on top of a block before its scripts are assumed valid. */
const BURYING_BLOCKS = 2100;
const SPACING = 600;

interface ChainFigures {
  readonly height: number;
  readonly tip: string;
  readonly txs: number;
  readonly inputs: number;
  readonly outputs: number;
}

/**
 * Connects a chain whose scripts are assumed valid, as those of the main chain are, with all indexes; `core` connects it
 * with Bitcoin Core as well, which has none. Prints rates for each second of one core.
 */
export async function benchAssumedValid(chain: string, core: string | undefined): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'obverse-buried-'));
  try {
    const file = join(dir, 'chain.dat');
    const figures = buryChain(chain, file);
    const rates = (seconds: number) => [
      grouped(figures.txs / seconds),
      grouped(figures.inputs / seconds),
      grouped(figures.outputs / seconds),
    ];
    const child = Bun.spawn([process.execPath, join(import.meta.dir, 'assumed-valid-process.ts'), file, figures.tip], {
      stderr: 'inherit',
    });
    const cost = JSON.parse(await new Response(child.stdout).text()) as AssumedValidCost;
    if (cost.height !== figures.height) throw new Error(`the chain ends at height ${cost.height}`);
    const line = (name: string, seconds: number, cpu: number, coreSeconds: number) => [
      name,
      grouped(seconds, 1),
      grouped(cpu, 1),
      grouped(coreSeconds, 1),
      ...rates(coreSeconds),
    ];
    const lines = [line('Obverse', cost.seconds, cost.cpuSeconds, cost.threadSeconds)];
    if (core !== undefined) {
      const command = coreCommand(core, join(dir, 'core'), file, figures.tip);
      const { seconds, cpuSeconds } = await measureProcess(
        ['sh', '-c', `mkdir ${dir}/core && exec "$@"`, 'sh', ...command],
        null,
      );
      const log = readFileSync(join(dir, 'core/regtest/debug.log'), 'utf8');
      if (!log.includes(`height=${figures.height + BURYING_BLOCKS} `)) throw new Error('Bitcoin Core stopped early');
      // Almost all of its work is on one thread.
      lines.push(line('Bitcoin Core', seconds, cpuSeconds, cpuSeconds));
    }
    console.log(
      '\nscripts assumed valid; rates for a second of the thread that connects blocks, for Core of its process',
    );
    printGrid(['', 'seconds', 'CPU s', 'of that thread', 'transactions/s', 'inputs/s', 'outputs/s'], lines);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function coreCommand(bitcoind: string, datadir: string, file: string, assumed: string): readonly string[] {
  return [
    ...[bitcoind, '-regtest', `-datadir=${datadir}`, `-loadblock=${file}`, '-stopafterblockimport'],
    ...['-connect=0', '-listen=0', '-server=0', '-checkblockindex=0', `-assumevalid=${assumed}`],
    ...['-minimumchainwork=00', '-dbcache=1024', `-par=${navigator.hardwareConcurrency}`],
  ];
}

/** Copies a chain and appends empty blocks, under which its scripts count as buried. */
function buryChain(chain: string, file: string): ChainFigures {
  copyFileSync(chain, file);
  const scanner = new BlockFileScanner(chain, regtest.magic);
  const figures = { height: 0, txs: 0, inputs: 0, outputs: 0 };
  let last: Uint8Array | null = null;
  for (let found = scanner.next(); found !== null; found = scanner.next()) {
    const { columns } = parseBlock(found.raw);
    figures.height++;
    figures.txs += columns.txCount;
    figures.inputs += columns.prevoutAt.length - 1;
    figures.outputs += columns.value.length;
    last = found.raw;
  }
  scanner.close();
  if (last === null) throw new Error(`${chain} holds no block of regtest`);
  let { header } = parseBlock(last);
  const tip = hashToHex(headerHash(header));
  const out = openSync(file, 'a');
  const w = new ByteWriter(1024);
  for (let n = 1; n <= BURYING_BLOCKS; n++) {
    const coinbase = emptyCoinbase(figures.height + n);
    const block = grindBlock({
      header: {
        ...header,
        previousHash: headerHash(header),
        merkleRoot: txidOf(coinbase) as Uint8Array as MerkleRoot,
        time: header.time + SPACING,
        nonce: 0,
      },
      transactions: [coinbase],
    });
    header = block.header;
    w.reset();
    w.u32(regtest.magic);
    w.u32(0);
    encodeBlock(w, block);
    const record = w.finish();
    new DataView(record.buffer).setUint32(4, record.length - 8, true);
    writeSync(out, record);
  }
  closeSync(out);
  return { ...figures, tip };
}

function emptyCoinbase(height: number): Transaction {
  return {
    version: 2,
    inputs: [
      {
        prevout: { txid: new Uint8Array(32) as Txid, vout: 0xffff_ffff },
        scriptSig: concatBytes(pushNumber(height), Uint8Array.of(0)),
        sequence: 0xffff_ffff,
        witness: [],
      },
    ],
    outputs: [{ value: 0n, scriptPubKey: Uint8Array.of(0x51) }],
    locktime: 0,
  };
}
