import { expect, test } from 'bun:test';
import { MessageChannel } from 'node:worker_threads';
import { loadConfig } from '../../../src/config/load.ts';
import { ApiError } from '../../../src/http/errors.ts';
import { liveOptionsOf } from '../../../src/http/live-options.ts';
import { apiOptionsOf } from '../../../src/node/api-options.ts';
import type { FrontCalls, OwnerCalls } from '../../../src/server/fronts/front-calls.ts';
import { FrontLink, type Handlers } from '../../../src/server/fronts/front-link.ts';
import { FurtherFronts } from '../../../src/server/fronts/further-fronts.ts';

type Front = Handlers<FrontCalls>;

const never = () => new Promise<never>(() => {});

/** Connects fronts with these functions. A front of null never answers. */
function fronts(...handlers: readonly (Partial<Front> | null)[]) {
  const further = new FurtherFronts();
  const asked: string[] = [];
  further.serve((caller) => {
    const owner: Partial<Handlers<OwnerCalls>> = {
      findTicket: (_, text) => {
        if (text === 'wrong') throw new ApiError('limit_exceeded', 'too many', { limit: 7 });
        if (text === 'fault') throw new Error('a fault');
        asked.push(`${caller} ${text}`);
        return null;
      },
      checkPassword: async (signal) => {
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
        return { kind: 'dropped', closing: true };
      },
    };
    return owner as Handlers<OwnerCalls>;
  });
  const links = handlers.map((own) => {
    const { port1, port2 } = new MessageChannel();
    further.add(port1);
    return own && new FrontLink<FrontCalls, OwnerCalls>(port2, own as Front);
  });
  return { further, links, asked };
}

test('the readiness names a front that does not answer, and one that is behind', async () => {
  const isBehind = (seq: number) => seq < 10;
  const answering = fronts({ check: () => 10 }, { check: () => 12 });
  expect(await answering.further.check(isBehind, 1000)).toEqual({ status: 'ok', count: 3 });
  const behind = fronts({ check: () => 10 }, { check: () => 9 });
  expect(await behind.further.check(isBehind, 1000)).toMatchObject({ status: 'degraded' });
  const hanging = fronts({ check: () => 10 }, null);
  expect(await hanging.further.check(isBehind, 50)).toMatchObject({
    status: 'fail',
    message: 'a front does not answer',
  });
});

test('changed keys are announced to all fronts but the one that has changed them', async () => {
  const reloaded: number[] = [];
  const reload = (front: number): Partial<Front> => ({
    reloadKeys() {
      reloaded.push(front);
      return null;
    },
  });
  const { further } = fronts(reload(0), reload(1), reload(2));
  await further.announceKeys(1);
  expect(reloaded).toEqual([0, 2]);
  await further.announceKeys();
  expect(reloaded).toEqual([0, 2, 0, 1, 2]);
});

test('changed options reach all fronts, and a front that refuses them is reported', async () => {
  const options = apiOptionsOf(loadConfig(['--network', 'regtest']).config, null);
  const change = { live: liveOptionsOf(options), tls: null };
  const seen: unknown[] = [];
  const applying: Partial<Front> = {
    reload(_, given) {
      seen.push(given);
      return null;
    },
  };
  expect(await fronts(applying, applying).further.announceReload(change)).toBe(true);
  expect(seen).toEqual([change, change]);
  const refusing: Partial<Front> = {
    reload() {
      throw new Error('the certificate cannot be used');
    },
  };
  expect(await fronts(applying, refusing).further.announceReload(change)).toBe(false);
});

test('a front that hangs holds up an announcement for a second at most', async () => {
  const { further } = fronts({ reloadKeys: never }, { reloadKeys: () => null });
  const from = performance.now();
  await further.announceKeys();
  expect(performance.now() - from).toBeLessThan(3000);
});

test('metrics of a front that fails are left out', async () => {
  const failing = { metrics: () => Promise.reject(new Error('broken')) };
  expect(await fronts({ metrics: () => 'a 1' }, failing).further.metrics()).toEqual(['a 1']);
});

test('errors of the API keep their code and details, and other errors their message', async () => {
  const { links, asked } = fronts({}, {});
  await links[1]!.call('findTicket', ['text']);
  expect(asked).toEqual(['1 text']);
  expect(await links[0]!.call('findTicket', ['wrong']).catch((error) => error)).toMatchObject({
    failure: 'limit_exceeded',
    message: 'too many',
    details: { limit: 7 },
  });
  expect(String(await links[0]!.call('findTicket', ['fault']).catch((error) => error))).toBe('Error: a fault');
});

test('the other front is notified when a caller gives up, and a closed link refuses calls', async () => {
  const { links } = fronts({});
  const abort = new AbortController();
  const answer = links[0]!.call('checkPassword', [{ kind: 'none', address: '' }], { signal: abort.signal });
  abort.abort();
  expect(await answer).toEqual({ kind: 'dropped', closing: true });
  links[0]!.close();
  expect(await links[0]!.call('findTicket', ['text']).catch((error) => error)).toMatchObject({
    failure: 'shutting_down',
  });
});

test('a front that does not answer keeps the visitors of its last answer', async () => {
  const visitor = (peer: string) => ({ peer, keyed: true, running: 1, at: 5 });
  let answers = true;
  const slow: Partial<Front> = { visitors: () => (answers ? [visitor('b')] : never()) };
  const { further } = fronts({ visitors: () => [visitor('a')] }, slow);
  const names = async () => [...(await further.visitors(new Set(), 0)).keys()];
  expect(await names()).toEqual(['a', 'b']);
  answers = false;
  expect(await names()).toEqual(['a', 'b']);
});

test('the stop waits for the fronts that listen, and for no other', async () => {
  const stopped: string[] = [];
  const stop: Front['stop'] = (_, reason) => {
    stopped.push(reason);
    return null;
  };
  const { further } = fronts({ stop }, null);
  further.serves(0);
  await further.stop('the end', 600_000);
  expect(stopped).toEqual(['the end']);
});
