import { coins } from '../../../http/core-number.ts';
import { matchFilter } from '../../../indexes/basic-filter.ts';
import { parseBlock } from '../../../primitives/block.ts';
import { type BlockHash, hashToHex } from '../../../primitives/hash.ts';
import { packScripts, unpackScripts } from '../../../primitives/packed-scripts.ts';
import { rawBlock } from '../../../queries/block-facts.ts';
import { filterBytes } from '../../../queries/filter-reads.ts';
import type { ReadEnv } from '../../../queries/read-env.ts';
import type { ScanStep } from '../../../queries/reader-jobs.ts';
import { blockTxFacts, type TxFacts } from '../../../queries/tx-facts.ts';
import type { HeaderRecord } from '../../../storage/header-store.ts';
import { concatBytes, equalBytes } from '../../../util/bytes.ts';
import { coreScript } from '../../../views/core/core-script.ts';
import { parseJson, type RpcValue } from '../../engine/json.ts';
import { rpcFail } from '../../engine/rpc-error.ts';
import { findBlock } from './blockchain-methods.ts';
import { scannedScripts } from './scan-objects.ts';

/** Result of the step `filters` as JSON: block hashes in display order, and the last scanned height. */
export interface FilterMatches {
  readonly height: number;
  readonly found: readonly string[];
}

/** Result of the steps `blocks` and `mempool`: a line with the two numbers, then the events. */
export interface ScanActivity {
  /** Number of scanned blocks. */
  readonly blocks: number;
  readonly count: number;
  /** JSON of the events, separated by commas. */
  readonly events: string;
}

/** Limit of the scripts of one scan: they take minutes to derive, and stay in memory until the scan ends. */
const MAX_SCRIPTS = 2_000_000;
/** Time after which a step returns, milliseconds. */
const STEP_MS = 250;

/** Runs a step. Returns text, or packed scripts or hashes. Throws RpcError. */
export function runScanStep(env: ReadEnv, step: ScanStep): string | Uint8Array {
  switch (step.step) {
    case 'scripts':
      return packScripts(bounded(scannedScripts(env, parseJson(step.objects) as RpcValue[])));
    case 'filters':
      return JSON.stringify(matchingBlocks(env, step));
    case 'order':
      return inOrder(env, step.blocks);
    case 'blocks':
      return activityText(activityOfBlocks(env, step));
    case 'mempool':
      return activityText(activityOfMempool(env, step));
  }
}

function* bounded(scripts: Iterable<Uint8Array>): Generator<Uint8Array> {
  let count = 0;
  for (const script of scripts) {
    if (++count > MAX_SCRIPTS) rpcFail('invalidParameter', `The scan objects have more than ${MAX_SCRIPTS} scripts`);
    yield script;
  }
}

/** Copies the bytes first, since some functions do not accept shared memory. */
function sharedScripts(packed: SharedArrayBuffer): Uint8Array[] {
  return [...unpackScripts(new Uint8Array(packed).slice())];
}

/** The events are appended as they are: inside JSON they would have to be escaped. */
function activityText({ blocks, count, events }: ScanActivity): string {
  return `${blocks} ${count}\n${events}`;
}

export function readActivity(text: string): ScanActivity {
  const lineEnd = text.indexOf('\n');
  const [blocks, count] = text.slice(0, lineEnd).split(' ').map(Number);
  return { blocks: blocks!, count: count!, events: text.slice(lineEnd + 1) };
}

class ScriptSet {
  readonly #hex: Set<string>;

  constructor(scripts: readonly Uint8Array[]) {
    this.#hex = new Set(scripts.map((script) => script.toHex()));
  }

  has(script: Uint8Array): boolean {
    return this.#hex.has(script.toHex());
  }
}

function matchingBlocks(
  env: ReadEnv,
  { scripts: packed, from, stop, exact }: Extract<ScanStep, { step: 'filters' }>,
): FilterMatches {
  const scripts = sharedScripts(packed);
  const branch = branchOf(env, stop);
  // From here on: what every step has to begin with may take long, and each should get far.
  const until = performance.now() + STEP_MS;
  let wanted: ScriptSet | null = null;
  const found: string[] = [];
  for (let height = from; ; height++) {
    env.expectWork(0);
    const block = branch.get(height) ?? env.reads.headers.byHeight(height)!;
    if (matchFilter(filterOf(env, block), block.hash, scripts)) {
      if (exact) wanted ??= new ScriptSet(scripts);
      if (!wanted || touches(env, block, wanted)) found.push(hashToHex(block.hash));
    }
    if (equalBytes(block.hash, stop) || performance.now() >= until) return { height, found };
  }
}

