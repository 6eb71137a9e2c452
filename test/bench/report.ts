import { cpus, totalmem } from 'node:os';

/** Prints the machine, without which the figures mean nothing. */
export function describeMachine(): void {
  const [first] = cpus();
  const gib = (totalmem() / 1024 ** 3).toFixed(0);
  console.log(`${first?.model ?? 'unknown processor'}, ${cpus().length} cores, ${gib} GiB, Bun ${Bun.version}\n`);
}

/** Prints rows of a name and a figure, aligned. */
export function printTable(title: string, rows: readonly (readonly [string, string])[]): void {
  const width = Math.max(...rows.map(([name]) => name.length));
  const right = Math.max(...rows.map(([, value]) => value.length));
  console.log(title);
  for (const [name, value] of rows) console.log(`  ${name.padEnd(width)}  ${value.padStart(right)}`);
  console.log();
}

/** Prints a table with a head, the first column to the left and the others to the right. */
export function printGrid(head: readonly string[], lines: readonly (readonly string[])[]): void {
  const widths = head.map((cell, column) => Math.max(cell.length, ...lines.map((line) => line[column]!.length)));
  for (const line of [head, ...lines])
    console.log(line.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  '));
  console.log();
}

/** Returns the value of the nearest rank: the least one that `share` of the values do not exceed. NaN without values. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

/** Calls per second of `run`, the best of three rounds of a quarter of a second. */
export function rate(run: () => void): number {
  let best = 0;
  for (let round = 0; round < 3; round++) {
    let calls = 0;
    const start = performance.now();
    let elapsed = 0;
    for (; elapsed < 250; elapsed = performance.now() - start) {
      for (let i = 0; i < 16; i++) run();
      calls += 16;
    }
    best = Math.max(best, (calls / elapsed) * 1000);
  }
  return best;
}

export function grouped(value: number, digits = 0): string {
  return value.toLocaleString('en', { maximumFractionDigits: digits, minimumFractionDigits: digits });
}
