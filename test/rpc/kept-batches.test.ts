import { afterAll, expect, test } from 'bun:test';
import { type ApiFixture, describeWithVectors, mixedChainDir, startTestApi } from '../lib/chain-api.ts';

describeWithVectors('a batch whose calls are known', () => {
  const api: ApiFixture = startTestApi(mixedChainDir());
  afterAll(() => api.close());

  const textOf = async (body: string) => {
    const reply = await api.post('/', body);
    return { status: reply.status, text: await reply.text() };
  };
  const hashOf = (height: number, id: unknown) => ({ jsonrpc: '2.0', id, method: 'getblockhash', params: [height] });

  test('has the replies of its calls with their ids, each time it is sent', async () => {
    for (let round = 0; round < 4; round++) {
      const ids = Array.from({ length: 10 }, (_, i) => (i % 2 === 0 ? 100 * round + i : `id ${round} ${i}`));
      const expected = await Promise.all(
        ids.map(async (id, height) => ({ jsonrpc: '2.0', result: await api.rpc('getblockhash', height), id })),
      );
      const { status, text } = await textOf(JSON.stringify(ids.map((id, height) => hashOf(height, id))));
      expect([status, text]).toEqual([200, `${JSON.stringify(expected)}\n`]);
    }
  });

  test('has errors, methods without kept replies and new calls in their places, and no reply to notifications', async () => {
    const known = [hashOf(3, 1), { id: 2, method: 'getblockcount' }];
    await textOf(JSON.stringify(known));
    const calls = (round: number) => [
      ...known,
      hashOf(100_000, 3),
      { jsonrpc: '2.0', method: 'getblockcount' },
      { id: 'x', method: 'nothing' },
      hashOf(20 + round, 4),
      7,
      hashOf(3, 5),
      { jsonrpc: '2.0', id: 6, method: 'getdifficulty' },
    ];
    for (let round = 0; round < 3; round++) {
      const { status, text } = await textOf(JSON.stringify(calls(round)));
      expect(status).toBe(200);
      const replies = JSON.parse(text) as { id: unknown; result?: unknown; error?: { code: number } | null }[];
      expect(replies.map(({ id }) => id)).toEqual([1, 2, 3, 'x', 4, null, 5, 6]);
      expect(replies.map(({ error }) => error?.code ?? null)).toEqual([
        null,
        null,
        -8,
        -32601,
        null,
        -32600,
        null,
        null,
      ]);
      expect(replies[0]!.result).toBe(replies[6]!.result);
      expect(replies[4]!.result).toBe(await api.rpc('getblockhash', 20 + round));
    }
  });

  test('is refused as a whole where it is malformed or has too many calls', async () => {
    const call = JSON.stringify(hashOf(1, 1));
    await textOf(`[${call}]`);
    for (const body of [`[${call} ${call}]`, `[${call},]`, `[${call}`, `[${call}]]`, `[${call},{"id":]]`])
      expect(await textOf(body)).toMatchObject({ status: 400, text: expect.stringContaining('-32700') });
    const many = Array.from({ length: 1001 }, () => '{"id":1,"method":"getblockcount"}').join(',');
    expect(await textOf(`[${many}]`)).toMatchObject({
      status: 400,
      text: expect.stringContaining('more than 1000 calls'),
    });
  });
});