/** By height, a block and its ancestors that are not in the active chain (any more). */
function branchOf({ reads }: ReadEnv, hash: Uint8Array): Map<number, HeaderRecord> {
  const branch = new Map<number, HeaderRecord>();
  let block = reads.headers.byHash(hash as BlockHash)!;
  while (!reads.headers.isActive(block)) {
    branch.set(block.height, block);
    block = reads.headers.byHash(block.header.subarray(4, 36) as BlockHash)!;
  }
  return branch;
}

function filterOf(env: ReadEnv, block: HeaderRecord): Uint8Array {
  const record = env.reads.filters.get(block.id);
  return (
    (record && filterBytes(env, record)) ??
    rpcFail('internal', 'Filter not found. This error is unexpected and indicates index corruption.')
  );
}

function touches(env: ReadEnv, block: HeaderRecord, wanted: ScriptSet): boolean {
  return factsOf(env, block).some(
    ({ parsed, spent }) =>
      parsed.tx.outputs.some(({ scriptPubKey }) => wanted.has(scriptPubKey)) ||
      spent?.some(({ output }) => wanted.has(output.scriptPubKey)),
  );
}

function factsOf(env: ReadEnv, block: HeaderRecord): TxFacts[] {
  return blockTxFacts(env, block, parseBlock(rawBlock(env, block)), null);
}

function inOrder(env: ReadEnv, blocks: Uint8Array): Uint8Array {
  const byHeight = new Map<number, Uint8Array>();
  for (const hash of hashesOf(blocks)) {
    env.expectWork(0);
    const block = findBlock(env, hash);
    if (!env.reads.headers.isActive(block))
      rpcFail('invalidParameter', 'Block is not in main chain', 'block_not_found');
    byHeight.set(block.height, hash);
  }
  return concatBytes(...[...byHeight].sort(([a], [b]) => a - b).map(([, hash]) => hash));
}

function* hashesOf(packed: Uint8Array): Generator<BlockHash> {
  for (let at = 0; at < packed.length; at += 32) yield packed.subarray(at, at + 32) as BlockHash;
}

function activityOfBlocks(env: ReadEnv, step: Extract<ScanStep, { step: 'blocks' }>): ScanActivity {
  const wanted = new ScriptSet(sharedScripts(step.scripts));
  const until = performance.now() + STEP_MS;
  const events: string[] = [];
  let blocks = 0;
  for (const hash of hashesOf(step.blocks)) {
    env.expectWork(0);
    const block = env.reads.headers.byHash(hash)!;
    const place = { blockhash: hashToHex(block.hash), height: block.height };
    for (const facts of factsOf(env, block))
      for (const event of eventsOf(env, facts, wanted, place)) events.push(event);
    blocks++;
    if (performance.now() >= until) break;
  }
  return { blocks, count: events.length, events: events.join(',') };
}

function activityOfMempool(env: ReadEnv, { scripts }: Extract<ScanStep, { step: 'mempool' }>): ScanActivity {
  const { mempool } = env;
  const wanted = new ScriptSet(sharedScripts(scripts));
  const events: string[] = [];
  for (const slot of mempool.after(0)) {
    env.expectWork(0);
    for (const event of eventsOf(env, mempool.entryAt(slot), wanted, {})) events.push(event);
  }
  return { blocks: 0, count: events.length, events: events.join(',') };
}

/** Yields the spends of a transaction from the scripts, then its payments to them, as JSON. */
function* eventsOf(
  { params }: ReadEnv,
  { parsed, spent }: Pick<TxFacts, 'parsed' | 'spent'>,
  wanted: ScriptSet,
  place: { readonly blockhash?: string; readonly height?: number },
): Generator<string> {
  const { tx } = parsed;
  const txid = hashToHex(parsed.txid);
  for (const [i, { output }] of (spent ?? []).entries()) {
    if (!wanted.has(output.scriptPubKey)) continue;
    const { prevout } = tx.inputs[i]!;
    yield JSON.stringify({
      type: 'spend',
      amount: coins(output.value),
      ...place,
      spend_txid: txid,
      spend_vin: i,
      prevout_txid: hashToHex(prevout.txid),
      prevout_vout: prevout.vout,
      prevout_spk: coreScript(output.scriptPubKey, params),
    });
  }
  for (const [vout, { value, scriptPubKey }] of tx.outputs.entries()) {
    if (!wanted.has(scriptPubKey)) continue;
    yield JSON.stringify({
      type: 'receive',
      amount: coins(value),
      ...place,
      txid,
      vout,
      output_spk: coreScript(scriptPubKey, params),
    });
  }
}
