import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type WebhookRecord, WebhookStore } from '../../src/webhooks/webhook-store.ts';

const RECORD: WebhookRecord = {
  ...{ id: 'hook', owner: 'key', url: 'https://shop.example/', types: ['newBlock'], wallets: null, label: null },
  ...{ maxEvents: 100, status: 'active', createdAt: 1, previousSecretUntil: null, position: 'c' },
  ...{ failingFor: null, lastError: null, deliveredAt: null },
};
const secret = (byte: number) => new Uint8Array(32).fill(byte);

test('a previous secret signs until its time, and leaves the file then', () => {
  const dir = mkdtempSync(join(tmpdir(), 'webhook-store-'));
  const path = join(dir, 'webhooks.db');
  const store = new WebhookStore(path);
  const previous = () => {
    using db = new Database(path, { readonly: true });
    return db.query<{ previous: Uint8Array | null }, []>('SELECT previous FROM webhooks').get()!.previous;
  };
  store.insertWebhook(RECORD, secret(1));
  store.replaceSecret('hook', secret(2), 100);
  expect(store.target('hook', 99)!.secrets).toEqual([secret(2), secret(1)]);
  expect(store.removeOldSecrets(99)).toBe(100);
  expect(previous()).not.toBeNull();
  expect(store.target('hook', 100)!.secrets).toEqual([secret(2)]);
  expect(store.removeOldSecrets(100)).toBeNull();
  expect(previous()).toBeNull();
  expect(store.all()[0]!.previousSecretUntil).toBeNull();
  store.close();
  rmSync(dir, { recursive: true });
});
