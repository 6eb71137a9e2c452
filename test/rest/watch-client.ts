import { expect } from 'bun:test';
import { issueKey } from '../../src/auth/issue-key.ts';
import { restRoutes } from '../../src/rest/rest-routes.ts';
import { STATIC_KEY, startTestApi, type TestApi } from '../lib/api-fixture.ts';
import type { ApiOverrides } from '../lib/default-options.ts';

export interface Watch {
  id: string;
  kind: string;
  value: string;
  confirmations: number[];
  label: string | null;
  createdAt: number;
  created: boolean;
}

export interface Answer {
  status: number;
  body: {
    id: string;
    created: boolean;
    confirmations: number[];
    label: string | null;
    items: Watch[];
    createdCount: number;
    deleted: number;
    missing: string[];
    total: number;
    next: string | null;
    nextCursor: string | null;
    error: { code: string; message: string; details: Record<string, unknown> };
  };
}

export const start = (overrides: ApiOverrides = {}) =>
  startTestApi({ overrides, plugins: [(context) => restRoutes(context)] });

export async function ask(
  it: TestApi,
  method: string,
  path: string,
  body?: unknown,
  key = STATIC_KEY,
): Promise<Answer> {
  const response = await it.get(path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  expect(response.headers.get('cache-control')).toBe('no-store');
  return { status: response.status, body: (await response.json()) as Answer['body'] };
}

export const post = (it: TestApi, body: unknown, key = STATIC_KEY) => ask(it, 'POST', '/api/watches', body, key);
export const list = (it: TestApi, query = '', key = STATIC_KEY) =>
  ask(it, 'GET', `/api/watches${query}`, undefined, key);

export const txid = (n: number) => n.toString(16).padStart(64, '0');
export const txs = (from: number, count: number) =>
  Array.from({ length: count }, (_, i) => ({ kind: 'tx', value: txid(from + i) }));

export function keyOf(it: TestApi, scopes: string[] = ['read']): { key: string; id: string } {
  const { key, record } = issueKey(it.api.auth.store!, { label: '', scopes }, 1);
  it.api.auth.keysChanged();
  return { key, id: record.id };
}
