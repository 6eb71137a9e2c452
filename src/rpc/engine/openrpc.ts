import { examplesOf, type RpcMethod } from './method.ts';
import type { Param } from './params.ts';
import { anything, type JsonSchema, jsonSchema } from './schema.ts';

const OPENRPC_VERSION = '1.4.1';

/**
 * Returns the OpenRPC document of the methods, sorted by name. Members with `x-bitcoin` are Core's, `x-scope` and
 * `x-examples` are ours.
 */
export function openRpcDocument(
  methods: Iterable<RpcMethod>,
  { version, withHidden }: { readonly version: string; readonly withHidden: boolean },
) {
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
      .map((method) => methodObject(method, withHidden)),
  };
}

function methodObject(method: RpcMethod, withHidden: boolean) {
  const { name, help, params, result, category, hidden, scope, further } = method;
  return {
    name,
    description: help,
    params: params.filter(({ hidden }) => withHidden || !hidden).map(paramObject),
    result: { name: 'result', schema: jsonSchema(result) },
    'x-bitcoin-category': hidden ? 'hidden' : category,
    'x-scope': scope,
    ...(further && { 'x-scope-further': { scope: further.scope, where: further.where } }),
    'x-examples': examplesOf(method).map(({ params: given, about }) => ({
      ...(about !== '' && { description: about }),
      params: given,
    })),
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
