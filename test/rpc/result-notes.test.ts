import { expect, test } from 'bun:test';
import type { Schema } from '../../src/rpc/engine/schema.ts';
import { RPC_METHODS } from '../../src/rpc/methods/methods.ts';

test('every member of a result has a description', () => {
  const missing: string[] = [];
  for (const [name, { result }] of RPC_METHODS) missing.push(...membersWithoutNote(result, name));
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
