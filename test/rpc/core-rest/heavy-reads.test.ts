import { afterAll, expect, test } from 'bun:test';
import { regtest } from '../../../src/params/regtest.ts';
import { hashToHex } from '../../../src/primitives/hash.ts';
import { withSnapshot } from '../../../src/queries/read-env.ts';
import { coreRestEndpoint } from '../../../src/rpc/core-rest/core-rest-endpoint.ts';
import { restTarget } from '../../../src/rpc/core-rest/rest-target.ts';
import { ChainReads } from '../../../src/storage/chain-reads.ts';
import {
  type ApiFixture,
  describeWithVectors,
  mixedChainBlocks,
  mixedChainDir,
  startTestApi,
} from '../../lib/chain-api.ts';
import { defaultReadSources } from '../../lib/default-options.ts';

describeWithVectors('heavy reads of the REST interface of Core', () => {
  const reads = new ChainReads(mixedChainDir());
  const api: ApiFixture = startTestApi(mixedChainDir(), { overrides: { http: { coreRest: 'public' } } });
  afterAll(async () => {
    reads.close();
    await api.close();
  });

  test('a part of a block takes the work of its bytes, and is not cached', () => {
    const { settings } = defaultReadSources(regtest);
    const raw = mixedChainBlocks()[159]!;
    const hash = hashToHex(reads.headers.byHeight(160)!.hash);
    const announced: number[] = [];
    const partOf = (from: number, size: number) => {
      const target = restTarget(`/rest/blockpart/${hash}.bin?offset=${from}&size=${size}`)!;
      expect(coreRestEndpoint.isCached!({ target, body: '' })).toBe(false);
      const base = { reads, params: regtest, settings, mirror: null };
      const read = () =>
        withSnapshot(
          base,
          (us) => announced.push(us),
          (env) => coreRestEndpoint.run(env, { target, body: '' }),
        );
      return Buffer.from(read().body as Uint8Array);
    };
    expect(partOf(0, raw.length).equals(raw)).toBe(true);
    expect(partOf(100, 10).equals(raw.subarray(100, 110))).toBe(true);
    expect(partOf(raw.length - 1, 1).equals(raw.subarray(-1))).toBe(true);
    expect(announced[1]! / announced[0]!).toBeCloseTo(10 / raw.length, 6);
    expect(coreRestEndpoint.isCached!({ target: restTarget(`/rest/block/${hash}.bin`)!, body: '' })).toBe(true);
  });

  test('a list of the mempool and a whole block cost two requests, and a part of a block one', async () => {
    const rate = { perSecond: 0.001, burst: 100 };
    const { key } = await api.rpc<{ key: string }>('createapikey', 'rest', ['read'], { rate });
    const leftAfter = async (path: string) => {
      const reply = await api.get(path, { authorization: `Bearer ${key}` });
      expect([path, reply.status]).toEqual([path, 200]);
      await reply.bytes();
      return Number(reply.headers.get('ratelimit-remaining'));
    };
    const hash = await api.rpc<string>('getblockhash', 160);
    const left: number[] = [];
    for (const path of [
      'mempool/info.json',
      'mempool/contents.json',
      'mempool/contents.json?verbose=false',
      `block/${hash}.bin`,
      `blockpart/${hash}.bin?offset=0&size=80`,
    ])
      left.push(await leftAfter(`/rest/${path}`));
    expect(left).toEqual([99, 97, 95, 93, 92]);
  });
});
