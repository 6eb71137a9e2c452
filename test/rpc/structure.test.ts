import { expect, test } from 'bun:test';
import { openRpcDocument } from '../../src/rpc/engine/openrpc.ts';
import { RPC_METHODS } from '../../src/rpc/methods/methods.ts';
import { describeWithVectors } from '../lib/chain-api.ts';
import type { JsonSchema } from '../lib/json-schema.ts';
import { schemaDifferences } from '../lib/schema-difference.ts';
import { readVectorJson } from '../lib/vectors.ts';

interface DocumentedMethod {
  readonly name: string;
  readonly params: readonly {
    readonly name: string;
    readonly required: boolean;
    readonly schema: JsonSchema;
    readonly 'x-bitcoin-aliases'?: readonly string[];
    readonly 'x-bitcoin-placeholder'?: boolean;
  }[];
  readonly result: { readonly schema: JsonSchema };
  readonly 'x-bitcoin-category': string;
}

/** Methods that Bitcoin Core does not have. */
const OURS_ALONE = [
  ...['estimatefee', 'getlistingmetadata', 'getaddressbalance', 'getaddressdeltas', 'getaddressmempool'],
  ...['getaddresstxids', 'getaddressutxos', 'devdoublespend', 'devflood', 'devpay', 'devreorg'],
  ...['createapikey', 'getapikey', 'listapikeys', 'revokeapikey', 'rotateapikey', 'setapikey'],
  ...['backupnode', 'createlogincode'],
];

/** Methods that Core's document omits. */
const HIDDEN = [
  ...['estimaterawfee', 'generateblock', 'generatetoaddress', 'generatetodescriptor', 'invalidateblock'],
  ...[
    'addconnection',
    'addpeeraddress',
    'echo',
    'echoipc',
    'echojson',
    'generate',
    'getmempoolfeeratediagram',
    'getorphantxs',
    'getrawaddrman',
  ],
  ...['mockscheduler', 'sendmsgtopeer', 'reconsiderblock', 'setmocktime', 'syncwithvalidationinterfacequeue'],
];

/** Intended differences from Core's declarations, with their reasons. */
const DIFFERENCES: Readonly<Record<string, string>> = {
  'getbalance(avoid_reuse): default': 'it depends on the wallet',
  'listunspent(addresses): default': 'null means an empty list',
  'listaddressgroupings[][]: another form, array': 'change has no label, neither here nor there',
  'lockunspent(transactions): default': 'null means an empty list',
  'send(estimate_mode): default': 'unset is what the configuration says',
  'sendall(estimate_mode): default': 'unset is what the configuration says',
  'gettransaction.parent_descs: not here': 'Core declares it there and has it in the details alone',
  'loadwallet.warnings: not here': 'what is wrong with a wallet fails the call',
  'restorewallet.warnings: not here': 'what is wrong with a wallet fails the call',
  'unloadwallet.warnings: not here': 'what goes wrong fails the call',
  'send(options).request_id: ours alone': 'a repeated request is answered with the first txid',
  'sendmany|1.fee_reason: not always there': 'no fee is chosen for a repeated request',
  'sendtoaddress|1.fee_reason: not always there': 'no fee is chosen for a repeated request',
  'sendmany(dummy): default': 'nothing is the same as an empty text',
  'sendmany(estimate_mode): default': 'unset is what the configuration says',
  'sendmany(request_id): Core has no such parameter': 'a repeated request is answered with the first txid',
  'sendtoaddress(avoid_reuse): default': 'it depends on the wallet',
  'sendtoaddress(estimate_mode): default': 'unset is what the configuration says',
  'sendtoaddress(request_id): Core has no such parameter': 'a repeated request is answered with the first txid',
  'signrawtransactionwithwallet(sighashtype): default': 'it depends on the input',
  'walletprocesspsbt(sighashtype): default': 'it depends on the input',
  'stop(wait): Core has no such parameter': 'it is hidden, and the vectors are of the document without hidden parts',
  'backupwallet(replace): Core has no such parameter': 'no backup is replaced unasked',
  'createpsbt(replaceable): default': 'what is left out is not the same as true',
  'createrawtransaction(replaceable): default': 'what is left out is not the same as true',
  'descriptorprocesspsbt(sighashtype): default': 'the words Core has for it are no type',
  'signrawtransactionwithkey(sighashtype): default': 'the words Core has for it are no type',
  'estimatesmartfee(conf_target): optional': 'callers may leave the target out',
  'estimatesmartfee(options).strict: ours alone': 'switches the least rate off',
  'estimatesmartfee.warnings: ours alone': 'says that the least rate was answered',
  'getdeploymentinfo(blockhash): default': 'the words Core has for it are no hash',
  'getnetworkinfo.softwareversion: ours alone': '`version` is the level of Core that is mirrored',
  'getmempoolancestors|1.*.bip125-replaceable: ours alone': 'Core declares it only with -deprecatedrpc',
  'getmempooldescendants|1.*.bip125-replaceable: ours alone': 'Core declares it only with -deprecatedrpc',
  'getmempoolentry.bip125-replaceable: ours alone': 'Core declares it only with -deprecatedrpc',
  'getrawmempool|1.*.bip125-replaceable: ours alone': 'Core declares it only with -deprecatedrpc',
  'getmempoolinfo.fullrbf: ours alone': 'Core declares it only with -deprecatedrpc',
  'getwalletinfo.warnings: ours alone': 'what an operator should know of the wallet',
};

