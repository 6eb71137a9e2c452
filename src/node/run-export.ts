import { existsSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Config } from '../config/settings.ts';
import { hashToHex } from '../primitives/hash.ts';
import { CsvWriter } from '../queries/export/csv-writer.ts';
import type { RowWriter } from '../queries/export/export-table.ts';
import { EXPORT_TABLES, type ExportRows } from '../queries/export/export-tables.ts';
import { ParquetRowWriter } from '../queries/export/parquet-writer.ts';
import { parseAddress } from '../script/address.ts';
import { copyProblem } from '../storage/backup/backup-problem.ts';
import { BlockPruned, ChainReads } from '../storage/chain-reads.ts';
import { VERSION } from '../util/build-version.ts';
import { OperatorError } from '../util/operator-error.ts';
import { syncDirectory } from '../util/sync-directory.ts';
import { finishSteps } from './backup/finish-steps.ts';
import { paramsOfConfig } from './config-params.ts';

export interface ExportOptions {
  readonly table: keyof typeof EXPORT_TABLES;
  readonly format: 'csv' | 'parquet';
  /** Absolute path of the file. */
  readonly path: string;
  readonly from: number;
  /** Null for the tip. */
  readonly to: number | null;
  readonly addresses: readonly string[];
  readonly signal: AbortSignal;
}

export interface ExportReport {
  readonly rows: number;
  /** The last block of the chain that the rows are of; the hash in display order. */
  readonly height: number;
  readonly hash: string;
}

/** Writes a table of the chain to a file. Resolves to 'aborted' after an abort. Throws OperatorError. */
export async function runExport(config: Config, options: ExportOptions): Promise<ExportReport | 'aborted'> {
  const { table, format, path, from, to, addresses, signal } = options;
  const params = paramsOfConfig(config);
  const scripts = addresses.map((text) => {
    const parsed = parseAddress(text, params.address);
    if (!parsed.ok) throw new OperatorError(`--address ${text}: ${parsed.error}`);
    return parsed.script;
  });
  if (!existsSync(join(config.chainDir, 'chain.db')))
    throw new OperatorError(`${config.chainDir} holds no chain: name its --datadir and --network`);
  const reads = new ChainReads(config.chainDir);
  const part = `${path}.part`;
  try {
    const { columns, rows } = EXPORT_TABLES[table];
    const writer =
      format === 'csv' ? new CsvWriter(part, columns) : new ParquetRowWriter(part, columns, `obverse ${VERSION}`);
    let report: ExportReport | 'aborted';
    try {
      const all = rows({ reads, params, from, to, scripts: scripts.length > 0 ? scripts : null });
      report = await finishSteps(writeRows(writer, all), signal);
    } finally {
      writer.close();
    }
    if (report === 'aborted') rmSync(part, { force: true });
    else {
      renameSync(part, path);
      syncDirectory(dirname(path));
    }
    return report;
  } catch (error) {
    rmSync(part, { force: true });
    throw exportProblem(error, path);
  } finally {
    reads.close();
  }
}

/** Yields after each row, so that signals are handled. */
function* writeRows(writer: RowWriter, all: ExportRows): Generator<undefined, ExportReport> {
  for (let rows = 0; ; ) {
    const { done, value } = all.next();
    if (done) {
      writer.finish();
      return { rows, height: value.height, hash: hashToHex(value.hash) };
    }
    if (value !== null) {
      writer.writeRow(value);
      rows++;
    }
    yield;
  }
}

function exportProblem(error: unknown, path: string): Error {
  if (error instanceof BlockPruned)
    return new OperatorError(
      `blocks below height ${error.pruneHeight} have been pruned: add --from ${error.pruneHeight}`,
    );
  return copyProblem(error, `the export to ${path}`);
}
