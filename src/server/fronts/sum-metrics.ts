/** Gauges that count what belongs to one front. All other gauges are those of the first front. */
const SUMMED_GAUGES: ReadonlySet<string> = new Set(['obverse_ws_connections', 'obverse_ws_backpressured']);
/** The series of `obverse_ws_watched` that counts what belongs to one front. */
const SUMMED_SERIES = 'obverse_ws_watched{by="connection"}';
/** Families of the process and of the thread, which the first front reports. */
const OF_PROCESS = /^(?:process|nodejs)_/;

interface Family {
  readonly comments: string[];
  readonly series: Map<string, string>;
  isSummed: boolean;
}

/**
 * Returns the metrics of all fronts as those of one: counters and histograms are sums, gauges are those of the first text
 * but for counts of connections. Yields after each text, since each has thousands of lines.
 */
export async function sumMetrics(first: string, others: readonly string[]): Promise<string> {
  const families = new Map<string, Family>();
  addText(families, first, true);
  for (const text of others) {
    await new Promise((resolve) => setImmediate(resolve));
    addText(families, text, false);
  }
  const lines: string[] = [];
  for (const { comments, series } of families.values()) {
    lines.push(...comments);
    for (const [name, value] of series) lines.push(`${name} ${value}`);
  }
  return `${lines.join('\n')}\n`;
}

function addText(families: Map<string, Family>, text: string, isFirst: boolean): void {
  let family: Family | null = null;
  for (const line of text.split('\n')) {
    if (line === '') continue;
    if (line.startsWith('# ')) {
      family = familyOf(families, line, isFirst);
      continue;
    }
    if (!family) continue;
    const at = line.lastIndexOf(' ');
    const name = line.slice(0, at);
    const value = line.slice(at + 1);
    const before = family.series.get(name);
    if (isFirst || (before === undefined && family.isSummed)) family.series.set(name, value);
    else if (before !== undefined && (family.isSummed || name === SUMMED_SERIES))
      family.series.set(name, String(Number(before) + Number(value)));
  }
}

/** Returns the family of a comment, `# HELP name text` or `# TYPE name type`. */
function familyOf(families: Map<string, Family>, line: string, isFirst: boolean): Family {
  const [, kind, name = '', type] = line.split(' ', 4);
  let family = families.get(name);
  if (!family) families.set(name, (family = { comments: [], series: new Map(), isSummed: false }));
  if (isFirst || !family.comments.includes(line)) family.comments.push(line);
  if (kind === 'TYPE') family.isSummed = isSummed(name, type);
  return family;
}

function isSummed(name: string, type: string | undefined): boolean {
  if (OF_PROCESS.test(name)) return false;
  return type === 'counter' || type === 'histogram' || SUMMED_GAUGES.has(name);
}
