import { describe, expect, test } from 'bun:test';
import { openRpcDocument } from '../../src/rpc/engine/openrpc.ts';
import { type RecordedCall, recordedCalls } from '../../src/rpc/examples/recorded-calls.ts';
import { RPC_METHODS } from '../../src/rpc/methods/methods.ts';
import { type JsonSchema, membersOf, schemaProblems } from '../lib/json-schema.ts';
import { unpublishedSecrets } from '../lib/recorded-calls.ts';

describe('each example of the OpenRPC document', () => {
  const { methods } = openRpcDocument(RPC_METHODS.values(), { version: '0', withHidden: true });

  test('is there for every method', () => {
    const without = methods.filter((method) => method['x-examples'].length === 0).map(({ name }) => name);
    expect(without, 'add an example to the declaration of the method').toEqual([]);
  });

  test('has parameters that fit their schemas', () => {
    const problems = methods.flatMap((method) =>
      method['x-examples'].flatMap(({ params }) => paramProblems(method, params)),
    );
    expect(problems).toEqual([]);
  });
});

describe('each recorded call', () => {
  const recorded = recordedCalls();
  const { methods } = openRpcDocument(RPC_METHODS.values(), { version: '0', withHidden: true });
  const byName = new Map(methods.map((method) => [method.name, method]));

  test('is published with its result by name', () => {
    expect(Object.keys(recorded).filter((name) => !byName.has(name))).toEqual([]);
    for (const { name, examples } of methods) expect(examples.length).toBe(Object.keys(recorded[name] ?? {}).length);
    const getblockhash = byName.get('getblockhash')!.examples;
    const genesis = '0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206';
    expect(getblockhash[0]).toEqual({
      name: 'required parameters',
      params: [{ name: 'height', value: 0 }],
      result: { name: 'result', value: genesis },
    });
  });

  test('has parameters and a result that fit their schemas', () => {
    const problems = Object.entries(recorded).flatMap(([name, calls]) => {
      const method = byName.get(name)!;
      const schema = JSON.parse(JSON.stringify(method.result.schema)) as JsonSchema;
      return Object.values(calls).flatMap(({ params, result }) => [
        ...paramProblems(method, params),
        ...schemaProblems(schema, result, `${name} result`),
      ]);
    });
    expect(problems).toEqual([]);
  });

  test('has no secret that is not a published one', () => {
    const [secret] = unpublishedSecrets({ getblock: { secret: { params: [UNPUBLISHED], result: null } } });
    expect(secret).toBe(UNPUBLISHED);
    expect(unpublishedSecrets(recorded)).toEqual([]);
  });

  test('has no directory of the machine on which it was recorded', () => {
    expect(JSON.stringify(recorded)).not.toMatch(/"[^"]*\/(tmp|home|root|work)\//);
  });
});

const UNPUBLISHED = 'cVpF924EspNh8KjYsfhgY96mmxvT6DgdWiTYMtMjuM74hJaU5psW';

type DocumentedMethod = ReturnType<typeof openRpcDocument>['methods'][number];

/** Returns the arguments that do not fit the declared parameters. */
function paramProblems({ name, params }: DocumentedMethod, given: RecordedCall['params']): string[] {
  const values = Array.isArray(given)
    ? (given as readonly unknown[]).map((value, i) => [params[i]?.name ?? `number ${i}`, value] as const)
    : Object.entries(given);
  const missing = params.filter((param) => param.required && !values.some(([each]) => each === param.name));
  const wrong = values.flatMap(([param, value]) => {
    const known = params.find((each) => each.name === param || each['x-bitcoin-aliases']?.includes(param));
    // As in Core, a member of the options may be named like a parameter.
    const option = params.flatMap(({ schema }) => membersOf(schema as JsonSchema).properties[param] ?? [])[0];
    if (!known && option) return schemaProblems(option as JsonSchema, value, `${name} ${param}`);
    if (!known) return [`${name}: no parameter is named ${param}`];
    // Null stands for the default of a parameter by position.
    if (value === null && !known.required) return [];
    const { default: _, ...schema } = known.schema;
    return schemaProblems(schema as JsonSchema, value, `${name} ${param}`);
  });
  return [...missing.map((param) => `${name}: ${param.name} is missing`), ...wrong];
}
