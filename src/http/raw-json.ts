/** The parts of JSON (ES2025's JSON.parse source text access) that TypeScript's library does not declare yet. */
interface JsonWithSource {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): object;
}

const json = JSON as unknown as JsonWithSource;

/** Returns a value that JSON.stringify writes as exactly this text: one number, string or literal. */
export function rawJson(text: string): object {
  return json.rawJSON(text);
}

/** Parses JSON; `number` converts the text of each number to its value. */
export function parseWithNumbers(text: string, number: (text: string) => unknown): unknown {
  return json.parse(text, (_key, value, { source }) => (typeof value === 'number' ? number(source!) : value));
}
