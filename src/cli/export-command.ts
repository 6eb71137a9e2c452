import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { loadConfig } from '../config/load.ts';
import { OperatorError } from '../util/operator-error.ts';
import { assertOwner } from './auth-access.ts';
import { countText } from './bar.ts';
import { type Command, UsageError } from './command.ts';
import { COMMON_OPTIONS } from './help-text.ts';
import { splitOwnFlags } from './own-flags.ts';

const TABLES = ['blocks', 'utxos', 'address-history'] as const;
const FORMATS = ['csv', 'parquet'] as const;
const MAX_ADDRESSES = 1000;

export const command: Command = {
  usage: 'export blocks|utxos|address-history --out FILE [--format FORMAT] [--from HEIGHT] [--to HEIGHT] [options]',
  description: `Writes a table of the chain to a file, beside a running node or from the directory of a stopped one. Amounts are whole
satoshis. The rows are written as they are read, so that the memory stays small. The file is named FILE.part until it is
complete, and must not exist.

blocks: one row for each block. utxos: the coins of the tip, those of --from to --to alone if a range is given.
address-history: one row for each transaction and each script that it pays to or spends from; with --address only those of
these addresses, which needs the address index. docs/export.md describes all columns.

Exit status: 0 the file is complete, 1 it is not, 2 the command line or the configuration is wrong.`,
  options: [
    ['--out FILE', 'file to write'],
    ['--format FORMAT', 'csv or parquet (default csv)'],
    ['--from HEIGHT', 'first block (default 0)'],
    ['--to HEIGHT', 'last block (default the tip)'],
    ['--address ADDRESS', 'with address-history: only this address; may be given several times'],
    ...COMMON_OPTIONS,
  ],
  examples: [
    'obverse export blocks --out blocks.csv',
    'obverse export utxos --format parquet --out utxos.parquet',
    'obverse export address-history --from 800000 --to 800100 --out history.csv',
  ],
  async run(args, { signal, out, err }) {
    const { values, rest } = splitOwnFlags(args, {
      ...{ '--out': 'text', '--format': 'text', '--from': 'text', '--to': 'text', '--address': 'list' },
    });
    const { config, positionals } = loadConfig(rest);
    const [name, surplus] = positionals;
    const table = TABLES.find((each) => each === name);
    if (table === undefined)
      throw new UsageError(`export needs a table: ${TABLES.join(', ')}${name === undefined ? '' : `, not ${name}`}`);
    if (surplus !== undefined) throw new UsageError(`export takes one table: ${surplus}`);
    const given = values.get('--format')?.[0] ?? 'csv';
    const format = FORMATS.find((each) => each === given);
    if (format === undefined) throw new UsageError(`--format is csv or parquet, not ${given}`);
    const file = values.get('--out')?.[0];
    if (file === undefined) throw new UsageError('export needs --out FILE');
    const addresses = values.get('--address') ?? [];
    if (addresses.length > 0 && table !== 'address-history')
      throw new UsageError('--address goes with address-history alone');
    if (addresses.length > MAX_ADDRESSES) throw new UsageError(`--address may be given ${MAX_ADDRESSES} times`);
    const from = readHeight('--from', values.get('--from')?.[0]) ?? 0;
    const to = readHeight('--to', values.get('--to')?.[0]);
    const path = resolve(file);
    if (existsSync(path)) throw new OperatorError(`${path} already exists: name another file`);
    const owner = statSync(config.networkDir, { throwIfNoEntry: false })?.uid;
    if (owner !== undefined) assertOwner(config.networkDir, owner, 'export');
    const { runExport } = await import('../node/run-export.ts');
    const report = await runExport(config, { table, format, path, from, to, addresses, signal });
    if (report === 'aborted') {
      err('obverse: export interrupted\n');
      return 1;
    }
    out(`${path}: ${countText(report.rows)} rows; the chain up to height ${report.height}, ${report.hash}\n`);
    return 0;
  },
};

function readHeight(flag: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  if (!/^\d{1,9}$/.test(text)) throw new UsageError(`${flag} is a height, not ${text}`);
  return Number(text);
}
