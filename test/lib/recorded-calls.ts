import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { EXAMPLE } from '../../src/rpc/engine/example.ts';
import type { RpcMethod } from '../../src/rpc/engine/method.ts';
import { jsonSchema } from '../../src/rpc/engine/schema.ts';
import { type RecordedCall, type RecordedCalls, recordedCalls } from '../../src/rpc/examples/recorded-calls.ts';
import { addChecksum } from '../../src/wallet/descriptor/checksum.ts';
import { type JsonSchema, schemaProblems } from './json-schema.ts';
import { isRecording, shortened } from './recorded-examples.ts';

const FOLDER = resolve(import.meta.dir, '../../src/rpc/examples');
/** Longest argument that is part of a name: hashes differ with each run. */
const MAX_NAMED = 16;
/** Data directory that the examples name instead of a temporary one. */
const SHOWN_DIRECTORY = '/var/lib/obverse';
const SYNTHETIC_SECRET = 'a'.repeat(58);

/** WIF of the coins of test/lib/tx-builder, by which the recorded signatures were made. */
export const TEST_WIF = 'cUeKHd5orzT3mz8P9pxyREHfsWtVfgsfDjiZZBcjUBAaGk1BTj7N';

/** Patterns of secrets, and the published ones that may stand in examples. Others are replaced by the first of these. */
const SECRETS: readonly (readonly [RegExp, ...published: string[]])[] = [
  [/\b[tx]prv[1-9A-HJ-NP-Za-km-z]{107}\b/g, EXAMPLE.extendedPrivateKey],
  [/(?<![0-9A-Za-z/+=])[c9][1-9A-HJ-NP-Za-km-z]{50,51}(?![0-9A-Za-z/+=])/g, EXAMPLE.privateKey, TEST_WIF],
  [/(?<=\bobv1_[a-z2-7]{10}_)[a-z2-7]{58}\b/g, SYNTHETIC_SECRET],
  [/\b(?:[0-9A-Z]{4}-){3}[0-9A-Z]{4}\b/g, 'AAAA-AAAA-AAAA-AAAA'],
];

type Params = RecordedCall['params'];

/**
 * Returns the name of an example: the optional parameters that the call has, with their short values. Calls that differ
 * in required arguments alone share an example.
 */
function exampleName(method: RpcMethod, params: Params): string {
  const given = Array.isArray(params)
    ? (params as readonly unknown[]).map((value, i) => [method.params[i]?.name ?? String(i), value] as const)
    : Object.entries(params);
  const isRequired = (name: string) => method.params.some((param) => param.name === name && param.required);
  const shown = given
    .filter(([name, value]) => value !== null && !isRequired(name))
    .map(([name, value]) => {
      const text = typeof value === 'object' ? '' : ` ${value}`;
      return text.length > 1 && text.length <= MAX_NAMED ? name + text : name;
    });
  const form = Array.isArray(params) ? [] : ['by name'];
  return [...shown, ...form].join(', ') || (given.length > 0 ? 'required parameters' : 'no parameters');
}

/** Returns what is wrong with the example that shows this call; empty if it fits the declarations of its method. */
function problemsOf(method: RpcMethod, example: RecordedCall | undefined): string[] {
  if (!example) return ['it is missing'];
  const declared = JSON.parse(JSON.stringify(jsonSchema(method.result))) as JsonSchema;
  return schemaProblems(declared, example.result, 'result');
}

/** Replaces secrets by published ones, corrects the checksums of their descriptors, and hides a temporary directory. */
function publishable<T>(value: T, datadir: string): T {
  let text = JSON.stringify(value).replaceAll(datadir, SHOWN_DIRECTORY);
  for (const [pattern, ...published] of SECRETS)
    text = text.replaceAll(pattern, (found) => (published.includes(found) ? found : published[0]!));
  const described = /"([^"#]*)#[a-z0-9]{8}"/g;
  return JSON.parse(text.replaceAll(described, (_, body: string) => `"${addChecksum(body)}"`)) as T;
}

/** Returns the secrets of the recorded calls that are not published ones. */
export function unpublishedSecrets(calls: RecordedCalls): string[] {
  const text = JSON.stringify(calls);
  return SECRETS.flatMap(([pattern, ...published]) =>
    [...text.matchAll(pattern)].map(([found]) => found).filter((found) => !published.includes(found)),
  );
}

/**
 * Throws if no recorded example shows a call, or if the recorded one does not fit the declared result. With
 * RECORD_EXAMPLES=1 the call and its result are recorded instead.
 */
export function holdRecordedCall(method: RpcMethod, { params, result }: RecordedCall, datadir: string): void {
  const name = exampleName(method, params);
  const path = join(FOLDER, `${method.category}.json`);
  const calls = isRecording ? (JSON.parse(readFileSync(path, 'utf8')) as RecordedCalls) : recordedCalls();
  const problems = problemsOf(method, calls[method.name]?.[name]);
  if (problems.length === 0) return;
  if (!isRecording)
    throw new Error(`${method.name}, example "${name}": ${problems.join('; ')}. Record it with RECORD_EXAMPLES=1.`);
  const short = { params, result: shortened(result) };
  // A list of a fixed length stays whole.
  const example = publishable(problemsOf(method, short).length === 0 ? short : { params, result }, datadir);
  const changed = { ...calls, [method.name]: { ...calls[method.name], [name]: example } };
  const sorted = Object.fromEntries(Object.entries(changed).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(path, `${JSON.stringify(sorted, null, 2)}\n`);
}
