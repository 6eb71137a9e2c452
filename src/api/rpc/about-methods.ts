import { JsonText, nodeMethod, type RpcMethod, scopeText, usage } from './method.ts';
import { openRpcDocument } from './openrpc.ts';
import { flag, optional, text } from './params.ts';
import { anything, arr, bool, maybe, obj, schemaText, str } from './schema.ts';

/** `getblock "blockhash" ( verbosity )`, what it does, takes and returns. */
function helpOn(method: RpcMethod): string {
  const { help, params, result } = method;
  const lines = params.map(({ name, required, aliases, fallback, schema = anything() }, i) => {
    const names = [name, ...aliases].join(' | ');
    const kind = schemaText({ ...schema, note: '' }).replaceAll(/\n\s*/g, ' ');
    const when = required ? 'required' : fallback === undefined ? 'optional' : `default ${JSON.stringify(fallback)}`;
    return `${i + 1}. ${names}: ${kind}, ${when}${schema.note && `; ${schema.note}`}`;
  });
  return [
    usage(method),
    help,
    ...(lines.length > 0 ? [`Arguments:\n${lines.join('\n')}`] : []),
    `Result:\n${schemaText(result)}`,
    `Scope: ${scopeText(method)}`,
  ].join('\n\n');
}

function listOf(methods: Iterable<RpcMethod>): string {
  const groups = Map.groupBy(methods, ({ category }) => category);
  return [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([category, members]) => {
      const title = category[0]!.toUpperCase() + category.slice(1);
      return [`== ${title} ==`, ...members.map(usage).sort()].join('\n');
    })
    .join('\n\n');
}

const DOCUMENT = obj({
  openrpc: str('version of the specification'),
  info: obj({ title: str(), version: str(), description: str() }),
  methods: arr(
    obj({
      name: str(),
      description: str(),
      params: arr(
        obj({
          name: str(),
          required: bool(),
          schema: anything('JSON Schema'),
          description: maybe(str()),
          'x-bitcoin-aliases': maybe(arr(str())),
          'x-bitcoin-placeholder': maybe(bool('there for older callers alone')),
        }),
      ),
      result: obj({ name: str(), schema: anything('JSON Schema') }),
      'x-bitcoin-category': str(),
      'x-scope': str('what a key needs to call it'),
      'x-scope-further': maybe(obj({ scope: str('needed as well'), where: str('by which calls') })),
    }),
  ),
});

/** The methods that tell of the methods; `all` is asked when they run. */
export function aboutMethods(all: () => ReadonlyMap<string, RpcMethod>): readonly RpcMethod[] {
  const documents = new Map<boolean, JsonText>();
  const document = (version: string, withHidden: boolean): JsonText => {
    const made =
      documents.get(withHidden) ??
      new JsonText(JSON.stringify(openRpcDocument(all().values(), { version, withHidden })));
    documents.set(withHidden, made);
    return made;
  };
  return [
    nodeMethod({
      name: 'help',
      category: 'control',
      help: 'All methods, or what one of them does.',
      params: [optional(text('command'), '')],
      result: str(),
      scope: 'read',
      run(_env, command) {
        if (command === '') return listOf(all().values());
        const method = all().get(command);
        return method ? helpOn(method) : `help: unknown command: ${command}`;
      },
    }),
    nodeMethod({
      name: 'getopenrpcinfo',
      category: 'control',
      help: 'The methods as an OpenRPC document, for programs.',
      params: [optional(flag('show_hidden', { note: 'those for tests as well' }), false)],
      result: DOCUMENT,
      scope: 'read',
      run: ({ ctx }, withHidden) => document(ctx.options.version, withHidden),
    }),
    nodeMethod({
      name: 'rpc.discover',
      category: 'control',
      help: 'The methods as an OpenRPC document, under the name that OpenRPC has for it.',
      params: [],
      result: DOCUMENT,
      scope: 'read',
      run: ({ ctx }) => document(ctx.options.version, false),
    }),
  ];
}
