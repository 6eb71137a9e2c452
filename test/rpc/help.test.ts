import { describe, expect, test } from 'bun:test';
import { example } from '../../src/rpc/engine/example.ts';
import { methodHelp, methodList } from '../../src/rpc/engine/help.ts';
import { parseJson } from '../../src/rpc/engine/json.ts';
import { examplesOf, nodeMethod, readArguments } from '../../src/rpc/engine/method.ts';
import { amount, array, integerParam, optional, options, type Param, textParam } from '../../src/rpc/engine/params.ts';
import { arr, bool, hashStr, int, jsonSchema, obj } from '../../src/rpc/engine/schema.ts';
import { RPC_METHODS } from '../../src/rpc/methods/methods.ts';
import { schemaProblems } from '../lib/json-schema.ts';

const METHODS = [...RPC_METHODS.values()];

const sample = nodeMethod({
  name: 'sample',
  category: 'util',
  help: 'Returns a sample.',
  params: [
    textParam('name', { note: 'Name of the sample.' }),
    optional(integerParam('count', { aliases: ['number'], note: 'Number of samples.' }), 3),
    optional(amount('limit', { note: 'Limit, coins.' }), null),
    optional(options('options', { strict: bool('false by default') }, { note: 'Further settings.' }), {}),
    optional(
      array('outputs', (value) => value, { schema: arr(obj({ txid: hashStr(), vout: int() })), note: 'Outputs.' }),
      [],
    ),
  ],
  result: int('number of samples'),
  examples: [example(['a']), example({ name: 'b', strict: true }, 'Strictly:')],
  scope: 'read',
  run: () => 1,
});

describe('help of a method', () => {
  test('shows usage, arguments with their forms, result, scope and examples', () => {
    expect(methodHelp(sample, 18443).split('\n')).toEqual([
      'sample "name" ( count limit {"strict":…} [outputs,...] )',
      '',
      'Returns a sample.',
      '',
      'Arguments:',
      '1. name (string, required)',
      '   Name of the sample.',
      '2. count | number (integer, default 3)',
      '   Number of samples.',
      '3. limit (number or string, optional)',
      '   Limit, coins.',
      '4. options (optional)',
      '   Further settings.',
      '   {',
      '     "strict"?: true or false                 false by default',
      '   }',
      '5. outputs (optional)',
      '   Outputs.',
      '   [',
      '     {',
      '       "txid": hash',
      '       "vout": integer',
      '     }',
      '     ...',
      '   ]',
      '',
      'Result:',
      'integer                                    number of samples',
      '',
      'Scope: read',
      '',
      'Examples:',
      `> curl -H "Authorization: Bearer $API_KEY" http://127.0.0.1:18443/ -d '{"jsonrpc":"2.0","id":1,"method":"sample","params":["a"]}'`,
      'Strictly:',
      `> curl -H "Authorization: Bearer $API_KEY" http://127.0.0.1:18443/ -d '{"jsonrpc":"2.0","id":1,"method":"sample","params":{"name":"b","strict":true}}'`,
    ]);
  });

  test('the list has the categories of Bitcoin Core as headings', () => {
    const headings = methodList(METHODS)
      .split('\n')
      .filter((line) => line.startsWith('=='));
    expect(headings).toEqual([
      ...['== Addressindex ==', '== Blockchain ==', '== Control ==', '== Mining ==', '== Network =='],
      ...['== Rawtransactions ==', '== Signer ==', '== Util ==', '== Wallet =='],
    ]);
  });
});

describe('every method', () => {
  test('has a description, and a description of each argument, in sentences', () => {
    const isSentence = (words: string | undefined) => words !== undefined && /^\w.*\.$/.test(words);
    const missing = METHODS.flatMap(({ name, help, params }) => [
      ...(isSentence(help) ? [] : [name]),
      ...params.filter(({ schema }) => !isSentence(schema?.note)).map((param) => `${name}(${param.name})`),
    ]);
    expect(missing).toEqual([]);
  });

  test('has an example', () => {
    expect(METHODS.filter((method) => examplesOf(method).length === 0).map(({ name }) => name)).toEqual([]);
  });

  test('accepts the arguments of its examples, which fit the declared schemas and a shell command', () => {
    const problems = METHODS.flatMap((method) =>
      examplesOf(method).flatMap(({ params: given }) => {
        const json = JSON.stringify(given);
        expect(() => readArguments(method, parseJson(json))).not.toThrow();
        expect(json).not.toContain("'");
        const values = Array.isArray(given)
          ? given.map((value, i) => [method.params[i]!, value] as const)
          : Object.entries(given).map(([key, value]) => argumentOf(method.params, key, value));
        return values
          .filter(([, value]) => value !== null)
          .flatMap(([param, value]) =>
            schemaProblems(jsonSchema(param.schema!), value, `${method.name}.${param.name}`),
          );
      }),
    );
    expect(problems).toEqual([]);
  });
});

/** The parameter of a named argument, which may be a member of an object parameter. */
function argumentOf(params: readonly Param<unknown>[], key: string, value: unknown) {
  const param = params.find(({ name, members }) => name === key || members.includes(key))!;
  return [param, param.name === key ? value : { [key]: value }] as const;
}
