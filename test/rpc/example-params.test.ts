import { describe, expect, test } from 'bun:test';
import { openRpcDocument } from '../../src/rpc/engine/openrpc.ts';
import { RPC_METHODS } from '../../src/rpc/methods/methods.ts';
import { type JsonSchema, membersOf, schemaProblems } from '../lib/json-schema.ts';

describe('each example of the OpenRPC document', () => {
  const { methods } = openRpcDocument(RPC_METHODS.values(), { version: '0', withHidden: true });

  test('is there for every method', () => {
    const without = methods.filter((method) => method['x-examples'].length === 0).map(({ name }) => name);
    expect(without, 'add an example to the declaration of the method').toEqual([]);
  });

  test('has parameters that fit their schemas', () => {
    const problems = methods.flatMap(({ name, params, 'x-examples': examples }) =>
      examples.flatMap(({ params: given }) => {
        const values = Array.isArray(given)
          ? (given as readonly unknown[]).map((value, i) => [params[i]?.name ?? `number ${i}`, value] as const)
          : Object.entries(given as Readonly<Record<string, unknown>>);
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
      }),
    );
    expect(problems).toEqual([]);
  });
});
