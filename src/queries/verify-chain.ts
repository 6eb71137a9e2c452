import { checkBlock } from '../consensus/check-block.ts';
import { checkSpentCoins } from '../consensus/check-tx-inputs.ts';
import { blockScriptFlags } from '../consensus/deployments.ts';
import { signatureEngine } from '../crypto/secp256k1.ts';
import { type ParsedBlock, type ParsedTransaction, parseBlock } from '../primitives/block.ts';
import { type Coin, txPosition } from '../primitives/coin.ts';
import { hashToHex } from '../primitives/hash.ts';
import type { Outpoint } from '../primitives/outpoint.ts';
import { readTxUndo } from '../primitives/undo.ts';
import { DecodedTxContext } from '../script/decoded-tx-context.ts';
import { isUnspendable } from '../script/templates.ts';
import { checkInput } from '../script/tx-checker.ts';
import { BlockPruned } from '../storage/chain-reads.ts';
import type { HeaderRecord } from '../storage/header-store.ts';
import { ByteReader, DecodeError, equalBytes } from '../util/bytes.ts';
import type { ReadEnv } from './read-env.ts';

/** Microseconds per byte of a block with all checks. */
const US_PER_BYTE = 2;
/** Limit of coins in memory; with more of them the result is false. */
const MAX_COINS = 2_000_000;
/** Heights of coinbases that later blocks repeated and so replaced (BIP-30). */
const OVERWRITTEN = new Set([91_722, 91_812]);

/** A fault in stored data. */
class Damage extends Error {}

/**
 * Verifies the last `count` blocks of the chain: they can be read (level 0), are valid without context (1), have undo
 * data (2), created exactly the present coins (3), and spent theirs by the rules (4). Each level includes the lower
 * ones.
 */
export function verifyChain(env: ReadEnv, level: number, count: number): boolean {
  const { tip, reads } = env;
  const coins = new CoinsBack(env);
  try {
    for (let height = tip.height; height > Math.max(0, tip.height - count); height--) {
      const record = reads.headers.byHeight(height)!;
      const block = readBlock(env, record);
      if (level >= 1 && checkBlock(block, env.params.consensus)) return false;
      if (level < 2) continue;
      const spent = readUndo(env, record, block);
      if (level >= 4) checkSpends(env, record, block, spent);
      if (level >= 3) coins.disconnect(block, height, spent);
    }
    return true;
  } catch (error) {
    if (error instanceof Damage || error instanceof DecodeError || error instanceof BlockPruned) return false;
    throw error;
  }
}

function readBlock({ reads, expectWork }: ReadEnv, record: HeaderRecord): ParsedBlock {
  expectWork((record.body?.size ?? 0) * US_PER_BYTE);
  const raw = record.body && reads.rawBlock(record);
  // As in Core, the result is false as well where a block has been pruned.
  if (raw === null) throw new Damage('no body');
  const block = parseBlock(raw);
  if (!equalBytes(block.hash, record.hash)) throw new Damage('another block');
  return block;
}

/** Returns the spent outputs of each transaction; none for the coinbase. */
function readUndo({ reads }: ReadEnv, record: HeaderRecord, { txs }: ParsedBlock): Coin[][] {
  const undo = reads.rawUndo(record);
  if (undo === null) throw new Damage('no undo data');
  const r = new ByteReader(undo);
  return txs.map(({ tx }, i) => (i === 0 ? [] : readTxUndo(r, tx.inputs.length)));
}

function checkSpends({ params }: ReadEnv, { hash, height }: HeaderRecord, { txs }: ParsedBlock, spent: Coin[][]): void {
  const flags = blockScriptFlags(hash, height, params.consensus);
  for (const [i, { tx }] of txs.entries()) {
    if (i === 0) continue;
    if (!checkSpentCoins(tx, spent[i]!, height).ok) throw new Damage('amounts');
    const context = new DecodedTxContext(
      tx,
      spent[i]!.map(({ output }) => output),
    );
    for (let n = 0; n < tx.inputs.length; n++)
      if (checkInput(context, n, flags, signatureEngine()) !== 'OK') throw new Damage('scripts');
  }
}

/** The coins as they were before some blocks, on top of the database. */
class CoinsBack {
  readonly #env: ReadEnv;
  /** Changed coins by outpoint; null for one that did not exist yet. */
  readonly #changed = new Map<string, Coin | null>();

  constructor(env: ReadEnv) {
    this.#env = env;
  }

  /** Disconnects a block. Throws Damage where the coins differ from those that it created. */
  disconnect({ txs }: ParsedBlock, height: number, spent: readonly Coin[][]): void {
    for (let i = txs.length - 1; i >= 0; i--) {
      this.#unmake(txs[i]!, height, i);
      for (const [n, { prevout }] of txs[i]!.tx.inputs.entries()) {
        if (i === 0) continue;
        if (this.#get(prevout) !== null) throw new Damage('a coin that was spent is there');
        this.#set(prevout, spent[i]![n]!);
      }
    }
  }

  #unmake({ tx, txid }: ParsedTransaction, height: number, index: number): void {
    if (index === 0 && OVERWRITTEN.has(height)) return;
    for (const [vout, { value, scriptPubKey }] of tx.outputs.entries()) {
      if (isUnspendable(scriptPubKey)) continue;
      const coin = this.#get({ txid, vout });
      const isThere =
        coin !== null &&
        coin.position === txPosition(height, index) &&
        coin.output.value === value &&
        equalBytes(coin.output.scriptPubKey, scriptPubKey);
      if (!isThere) throw new Damage('a coin is missing or another');
      this.#set({ txid, vout }, null);
    }
  }

  #get(outpoint: Outpoint): Coin | null {
    const changed = this.#changed.get(keyOf(outpoint));
    return changed === undefined ? this.#env.reads.coins.get(outpoint) : changed;
  }

  #set(outpoint: Outpoint, coin: Coin | null): void {
    if (this.#changed.size >= MAX_COINS) throw new Damage('too many coins to check');
    this.#changed.set(keyOf(outpoint), coin);
  }
}

function keyOf({ txid, vout }: Outpoint): string {
  return `${hashToHex(txid)}:${vout}`;
}
