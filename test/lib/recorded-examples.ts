import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { RouteExample, RouteExamples } from '../../src/server/docs/route-examples.ts';

const FOLDER = resolve(import.meta.dir, '../../src/server/docs/examples');
const MAX_ITEMS = 3;
const MAX_TEXT = 700;

/** Whether replies are recorded where an example has none, or one that does not fit: `RECORD_EXAMPLES=1`. */
export const isRecording = process.env.RECORD_EXAMPLES === '1';

/** Shortens lists and texts, so that an example can be read. What is left has the same schema. */
export function shortened(value: unknown): unknown {
  if (typeof value === 'string' && value.includes('\n')) return value.slice(0, value.lastIndexOf('\n', MAX_TEXT) + 1);
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map(shortened);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shortened(member)]));
}

/** Writes a request and its reply into the file of examples that has this one. */
export function recordExample(route: string, name: string, example: RouteExample): void {
  for (const file of new Bun.Glob('*.json').scanSync(FOLDER)) {
    const path = join(FOLDER, file);
    const examples = JSON.parse(readFileSync(path, 'utf8')) as RouteExamples;
    if (!examples[route]?.[name]) continue;
    const { response, ...request } = example;
    const recorded = { ...request, ...(response !== undefined && { response: shortened(response) }) };
    const changed = { ...examples, [route]: { ...examples[route], [name]: recorded } };
    writeFileSync(path, `${JSON.stringify(changed, null, 2)}\n`);
  }
}

/** Writes a message under its name in the AsyncAPI document. */
export function recordMessage(name: string, message: object): void {
  const path = join(FOLDER, 'messages.json');
  const examples = {
    ...(JSON.parse(readFileSync(path, 'utf8')) as Record<string, object>),
    [name]: shortened(message),
  };
  const sorted = Object.fromEntries(Object.entries(examples).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(path, `${JSON.stringify(sorted, null, 2)}\n`);
}
