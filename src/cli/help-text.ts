/** Returns rows as two columns, the second one aligned. */
export function columns(rows: readonly (readonly [string, string])[], indent = '  '): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `${indent}${left.padEnd(width)}  ${right}`.trimEnd()).join('\n');
}

/** The options that nearly every command accepts. */
export const COMMON_OPTIONS = [
  ['--network NAME', 'main, testnet4, signet or regtest (default main)'],
  ['--datadir PATH', 'data directory (default $XDG_DATA_HOME/obverse, else ~/.local/share/obverse)'],
  ['--config FILE', 'TOML file with settings'],
  ['--KEY=VALUE', 'any setting, as --http.listen=127.0.0.1:8332'],
] as const;
