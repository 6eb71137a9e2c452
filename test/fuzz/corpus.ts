import { readFileSync } from 'node:fs';
import { type ParsedBlock, parseBlock } from '../../src/primitives/block.ts';
import { hashFromHex } from '../../src/primitives/hash.ts';
import { outpointKey } from '../../src/primitives/outpoint.ts';
import { decodeOutput, transactionFromBytes } from '../../src/primitives/transaction.ts';
import { ByteReader, hexToBytes } from '../../src/util/bytes.ts';
import { ALL_SCRIPT_FLAGS, parseScriptFlags } from '../lib/script-flags.ts';
import { hasVectors, readVectorBytes, readVectorJson, vectorPath } from '../lib/vectors.ts';
import { filled, trimmed } from '../script/flag-sets.ts';
import { parseScript } from '../script/parse-script.ts';
import type { Spend } from './spend.ts';

/** Reads published test data once, as inputs to mutate; returns an empty list if it is absent. */
function once<T>(read: () => T[]): () => readonly T[] {
  let list: T[] | null = null;
  return () => (list ??= hasVectors ? read() : []);
}

type TxRow = readonly [readonly (readonly [string, number, string, number?])[], string, string];

const isTxRow = (row: TxRow | string[]): row is TxRow => Array.isArray(row[0]) && row[2] !== 'BADTX';

function readTxRows(name: string): TxRow[] {
  return readVectorJson<(TxRow | string[])[]>(`core/${name}.json`).filter(isTxRow);
}

const blockRows = once(() => readVectorJson<string[][]>('core/blockfilters.json').slice(1));

/** Whole blocks of at most some tens of kilobytes. */
export const corpusBlocks = once<Uint8Array>(() => [
  ...blockRows().map((row) => hexToBytes(row[2]!)),
  readVectorBytes('blocks/mainnet-482683.block'),
]);

export const corpusFilters = once<Uint8Array>(() => blockRows().map((row) => hexToBytes(row[5]!)));

export const corpusTransactions = once<Uint8Array>(() => [
  ...[...readTxRows('tx_valid'), ...readTxRows('tx_invalid')].map((row) => hexToBytes(row[1])),
  ...corpusBlocks().flatMap((raw) =>
    parseBlock(raw)
      .txs.slice(0, 20)
      .map((tx) => tx.raw),
  ),
]);

/** Scripts of every kind, including those of the interpreter's vectors. */
export const corpusScripts = once<Uint8Array>(() => {
  const scripts: Uint8Array[] = [];
  for (const row of readVectorJson<unknown[][]>('core/script_tests.json')) {
    if (row.length < 4) continue;
    for (const text of row.slice(0, 3)) {
      if (typeof text !== 'string' || text.includes('#')) continue;
      try {
        scripts.push(parseScript(text));
      } catch {
        // One of the three files is a list of flags.
      }
    }
  }
  for (const raw of corpusBlocks()) scripts.push(...outputScripts(parseBlock(raw)));
  return scripts;
});

function outputScripts({ txs }: ParsedBlock): Uint8Array[] {
  return txs.flatMap(({ tx }) => tx.outputs.map(({ scriptPubKey }) => scriptPubKey));
}

interface Asset {
  readonly tx: string;
  readonly prevouts: readonly string[];
  readonly index: number;
  readonly flags: string;
  readonly success?: AssetSpend;
  readonly failure?: AssetSpend;
}

interface AssetSpend {
  readonly scriptSig: string;
  readonly witness: readonly string[];
}

/** Inputs whose scripts succeed or fail. */
export const corpusSpends = once<Spend>(() => [
  ...readTxRows('tx_valid').map((row) => spendOfRow(row, (flags) => trimmed(ALL_SCRIPT_FLAGS & ~flags))),
  ...readTxRows('tx_invalid').map((row) => spendOfRow(row, filled)),
  ...readFileSync(vectorPath('taproot/script_assets_half.ndjson'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => spendOfAsset(JSON.parse(line) as Asset))
    .filter(({ tx }) => tx.inputs.length < 20),
]);

function spendOfRow([prevouts, hex, list]: TxRow, flagsOf: (flags: number) => number): Spend {
  const tx = transactionFromBytes(hexToBytes(hex));
  const outputs = new Map(
    prevouts.map(([txid, vout, script, amount]) => [
      outpointKey({ txid: hashFromHex(txid), vout: vout >>> 0 }),
      { value: BigInt(amount ?? 0), scriptPubKey: parseScript(script) },
    ]),
  );
  const spent = tx.inputs.map(({ prevout }) => outputs.get(outpointKey(prevout))!);
  return { flags: flagsOf(parseScriptFlags(list)), index: 0, tx, spent };
}

function spendOfAsset(asset: Asset): Spend {
  const tx = transactionFromBytes(hexToBytes(asset.tx));
  const { scriptSig, witness } = (asset.success ?? asset.failure)!;
  const inputs = tx.inputs.slice();
  inputs[asset.index] = {
    ...inputs[asset.index]!,
    scriptSig: hexToBytes(scriptSig),
    witness: witness.map(hexToBytes),
  };
  const spent = asset.prevouts.map((hex) => decodeOutput(new ByteReader(hexToBytes(hex))));
  return { flags: filled(parseScriptFlags(asset.flags)), index: asset.index, tx: { ...tx, inputs }, spent };
}

/** Valid and invalid addresses and keys as text. */
export const corpusKeyTexts = once<string>(() =>
  ['core/key_io_valid.json', 'core/key_io_invalid.json'].flatMap((name) =>
    readVectorJson<string[][]>(name).map((row) => row[0]!),
  ),
);
