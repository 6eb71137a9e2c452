import { example } from '../../engine/example.ts';
import { methodHelp, methodList } from '../../engine/help.ts';
import { JsonText, nodeMethod, type RpcMethod } from '../../engine/method.ts';
import { openRpcDocument } from '../../engine/openrpc.ts';
import { flagParam, optional, textParam } from '../../engine/params.ts';
import { anything, arr, bool, maybe, obj, str } from '../../engine/schema.ts';

const DOCUMENT = obj({
  openrpc: str('version of the specification'),
  info: obj(
    {
      title: str('title of the document'),
      version: str('version of the node, with a v before it'),
      description: str('subject of the document'),
    },
    'about the document',
  ),
  methods: arr(
    obj({
      name: str('name of the method'),
      description: str('purpose of the method'),
      params: arr(
        obj({
          name: str('name of the parameter'),
          required: bool('whether it must be given'),
          schema: anything('JSON Schema'),
          description: maybe(str('meaning of the parameter')),
          'x-bitcoin-aliases': maybe(arr(str(), 'further names of the parameter')),
          'x-bitcoin-placeholder': maybe(bool('accepted for older clients, without effect')),
        }),
        'parameters in their order',
      ),
      result: obj({ name: str('result'), schema: anything('JSON Schema') }, 'form of the result'),
      examples: arr(
        obj({
          name: str('the optional parameters that the call has'),
          params: arr(obj({ name: str('name of the parameter'), value: anything('its argument') }), 'arguments'),
          result: obj({ name: str('result'), value: anything('the result of the call') }, 'result on regtest'),
        }),
        'recorded calls; lists are shortened, and keys are not those of a wallet',
      ),
      'x-bitcoin-category': str('category of the method in help, or hidden'),
      'x-scope': str('that an API key needs for the method'),
      'x-scope-further': maybe(
        obj({ scope: str('needed as well'), where: str('the calls that need it') }, 'scope that some calls need'),
      ),
      'x-examples': arr(
        obj({ description: maybe(str('purpose of the call')), params: anything('array, or object by names') }),
        'arguments of example calls',
      ),
    }),
    'methods, sorted by name',
  ),
});

/** The methods that describe the methods. `all` is called when they run, since they are among the methods themselves. */
export function helpMethods(all: () => ReadonlyMap<string, RpcMethod>): readonly RpcMethod[] {
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
      help: 'Returns the list of all methods by category, or the help of one method.',
      params: [
        optional(textParam('command', { note: 'The method to describe; all methods are listed if it is empty.' }), ''),
      ],
      result: str('text of several lines'),
      examples: [example([]), example(['getblock'])],
      scope: 'read',
      run({ ctx }, command) {
        if (command === '') return methodList(all().values());
        const method = all().get(command);
        return method ? methodHelp(method, ctx.params.ports.http) : `help: unknown command: ${command}`;
      },
    }),
    nodeMethod({
      name: 'getopenrpcinfo',
      category: 'control',
      help: 'Returns an OpenRPC document with a JSON Schema of every parameter and every result.',
      params: [
        optional(flagParam('show_hidden', { note: 'Whether methods for tests and debugging are included.' }), false),
      ],
      result: DOCUMENT,
      examples: [example([]), example([true])],
      scope: 'read',
      run: ({ ctx }, withHidden) => document(ctx.options.version, withHidden),
    }),
    nodeMethod({
      name: 'rpc.discover',
      category: 'control',
      help: 'Returns the OpenRPC document of getopenrpcinfo, under the method name that the OpenRPC specification reserves.',
      params: [],
      result: DOCUMENT,
      scope: 'read',
      run: ({ ctx }) => document(ctx.options.version, false),
    }),
  ];
}
