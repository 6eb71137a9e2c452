import { describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, rmdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { issueKey } from '../../src/auth/issue-key.ts';
import { WatchStore } from '../../src/feed/watch-store.ts';
import { regtest } from '../../src/params/regtest.ts';
import { restRoutes } from '../../src/rest/rest-routes.ts';
import { addressOf } from '../../src/script/address.ts';
import { STATIC_KEY, startTestApi } from '../lib/api-fixture.ts';
import { ManualClock } from '../lib/manual-clock.ts';
import { lockOf } from '../lib/tx-builder.ts';
import { type Answer, ask, keyOf, list, post, start, txid, txs, type Watch } from './watch-client.ts';

const script = lockOf('p2wpkh', 1).scriptPubKey;
const address = addressOf(script, regtest.address)!;
describe('POST /api/watches', () => {
  test('stores a watch, and storing it again changes nothing', async () => {
    await using it = start();
    const request = { kind: 'address', value: address.toUpperCase(), confirmations: [6, 0, 1, 1], label: 'customer 1' };
    const first = await post(it, request);
    expect(first).toEqual({
      status: 200,
      body: {
        id: expect.stringMatching(/^[a-z2-7]{16}$/),
        kind: 'address',
        value: address,
        confirmations: [0, 1, 6],
        label: 'customer 1',
        createdAt: expect.any(Number),
        created: true,
      } as never,
    });
    const same = { ...first.body, created: false };
    // Members that are left out keep their values.
    expect((await post(it, { kind: 'address', value: address })).body).toEqual(same);
    expect((await post(it, { kind: 'address', value: address, confirmations: [3] })).body).toEqual({
      ...same,
      confirmations: [3],
    });
    expect((await post(it, { kind: 'address', value: address, label: null })).body).toEqual({
      ...same,
      confirmations: [3],
      label: null,
    });
    // One script is one watch, whatever it is called by.
    const byScript = await post(it, { kind: 'script', value: script.toHex() });
    expect(byScript.body).toMatchObject({ id: first.body.id, kind: 'address', created: false });
    expect((await list(it)).body.total).toBe(1);
    const { createdAt, id } = first.body as never as Watch;
    expect(Math.abs(createdAt - Date.now() / 1000)).toBeLessThan(60);
    expect((await ask(it, 'GET', `/api/watches/${id}`)).body).toEqual({
      id,
      kind: 'address',
      value: address,
      confirmations: [3],
      label: null,
      createdAt,
    } as never);
    expect(statSync(join(it.dir, 'watches.db')).mode & 0o777).toBe(0o600);
  });

  test('accepts every kind, and each kind has events by default', async () => {
    await using it = start();
    const taken = await post(it, {
      watches: [
        { kind: 'address', value: `script:${'51'.repeat(3)}` },
        { kind: 'script', value: 'ABCD' },
        { kind: 'tx', value: 'AB'.repeat(32) },
        { kind: 'outpoint', value: `${'AB'.repeat(32)}:7` },
      ],
    });
    expect(taken.body.items.map(({ value, confirmations }) => [value, confirmations])).toEqual([
      ['script:515151', []],
      ['abcd', []],
      ['ab'.repeat(32), [0, 1]],
      [`${'ab'.repeat(32)}:7`, [0, 1]],
    ]);
  });

  test('accepts a list with the result of single requests in order', async () => {
    await using it = start();
    await post(it, { kind: 'tx', value: txid(1), label: 'old' });
    const { status, body } = await post(it, {
      watches: [
        { kind: 'tx', value: txid(1) },
        { kind: 'tx', value: txid(2), label: 'first' },
        { kind: 'tx', value: txid(2), label: 'second' },
      ],
    });
    expect(status).toBe(200);
    expect([body.createdCount, body.total]).toEqual([1, 2]);
    expect(body.items.map(({ label, created }) => [label, created])).toEqual([
      ['old', false],
      ['first', true],
      ['second', false],
    ]);
    expect(body.items[1]!.id).toBe(body.items[2]!.id);
    expect((await list(it)).body.items.map(({ label }) => label)).toEqual(['old', 'second']);
  });

  test('accepts all watches of a list or none, and names the invalid one', async () => {
    await using it = start();
    const good = { kind: 'address', value: address };
    for (const [bad, code, name] of [
      [{ kind: 'address', value: '1BoatSLRHtKNngkdXEeobR76b53LETtpyT' }, 'invalid_address', 'value'],
      [{ kind: 'address', value: address.replace('q', 'p') }, 'invalid_address', 'value'],
      [{ kind: 'script', value: 'xyz' }, 'invalid_parameter', 'value'],
      [{ kind: 'script', value: '00'.repeat(10_001) }, 'invalid_parameter', 'value'],
      [{ kind: 'tx', value: 'ab' }, 'invalid_txid', 'value'],
      [{ kind: 'outpoint', value: `${txid(1)}:4294967296` }, 'invalid_parameter', 'value'],
      [{ kind: 'block', value: txid(1) }, 'invalid_parameter', 'kind'],
      [{ kind: 'tx' }, 'invalid_parameter', 'value'],
      [{ ...good, confirmations: [1001] }, 'invalid_parameter', 'confirmations'],
      [{ ...good, confirmations: 1 }, 'invalid_parameter', 'confirmations'],
      [{ ...good, label: 'x'.repeat(201) }, 'invalid_parameter', 'label'],
      [{ ...good, label: '\ud800' }, 'invalid_parameter', 'label'],
    ] as const) {
      const parts = { parameter: `watches.2.${name}`, index: 2 };
      const refused = await post(it, { watches: [...txs(0, 2), bad, good] });
      expect([refused.status, refused.body.error.code]).toEqual([400, code]);
      expect(refused.body.error.details).toMatchObject(parts);
      const alone = (await post(it, bad)).body.error;
      expect([alone.code, alone.details.parameter, alone.details.index]).toEqual([code, name, undefined]);
    }
    const foreign = await post(it, { watches: [{ kind: 'address', value: '1BoatSLRHtKNngkdXEeobR76b53LETtpyT' }] });
    expect(foreign.body.error.details).toMatchObject({ reason: 'wrong_network', network: 'regtest', index: 0 });
    for (const body of [[good], 'x', { watches: [] }, { watches: 7 }, { watches: [7] }, {}])
      expect((await post(it, body)).status).toBe(400);
    expect((await list(it)).body.total).toBe(0);
    // Nothing was worth a file.
    expect(existsSync(join(it.dir, 'watches.db'))).toBe(false);
  });

  test('watches are limited by request, by key and in total', async () => {
    await using it = start({ limits: { watchesPerKey: 1200, watchesTotal: 1300 } });
    const many = await post(it, { watches: txs(0, 1001) });
    expect([many.status, many.body.error.details]).toEqual([400, expect.objectContaining({ limit: 1000 })]);
    expect((await post(it, { watches: txs(0, 1000) })).body.createdCount).toBe(1000);
    const over = await post(it, { watches: txs(900, 301) });
    expect([over.status, over.body.error.code]).toEqual([409, 'limit_exceeded']);
    expect(over.body.error.details).toEqual({ limit: 1200, watched: 1000, added: 201 });
    expect((await post(it, { watches: txs(900, 300) })).body).toMatchObject({ createdCount: 200, total: 1200 });
    // A watched item may still change at the limit.
    expect((await post(it, { kind: 'tx', value: txid(5), label: 'x' })).status).toBe(200);
    expect((await post(it, { kind: 'tx', value: txid(9999) })).status).toBe(409);
    const other = keyOf(it).key;
    expect((await post(it, { watches: txs(0, 101) }, other)).body.error.details.limit).toBe(1300);
    expect((await post(it, { watches: txs(0, 100) }, other)).body.total).toBe(100);
    await ask(it, 'DELETE', '/api/watches?all=true');
    expect((await post(it, { watches: txs(0, 101) }, other)).body.total).toBe(101);
    // Each different number of confirmations requires one more block to be checked.
    const thresholds = Array.from({ length: 3 }, (_, i) => ({
      kind: 'tx',
      value: txid(i),
      confirmations: Array.from({ length: 7 }, (_, n) => i * 7 + n),
    }));
    expect((await post(it, { watches: thresholds })).body.error).toMatchObject({
      code: 'limit_exceeded',
      details: { limit: 20 },
    });
  });

  test('several forms of one target are one watch', async () => {
    await using it = start();
    const answers = await Promise.all(Array.from({ length: 40 }, () => post(it, { kind: 'tx', value: txid(1) })));
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(answers.filter(({ body }) => body.created).length).toBe(1);
  });

  test('a watch that cannot be stored is not confirmed, and the request can be repeated', async () => {
    await using it = start();
    const path = join(it.dir, 'watches.db');
    mkdirSync(path);
    expect((await post(it, { kind: 'tx', value: txid(1) })).body.error.code).toBe('internal_error');
    expect(it.api.context.watches.total).toBe(0);
    rmdirSync(path);
    expect((await post(it, { kind: 'tx', value: txid(1) })).body.created).toBe(true);
    expect((await list(it)).body.total).toBe(1);
  });

  test('accepts the content types of curl and fetch, and no others', async () => {
    await using it = start();
    const send = (type: string) =>
      it.get('/api/watches', {
        method: 'POST',
        headers: { authorization: `Bearer ${STATIC_KEY}`, 'content-type': type },
        body: JSON.stringify({ kind: 'tx', value: txid(1) }),
      });
    expect((await send('application/x-www-form-urlencoded')).status).toBe(200);
    expect((await send('text/xml')).status).toBe(415);
    expect((await it.get('/api/watches', { method: 'POST', body: '{}' })).status).toBe(401);
    expect((await post(it, {}, keyOf(it, ['metrics']).key)).body.error.code).toBe('insufficient_scope');
  });
});

describe('GET /api/watches', () => {
  test('shows those of the key, oldest first, page by page', async () => {
    await using it = start();
    const { key } = keyOf(it);
    await post(it, { watches: txs(0, 7) });
    await post(it, { watches: txs(0, 3) }, key);
    const values: string[] = [];
    for (let path: string | null = '/api/watches?limit=3'; path !== null; ) {
      const { body }: Answer = await ask(it, 'GET', path);
      expect(body.total).toBe(7);
      values.push(...body.items.map(({ value }) => value));
      path = body.next;
    }
    expect(values).toEqual(txs(0, 7).map(({ value }) => value));
    expect((await list(it, '', key)).body).toMatchObject({ total: 3, next: null, nextCursor: null });
    const { nextCursor } = (await list(it, '?limit=3')).body;
    // A page goes on where it ended, also when that is gone.
    await ask(it, 'DELETE', `/api/watches/${(await list(it)).body.items[2]!.id}`);
    const rest = await list(it, `?limit=3&cursor=${nextCursor}`);
    expect(rest.body.items.map(({ value }) => value)).toEqual([txid(3), txid(4), txid(5)]);
    expect((await list(it, `?kind=tx&cursor=${nextCursor}`)).body.error.code).toBe('invalid_cursor');
    for (const query of ['?limit=0', '?limit=1001', '?kind=x', '?value=x'])
      expect((await list(it, query)).body.error.code).toBe('invalid_parameter');
  });

  test('finds by kind, value and label', async () => {
    await using it = start();
    await post(it, { watches: [...txs(0, 3), { kind: 'address', value: address, label: 'shop' }] });
    await post(it, { kind: 'tx', value: txid(1), label: 'shop' });
    const found = async (query: string) => (await list(it, query)).body.items.map(({ value }) => value);
    expect(await found('?kind=address')).toEqual([address]);
    expect(await found(`?value=${address}`)).toEqual([address]);
    expect(await found(`?value=${script.toHex()}`)).toEqual([address]);
    expect(await found(`?value=${address}&kind=tx`)).toEqual([]);
    expect(await found(`?value=${txid(2).toUpperCase()}`)).toEqual([txid(2)]);
    expect(await found('?label=shop')).toEqual([txid(1), address]);
    expect(await found('?label=shop&kind=tx')).toEqual([txid(1)]);
    expect(await found('?label=sho')).toEqual([]);
  });
});

describe('DELETE /api/watches', () => {
  test('removes the named watches, or all of them on request', async () => {
    await using it = start();
    const { items } = (await post(it, { watches: txs(0, 6) })).body;
    const ids = items.map(({ id }) => id);
    const gone = (body: unknown, query = '') => ask(it, 'DELETE', `/api/watches${query}`, body);
    expect((await ask(it, 'DELETE', `/api/watches/${ids[0]}`)).body).toMatchObject({ deleted: 1, total: 5 });
    expect((await ask(it, 'DELETE', `/api/watches/${ids[0]}`)).body.error.code).toBe('not_found');
    expect((await ask(it, 'GET', `/api/watches/${ids[0]}`)).body.error.code).toBe('not_found');
    expect((await ask(it, 'GET', '/api/watches/x')).status).toBe(404);
    expect((await gone({ ids: [ids[0], ids[1], ids[1]] })).body).toEqual({
      deleted: 1,
      missing: [ids[0]],
      total: 4,
    } as never);
    // A proxy may drop the body of a DELETE.
    expect((await gone(undefined, `?ids=${ids[2]},${ids[3]}`)).body).toMatchObject({ deleted: 2, total: 2 });
    for (const body of [
      undefined,
      {},
      { all: false },
      { ids: [] },
      { all: 1 },
      { all: true, ids: [ids[4]] },
      { ids: ['x'] },
    ])
      expect([body, (await gone(body)).body.error.code]).toEqual([body, 'invalid_parameter']);
    expect((await gone(undefined, '?all=yes')).status).toBe(400);
    expect((await gone({ ids: Array(1001).fill(ids[4]) })).status).toBe(400);
    expect((await list(it)).body.total).toBe(2);
    expect((await gone({ all: true })).body).toMatchObject({ deleted: 2, missing: [], total: 0 });
    expect((await list(it)).body.items).toEqual([]);
  });

  test('reaches only the watches of the key', async () => {
    await using it = start();
    const { key } = keyOf(it);
    const { id } = (await post(it, { kind: 'tx', value: txid(1) })).body;
    expect((await ask(it, 'GET', `/api/watches/${id}`, undefined, key)).status).toBe(404);
    expect((await ask(it, 'DELETE', `/api/watches/${id}`, undefined, key)).status).toBe(404);
    expect((await ask(it, 'DELETE', '/api/watches', { ids: [id] }, key)).body.missing).toEqual([id]);
    expect((await ask(it, 'DELETE', '/api/watches', { all: true }, key)).body.deleted).toBe(0);
    expect((await list(it)).body.total).toBe(1);
  });
});

test('revoking a key removes its watches, and an expired key keeps them', async () => {
  const clock = new ManualClock(Date.now());
  await using it = startTestApi({ clock, plugins: [(context) => restRoutes(context)] });
  const store = it.api.auth.store!;
  const revoked = keyOf(it);
  const expiresAt = Math.floor(clock.nowMs() / 1000) + 10;
  const { key, record } = issueKey(store, { label: '', scopes: ['read'], expiresAt }, 1);
  const other = { key, id: record.id };
  it.api.auth.keysChanged();
  await post(it, { watches: txs(0, 5) }, revoked.key);
  await post(it, { watches: txs(0, 2) }, other.key);
  const watched = async () => {
    const text = await (await it.get('/metrics', { headers: { authorization: `Bearer ${STATIC_KEY}` } })).text();
    return Number(/^obverse_ws_watched\{by="key"\} (\d+)$/m.exec(text)![1]);
  };
  expect(await watched()).toBe(7);
  clock.advance(20_000);
  store.revokeKey(revoked.id, 2);
  it.api.auth.keysChanged();
  expect((await list(it, '', STATIC_KEY)).status).toBe(200);
  while ((await watched()) !== 2) await Bun.sleep(2);
  const rows = new WatchStore(join(it.dir, 'watches.db'));
  expect(rows.all(0, 10).map(({ owner }) => owner)).toEqual([other.id, other.id]);
  rows.close();
});
