import { type RecordedCall, recordedCalls } from '../examples/recorded-calls.ts';
import { examplesOf, type RpcMethod } from './method.ts';
import type { Param } from './params.ts';
import { anything, type JsonSchema, jsonSchema } from './schema.ts';

const OPENRPC_VERSION = '1.4.1';

/**
 * Returns the OpenRPC document of the methods, sorted by name. Members with `x-bitcoin` are Core's, `x-scope` and
 * `x-examples` are ours. `examples` has recorded calls with their results.
 */
export function openRpcDocument(
  methods: Iterable<RpcMethod>,
  { version, withHidden }: { readonly version: string; readonly withHidden: boolean },
) {
  const recorded = recordedCalls();
  return {
    openrpc: OPENRPC_VERSION,
    info: {
      title: 'Obverse JSON-RPC',
      version: `v${version}`,
      description: 'The JSON-RPC methods of this node.',
    },
    methods: [...methods]
      .filter(({ hidden }) => withHidden || !hidden)
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map((method) => methodObject(method, withHidden, recorded[method.name] ?? {})),
  };
}

function methodObject(method: RpcMethod, withHidden: boolean, recorded: Readonly<Record<string, RecordedCall>>) {
  const { name, help, params, result, category, hidden, scope, further } = method;
  return {
    name,
    description: help,
    params: params.filter(({ hidden }) => withHidden || !hidden).map(paramObject),
    result: { name: 'result', schema: jsonSchema(result) },
    examples: Object.entries(recorded).map(([label, call]) => examplePairing(label, call, params)),
    'x-bitcoin-category': hidden ? 'hidden' : category,
    'x-scope': scope,
    ...(further && { 'x-scope-further': { scope: further.scope, where: further.where } }),
    'x-examples': examplesOf(method).map(({ params: given, about }) => ({
      ...(about !== '' && { description: about }),
      params: given,
    })),
  };
}

/** Returns the values by the names of their parameters, as OpenRPC wants them, in either form of the call. */
function examplePairing(name: string, { params, result }: RecordedCall, declared: readonly Param<unknown>[]) {
  const byName = Array.isArray(params)
    ? (params as readonly unknown[]).map((value, i) => [declared[i]!.name, value] as const)
    : Object.entries(params);
  return {
    name,
    params: byName.map(([param, value]) => ({ name: param, value })),
    result: { name: 'result', value: result },
  };
}

function paramObject(
  { name, required, aliases, placeholder, schema = anything() }: Param<unknown>,
  i: number,
  all: readonly Param<unknown>[],
) {
  const { description, ...bare } = jsonSchema(schema);
  return {
    name,
    required,
    schema: withDefault(bare, all[i]!.fallback),
    ...(aliases.length > 0 && { 'x-bitcoin-aliases': aliases }),
    ...(placeholder && { 'x-bitcoin-placeholder': true }),
    ...(description !== undefined && { description }),
  };
}

function withDefault(schema: JsonSchema, fallback: unknown): JsonSchema {
  return fallback === undefined ? schema : { ...schema, default: fallback };
}
