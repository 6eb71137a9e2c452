import { expect, test } from 'bun:test';
import type { AuditCall } from '../../../src/auth/audit/audit-store.ts';
import type { Call } from '../../../src/http/call.ts';
import type { ApiError } from '../../../src/http/errors.ts';
import { ANONYMOUS } from '../../../src/http/principal.ts';
import { requireScope } from '../../../src/rpc/engine/audited.ts';
import type { RpcContext } from '../../../src/rpc/engine/rpc-context.ts';
import { RPC_METHODS } from '../../../src/rpc/methods/methods.ts';

/** Asks for a method over a connection from `ip`. Returns the code of the error and the refusals that were recorded. */
function ask(name: string, ip: string): { error: string | null; refused: string[] } {
  const refused: string[] = [];
  const audit = { recordRefused: ({ method }: AuditCall) => void refused.push(method) };
  const method = RPC_METHODS.get(name)!;
  const call = {
    ...{ requestId: 'r', principal: { ...ANONYMOUS, kind: 'key', id: 'k' }, ip, rate: null },
    ...{ require: () => {}, charge: () => {} },
  } as Call;
  try {
    // The check uses no other part of the context.
    requireScope({ audit, checkKey: () => {} } as unknown as RpcContext, {
      ...{ method, scope: method.scope, args: [], call, wallet: null },
    });
    return { error: null, refused };
  } catch (error) {
    return { error: (error as ApiError).failure, refused };
  }
}

test('a call that the audit log records is refused where its address is not known', () => {
  for (const name of ['createapikey', 'addnode'])
    expect(ask(name, '')).toEqual({ error: 'invalid_request', refused: [name] });
  expect(ask('createapikey', '127.0.0.1')).toEqual({ error: null, refused: [] });
  // A trusted proxy may name no address.
  expect(ask('createapikey', 'unknown')).toEqual({ error: null, refused: [] });
  expect(ask('getblockcount', '')).toEqual({ error: null, refused: [] });
});
