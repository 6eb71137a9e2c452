import { createHash } from 'node:crypto';
import type { Transaction } from '../../src/primitives/transaction.ts';
import { txidOf } from '../../src/primitives/transaction.ts';

interface ModelCoin {
  readonly txid: string;
  readonly vout: number;
  readonly code: bigint;
  readonly value: bigint;
  readonly script: string;
}

/** Blocks by height, from the genesis block on. */
export type ModelBlocks = readonly { readonly hash: Uint8Array; readonly txs: readonly Transaction[] }[];

export interface UtxoFile {
  /** The whole file, hex. */
  readonly hex: string;
  readonly coins: number;
  /** The set's hash_serialized_3, display order. */
  readonly hash: string;
  readonly txs: number;
}

/** Computes the file of a UTXO set and its hash from all blocks, with encoders of its own. `magic`: hex. */
export function utxoFileOf(blocks: ModelBlocks, magic = 'fabfb5da'): UtxoFile {
  const set = new Map<string, ModelCoin>();
  let txs = 0;
  for (const [height, block] of blocks.entries()) {
    txs += block.txs.length;
    if (height === 0) continue;
    for (const [i, tx] of block.txs.entries()) {
      if (i > 0) for (const { prevout } of tx.inputs) set.delete(`${prevout.txid.toHex()}:${prevout.vout}`);
      const txid = txidOf(tx).toHex();
      for (const [vout, { value, scriptPubKey }] of tx.outputs.entries()) {
        const script = scriptPubKey.toHex();
        if (script.startsWith('6a') || scriptPubKey.length > 10_000) continue;
        set.set(`${txid}:${vout}`, { txid, vout, code: BigInt(height * 2 + (i === 0 ? 1 : 0)), value, script });
      }
    }
  }
  const groups = Map.groupBy(set.values(), ({ txid }) => txid);
  const txids = [...groups.keys()].sort();
  let hex = `7574786fff0200${magic}${blocks.at(-1)!.hash.toHex()}${little(BigInt(set.size), 8)}`;
  const hash = createHash('sha256');
  for (const txid of txids) {
    const group = groups.get(txid)!;
    for (const { vout, code, value, script } of group.toSorted((a, b) => a.vout - b.vout))
      hash.update(
        `${txid}${little(BigInt(vout), 4)}${little(code, 4)}${little(value, 8)}${compact(script.length / 2)}${script}`,
        'hex',
      );
    hex += txid + compact(group.length);
    for (const { vout, code, value, script } of group.toSorted((a, b) =>
      varInt(BigInt(a.vout)) < varInt(BigInt(b.vout)) ? -1 : 1,
    ))
      hex += compact(vout) + varInt(code) + varInt(amount(value)) + compressedScript(script);
  }
  const digest = createHash('sha256').update(hash.digest()).digest();
  return { hex, coins: set.size, hash: digest.reverse().toString('hex'), txs };
}

function little(value: bigint, bytes: number): string {
  return value
    .toString(16)
    .padStart(bytes * 2, '0')
    .match(/../g)!
    .reverse()
    .join('');
}

function compact(size: number): string {
  if (size < 253) return little(BigInt(size), 1);
  return size < 65_536 ? `fd${little(BigInt(size), 2)}` : `fe${little(BigInt(size), 4)}`;
}

function varInt(value: bigint): string {
  let out = (value & 127n).toString(16).padStart(2, '0');
  for (let rest = value >> 7n; rest > 0n; rest >>= 7n) {
    rest--;
    out = ((rest & 127n) | 128n).toString(16) + out;
  }
  return out;
}

function amount(value: bigint): bigint {
  const digits = value.toString();
  const zeros = value === 0n ? 0 : Math.min(9, /0*$/.exec(digits)![0].length);
  const rest = value / 10n ** BigInt(zeros);
  if (value === 0n) return 0n;
  if (zeros === 9) return 1n + (rest - 1n) * 10n + 9n;
  return 1n + ((rest / 10n) * 9n + (rest % 10n) - 1n) * 10n + BigInt(zeros);
}

/** All keys of test chains are on the curve. */
function compressedScript(script: string): string {
  const forms: [RegExp, (hash: string, last: string) => string][] = [
    [/^76a914(.{40})88ac$/, (hash) => `00${hash}`],
    [/^a914(.{40})87$/, (hash) => `01${hash}`],
    [/^21(0[23].{64})ac$/, (key) => key],
    [/^4104(.{64}).{63}(.)ac$/, (x, last) => `0${4 + (Number.parseInt(last, 16) & 1)}${x}`],
  ];
  for (const [form, shorten] of forms) {
    const match = form.exec(script);
    if (match) return shorten(match[1]!, match[2]!);
  }
  return varInt(BigInt(script.length / 2 + 6)) + script;
}
