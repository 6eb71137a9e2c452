import { expect, test } from 'bun:test';
import type { Schema } from '../../src/rpc/engine/schema.ts';
import { RPC_METHODS } from '../../src/rpc/methods/methods.ts';

/** Results in which some members are explained by their names alone. */
const PARTLY = [
  ...['gettxout', 'getdeploymentinfo', 'scantxoutset', 'estimaterawfee', 'estimatesmartfee', 'getmempoolcluster'],
  ...['getrawmempool', 'getaddressdeltas', 'getaddressutxos', 'submitpackage', 'testmempoolaccept', 'getblocktemplate'],
  ...['getaddrmaninfo', 'getnettotals', 'getnetworkinfo', 'getpeerinfo', 'getchainstates', 'getmemoryinfo'],
  ...['getrpcinfo', 'devdoublespend', 'getbalances', 'getwalletinfo', 'listreceivedbyaddress', 'listwalletdir'],
  ...['importdescriptors', 'listdescriptors', 'gettransaction', 'listsinceblock', 'getdescriptoractivity'],
  ...['scanblocks', 'gethdkeys', 'getopenrpcinfo', 'rpc.discover'],
];

test('every member of a result has a description', () => {
  const missing: string[] = [];
  for (const [name, { result }] of RPC_METHODS)
    if (!PARTLY.includes(name)) missing.push(...membersWithoutNote(result, name));
  expect(missing).toEqual([]);
});

function membersWithoutNote(schema: Schema, path: string): string[] {
  switch (schema.kind) {
    case 'object':
      return Object.entries(schema.members).flatMap(([name, member]) => [
        ...(isDescribed(member) ? [] : [`${path}.${name}`]),
        ...membersWithoutNote(member, `${path}.${name}`),
      ]);
    case 'array':
    case 'map':
      return membersWithoutNote(schema.of, `${path}[]`);
    case 'tuple':
    case 'anyOf':
      return schema.of.flatMap((each) => membersWithoutNote(each, path));
    default:
      return [];
  }
}

function isDescribed(member: Schema): boolean {
  return member.note !== '' || (member.kind === 'anyOf' && member.of.every(({ note }) => note !== ''));
}
