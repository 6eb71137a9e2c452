import { expect, test } from 'bun:test';
import { MempoolBehind } from '../../../src/queries/read-env.ts';
import { RpcDispatcher } from '../../../src/rpc/engine/dispatcher.ts';
import { readCall } from '../../../src/rpc/engine/protocol.ts';
import type { RpcContext } from '../../../src/rpc/engine/rpc-context.ts';
import { RPC_METHODS } from '../../../src/rpc/methods/methods.ts';

/** Runs a call whose read ends with `error`; returns what was logged. */
async function loggedOf(error: unknown, signal: AbortSignal): Promise<string[]> {
  const logged: string[] = [];
  const log = { error: (message: string) => logged.push(message), enabled: () => false, category: () => log };
  const readNow = () => {
    throw new MempoolBehind('the read has to wait');
  };
  const queries = { sources: { settings: {} }, readNow, readShort: () => Promise.reject(error) };
  const ctx = { log, metrics: { rpc: () => {} }, mempool: { mirror: null }, queries } as unknown as RpcContext;
  const queueSlot = { releaseDuring: <T>(wait: () => Promise<T>) => wait() };
  const call = readCall({ method: 'getblockcount' });
  const dispatcher = new RpcDispatcher(ctx, RPC_METHODS);
  const result = Promise.resolve(dispatcher.run(call, { call: null, wallet: null, request: { signal }, queueSlot }));
  expect(await result.catch((failure: unknown) => failure)).toMatchObject({ rpcCode: -32603 });
  return logged;
}

test('a fault is logged, and a caller that has left is no fault', async () => {
  expect(await loggedOf(new Error('damaged'), new AbortController().signal)).toEqual(['JSON-RPC call failed']);
  const left = AbortSignal.abort();
  expect(await loggedOf(left.reason, left)).toEqual([]);
  expect(await loggedOf(new Error('damaged'), left)).toEqual(['JSON-RPC call failed']);
});

test.each([
  ['"myrpcid"', 'myrpcid'],
  ['"abc\\n<def\\u0007>"', 'abcdef'],
  [`"${'x'.repeat(100)}"`, 'x'.repeat(64)],
  ['7', '7'],
  [undefined, undefined],
])('the debug line of a call has the safe characters of its id: %p', (id, shown) => {
  const lines: unknown[] = [];
  const log = { debug: (_: string, fields: unknown) => lines.push(fields), enabled: () => true, category: () => log };
  const kept = { state: {}, head: '', tail: '' };
  const queries = { isPresent: () => true };
  const ctx = { log, metrics: { rpc: () => {} }, queries } as unknown as RpcContext;
  const call = { ...readCall({ method: 'getblockcount' }), id, prepared: { kept } as never };
  expect(new RpcDispatcher(ctx, RPC_METHODS).keptReply(call)).not.toBeNull();
  expect(lines).toEqual([{ method: 'getblockcount', id: shown }]);
});
