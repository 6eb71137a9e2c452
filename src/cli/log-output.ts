import { LOG_CATEGORIES, LOG_LEVELS, type LogCategory, type LogLevel } from '../util/log-levels.ts';
import { textLine } from '../util/log-lines.ts';

/** The lines that are shown, and how. */
export interface LineFilter {
  readonly level: LogLevel;
  /** Empty for all. */
  readonly categories: readonly LogCategory[];
  /** Whether a line is shown as it was logged. */
  readonly json: boolean;
}

/** `2027-01-31 12:00:00.000 INFO  p2p      …`, the format of text. */
const TEXT_LINE = /^\d{4}-\d\d-\d\d [\d:.]{12} ([A-Z]+) +([a-z0-9]+)/;

/** Returns a line of the log as text for people; null where the filter leaves it out. */
export function shownLine(line: string, filter: LineFilter): string | null {
  const parsed = parseLine(line);
  // Lines of the runtime and of the service manager belong to no category.
  const level = parsed?.level ?? 'error';
  const category = parsed?.category ?? 'node';
  if (LOG_LEVELS.indexOf(level) > LOG_LEVELS.indexOf(filter.level)) return null;
  if (filter.categories.length > 0 && !filter.categories.includes(category)) return null;
  const text = filter.json || !parsed?.fields ? line : formatted(parsed);
  // A line may come from a peer by way of another program, and must not rewrite the terminal.
  return text.replaceAll(/\p{Cc}/gu, '?');
}

interface ParsedLine {
  readonly level: LogLevel;
  readonly category: LogCategory;
  /** Null for a line that is text already. */
  readonly fields: Readonly<Record<string, unknown>> | null;
}

function parseLine(line: string): ParsedLine | null {
  if (!line.startsWith('{')) {
    const [, level = '', category = ''] = TEXT_LINE.exec(line) ?? [];
    const known = LOG_LEVELS.find((each) => each === level.toLowerCase());
    return known ? { level: known, category: categoryOf(category), fields: null } : null;
  }
  try {
    const fields = JSON.parse(line) as Record<string, unknown>;
    const level = LOG_LEVELS.find((each) => each === fields.level);
    return level ? { level, category: categoryOf(fields.category), fields } : null;
  } catch {
    return null;
  }
}

function categoryOf(name: unknown): LogCategory {
  return LOG_CATEGORIES.find((each) => each === name) ?? 'node';
}

function formatted({ level, category, fields }: ParsedLine): string {
  const { level: _level, category: _category, time, msg, ...base } = fields!;
  const nowMs = Date.parse(String(time));
  return textLine({ level, nowMs: Number.isNaN(nowMs) ? 0 : nowMs, category, msg: String(msg), base }).trimEnd();
}