/** Differences of the document itself. Core's structure in the vectors has no descriptions. */
const OF_THE_DOCUMENT = [
  '.info.description: ours alone',
  '.methods[].description: ours alone',
  '.methods[].examples: ours alone',
  '.methods[].params[].description: ours alone',
  '.methods[].params[].x-bitcoin-also-positional: not here',
  '.methods[].x-examples: ours alone',
  '.methods[].x-scope-further: ours alone',
  '.methods[].x-scope: ours alone',
];

const document = JSON.parse(
  JSON.stringify(openRpcDocument(RPC_METHODS.values(), { version: '0.0.0', withHidden: true })),
) as { methods: DocumentedMethod[] };

describeWithVectors('methods as they are declared', () => {
  const core = new Map(
    readVectorJson<{ methods: DocumentedMethod[] }>('core-rpc/openrpc-structure.json').methods.map((method) => [
      method.name,
      method,
    ]),
  );

  test('parameters, results and categories are those of Bitcoin Core except for the listed differences', () => {
    const found = document.methods.flatMap((method) => {
      const theirs = core.get(method.name);
      return theirs ? differences(method, theirs) : [];
    });
    expect(found.toSorted()).toEqual(
      [
        ...Object.keys(DIFFERENCES),
        ...['getopenrpcinfo', 'rpc.discover'].flatMap((name) => OF_THE_DOCUMENT.map((line) => name + line)),
      ].toSorted(),
    );
  });

  test('a method that Core does not document is hidden, or exists only here', () => {
    for (const { name, 'x-bitcoin-category': category } of document.methods)
      if (!core.has(name)) expect([...(category === 'hidden' ? HIDDEN : OURS_ALONE)]).toContain(name);
      else expect(category).not.toBe('hidden');
  });
});

function differences(ours: DocumentedMethod, cores: DocumentedMethod): string[] {
  const { name } = ours;
  const out = schemaDifferences(ours.result.schema, cores.result.schema, name);
  if (ours['x-bitcoin-category'] !== cores['x-bitcoin-category']) out.push(`${name}: ${ours['x-bitcoin-category']}`);
  const count = Math.max(ours.params.length, cores.params.length);
  for (let i = 0; i < count; i++) {
    const [a, b] = [ours.params[i], cores.params[i]];
    if (a?.name !== b?.name) {
      out.push(`${name}(${a?.name ?? ''}): Core has ${b?.name ?? 'no such parameter'}`);
      continue;
    }
    const at = `${name}(${a!.name})`;
    if (a!.required !== b!.required) out.push(`${at}: ${a!.required ? 'required' : 'optional'}`);
    if (String(a!['x-bitcoin-aliases'] ?? '') !== String(b!['x-bitcoin-aliases'] ?? '')) out.push(`${at}: aliases`);
    if (Boolean(a!['x-bitcoin-placeholder']) !== Boolean(b!['x-bitcoin-placeholder'])) out.push(`${at}: placeholder`);
    if (b!.schema.default !== undefined && a!.schema.default !== b!.schema.default) out.push(`${at}: default`);
    out.push(...schemaDifferences(a!.schema, b!.schema, at));
  }
  return out;
}
