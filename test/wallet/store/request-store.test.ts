import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { RequestStore } from '../../../src/wallet/store/request-store.ts';
import { WALLET_SCHEMA } from '../../../src/wallet/store/wallet-schema.ts';

const txid = (n: number) => new Uint8Array(32).fill(n);

test('a request row has its payment, and a row of an earlier version has none', () => {
  const db = new Database(':memory:');
  db.run(WALLET_SCHEMA);
  const requests = new RequestStore(db);
  requests.addRequest('a', 'aa', txid(7), 1);
  db.run("INSERT INTO requests VALUES ('old', 'bb', 1)");
  expect(requests.findRequest('a')).toEqual({ txid: 'aa', payment: txid(7) });
  expect(requests.findRequest('old')).toEqual({ txid: 'bb', payment: null });
  expect(requests.findRequest('b')).toBeNull();
  db.close();
});

test('the last 100 proposed fee bumps of a transaction are stored', () => {
  const db = new Database(':memory:');
  db.run(WALLET_SCHEMA);
  const requests = new RequestStore(db);
  requests.addBumpDraft(txid(201), txid(200));
  for (let n = 0; n < 120; n++) requests.addBumpDraft(txid(202), txid(n));
  // One that is proposed again counts as new.
  requests.addBumpDraft(txid(202), txid(20));
  requests.addBumpDraft(txid(202), txid(199));
  const kept = requests.bumpDrafts(txid(202)).map(([byte]) => byte);
  expect(kept.toSorted((a, b) => a! - b!)).toEqual([20, ...Array.from({ length: 98 }, (_, i) => 22 + i), 199]);
  expect(requests.bumpDrafts(txid(201))).toEqual([txid(200)]);
  db.close();
});
