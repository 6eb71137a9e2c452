import { Database } from 'bun:sqlite';
import { afterAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StoredWatches } from '../../src/feed/stored-watches.ts';
import { WatchStore } from '../../src/feed/watch-store.ts';
import { readTarget } from '../../src/feed/watch-values.ts';
import type { WatchWrite } from '../../src/feed/watch-worker-messages.ts';
import { WatchRegistry } from '../../src/feed/watches.ts';
import { ApiError } from '../../src/http/errors.ts';
import { regtest } from '../../src/params/regtest.ts';
import { silentLog } from '../lib/chain-fixture.ts';
import { ManualClock } from '../lib/manual-clock.ts';

const dir = mkdtempSync(join(tmpdir(), 'watches-test-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const watchRequest = (n: number) => ({
  ...readTarget('tx', n.toString(16).padStart(64, '0'), regtest),
  confirmations: undefined,
  label: undefined,
});
const watchRequests = (from: number, count: number) => Array.from({ length: count }, (_, i) => watchRequest(from + i));

/** A writer that makes each change, and loses the replies of the first `lost` ones. */
class LossyWriter {
  lost = 0;
  readonly #store: WatchStore;

  constructor(path: string) {
    this.#store = new WatchStore(path);
  }

  async write(write: WatchWrite) {
    const put = write.type === 'put' ? this.#store.upsert(write.owner, write.changes) : [];
    const removed = write.type === 'remove' && write.ids ? this.#store.remove(write.owner, write.ids) : [];
    if (write.type === 'remove' && !write.ids) this.#store.removeAll(write.owner);
    if (this.lost > 0) {
      this.lost--;
      throw new ApiError('internal_error');
    }
    return { put, removed };
  }

  async close() {
    this.#store.close();
  }
}

test('the stored watches count if it is unknown whether a change was committed', async () => {
  const path = join(dir, 'watches.db');
  const writer = new LossyWriter(path);
  const registry = new WatchRegistry();
  const watches = new StoredWatches({
    registry,
    params: regtest,
    limits: { watchesPerKey: 1000, watchesTotal: 1000 },
    log: silentLog,
    clock: new ManualClock(0),
    isOwner: () => true,
    makeWriter: () => writer,
  });
  watches.open(path);
  const added: string[] = [];
  watches.onAdded((owner) => added.push(owner));
  const set = watches.watchesOf('alice');
  await watches.addWatches('bob', watchRequests(0, 3));
  writer.lost = 1;
  await expect(watches.addWatches('alice', watchRequests(0, 250))).rejects.toThrow('internal error');
  expect([set.size, watches.total, registry.size]).toEqual([250, 253, 253]);
  expect(added).toEqual(['bob', 'alice']);
  // Asked for again, it is there already.
  expect((await watches.addWatches('alice', watchRequests(0, 1)))[0]!.created).toBe(false);
  writer.lost = 1;
  await expect(watches.removeAll('alice')).rejects.toThrow('internal error');
  expect([set.size, watches.total, registry.size]).toEqual([0, 3, 3]);
  await watches.close();
});

test('watches that are stored as they are cause no commit', () => {
  const path = join(dir, 'unchanged.db');
  const store = new WatchStore(path);
  const observer = new Database(path, { readonly: true });
  const version = () => observer.query<{ data_version: number }, []>('PRAGMA data_version').get()!.data_version;
  const change = (n: number, given: { confirmations?: number[]; label?: string | null }) => ({
    ...{ id: `id${n}`, kind: 'tx', value: `value${n}`, target: `target${n}`, createdAt: n },
    ...{ confirmations: given.confirmations ?? [1, 6], label: given.label ?? null },
    given: { confirmations: given.confirmations !== undefined, label: given.label !== undefined },
  });
  const [first] = store.upsert('alice', [change(1, { confirmations: [3], label: 'a' })]);
  const stored = version();
  const same = [change(1, {}), change(1, { confirmations: [3] }), change(1, { label: 'a' })];
  expect(store.upsert('alice', same)).toEqual([first!, first!, first!]);
  expect(version()).toBe(stored);
  const [changed] = store.upsert('alice', [change(1, { label: null })]);
  expect([changed!.label, changed!.confirmations, changed!.id]).toEqual([null, [3], 'id1']);
  const [otherOwner] = store.upsert('bob', [{ ...change(1, {}), id: 'of bob' }]);
  expect(otherOwner!.confirmations).toEqual([1, 6]);
  expect(version()).not.toBe(stored);
  observer.close();
  store.close();
});
