import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseBlock } from '../../../src/primitives/block.ts';
import { grouped, percentile, printGrid } from '../report.ts';
import { BenchNode, type NodeKind } from './nodes.ts';

const BATCH = 500;
/** Last blocks of the chain, whose transactions are submitted. */
const BLOCKS = 8;
const MAGIC_AND_SIZE = 8;
const WARM_UP_CALLS = 200;

interface Submission {
  readonly accepted: number;
  readonly seconds: number;
  readonly processorUs: number;
  readonly reasons: ReadonlyMap<string, number>;
}

/**
 * Submits the transactions of a chain's last blocks to nodes that have connected the blocks before, in JSON-RPC batches;
 * the nodes alternate.
 */
export async function benchSubmission(chain: string, kinds: readonly NodeKind[], rounds: number): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'obverse-bench-'));
  try {
    const { blocks, height, hexes } = await splitChain(chain, join(directory, 'blocks.dat'));
    const found = new Map(kinds.map(({ name }) => [name, [] as Submission[]]));
    for (let round = 0; round < rounds; round++)
      for (const kind of kinds) found.get(kind.name)!.push(await submitAll(kind, blocks, height, hexes));
    console.log(`sendrawtransaction of ${grouped(hexes.length)} mixed transactions in batches of ${BATCH}`);
    printGrid(
      ['', 'accepted', 'a second: median', 'best', 'µs of processor each: median', 'least'],
      [...found].map(([name, all]) => {
        const rates = all.map(({ accepted, seconds }) => accepted / seconds).sort((a, b) => a - b);
        const costs = all.map(({ processorUs }) => processorUs / hexes.length).sort((a, b) => a - b);
        return [
          name,
          grouped(all[0]!.accepted),
          grouped(percentile(rates, 0.5)),
          grouped(rates.at(-1)!),
          grouped(percentile(costs, 0.5)),
          grouped(costs[0]!),
        ];
      }),
    );
    for (const [name, [first]] of found)
      if (first!.reasons.size > 0) console.log(name, Object.fromEntries(first!.reasons));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function submitAll(
  kind: NodeKind,
  blocks: string,
  height: number,
  hexes: readonly string[],
): Promise<Submission> {
  await using node = await BenchNode.start(kind, blocks, height);
  // The first calls load and compile code that is not about transactions.
  for (let i = 0; i < WARM_UP_CALLS; i++) await node.call('getblockcount');
  const reasons = new Map<string, number>();
  let accepted = 0;
  const before = node.processorUs;
  const startedAt = performance.now();
  for (let from = 0; from < hexes.length; from += BATCH) {
    const calls = hexes.slice(from, from + BATCH).map((hex) => ({ method: 'sendrawtransaction', params: [hex, 0] }));
    for (const { error } of await node.send(calls))
      if (!error) accepted++;
      else reasons.set(error.message, (reasons.get(error.message) ?? 0) + 1);
  }
  const seconds = (performance.now() - startedAt) / 1000;
  return { accepted, seconds, processorUs: node.processorUs - before, reasons };
}

/** Writes all but the last blocks to a file. Returns it with its height, and the transactions of the last blocks. */
async function splitChain(chain: string, blocks: string) {
  const bytes = await Bun.file(chain).bytes();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const starts: number[] = [];
  for (let at = 0; at < bytes.length; at += MAGIC_AND_SIZE + view.getUint32(at + 4, true)) starts.push(at);
  const cut = starts.at(-BLOCKS)!;
  writeFileSync(blocks, bytes.subarray(0, cut));
  const hexes: string[] = [];
  for (const at of starts.slice(-BLOCKS)) {
    const size = view.getUint32(at + 4, true);
    const { txs } = parseBlock(bytes.subarray(at + MAGIC_AND_SIZE, at + MAGIC_AND_SIZE + size));
    for (const { raw } of txs.slice(1)) hexes.push(raw.toHex());
  }
  return { blocks, height: starts.length - BLOCKS, hexes };
}
