import { LOG_CATEGORIES, type LogCategory, type LogFields, type LogLevel } from './log-levels.ts';

const CATEGORY_WIDTH = Math.max(...LOG_CATEGORIES.map(({ length }) => length));

/** Formats one line of the log. */
export type LogLine = (facts: LineFacts) => string;

interface LineFacts {
  readonly level: LogLevel;
  /** Unix milliseconds. */
  readonly nowMs: number;
  /** Null where the log has no categories. */
  readonly category: LogCategory | null;
  readonly msg: string;
  readonly base: LogFields;
  readonly fields?: LogFields | undefined;
}

/** A JSON object. Fields cannot replace level, time, category and message. */
export const jsonLine: LogLine = ({ level, nowMs, category, msg, base, fields }) => {
  const head = { level, time: new Date(nowMs).toISOString(), ...(category && { category }), msg };
  try {
    return `${JSON.stringify({ ...head, ...base, ...fields, ...head }, plain)}\n`;
  } catch {
    return `${JSON.stringify({ ...head, fields: 'not serializable' })}\n`;
  }
};

const COLOURS: Readonly<Record<LogLevel, string>> = { error: '31', warn: '33', info: '32', debug: '36' };

/** Aligned text for people. */
export const textLine: LogLine = (facts) => lineOfText(facts, (text) => text);

/** Text whose level has a colour, for terminals. */
export const colouredLine: LogLine = (facts) =>
  lineOfText(facts, (text) => `\x1b[${COLOURS[facts.level]}m${text}\x1b[0m`);

function lineOfText(
  { level, nowMs, category, msg, base, fields }: LineFacts,
  painted: (text: string) => string,
): string {
  const time = new Date(nowMs).toISOString().replace('T', ' ').slice(0, 23);
  const label = category === null ? '' : ` ${category.padEnd(CATEGORY_WIDTH)}`;
  let line = `${time} ${painted(level.toUpperCase().padEnd(5))}${label} ${msg}`;
  try {
    for (const [key, value] of Object.entries({ ...base, ...fields })) {
      if (value !== undefined) line += ` ${key}=${fieldText(value)}`;
    }
  } catch {
    line += ' (fields not serializable)';
  }
  return `${line}\n`;
}

/** Returns the value of a field in a line of text. */
export function fieldText(value: unknown): string {
  if (typeof value === 'bigint') return value.toString();
  // Values may come from peers, so anything but plain characters is quoted and escaped.
  if (typeof value === 'string' && /^[\x21\x23-\x3c\x3e-\x7e]+$/.test(value)) return value;
  return JSON.stringify(value, plain);
}

function plain(this: unknown, key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  // JSON.stringify has called toJSON of a Buffer before `value` arrives here.
  const original = (this as Record<string, unknown>)[key];
  if (original instanceof Uint8Array) return original.toHex();
  if (value instanceof Error) return { name: value.name, message: value.message, stack: value.stack };
  return value;
}
