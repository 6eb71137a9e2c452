import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { BIG_BLOCK, deaf, FLOODS, halfMessages } from '../lib/floods.ts';
import { cleanUpAfterTests } from '../lib/node-process.ts';
import { recentChain } from '../lib/sample-chains.ts';
import { Siege } from '../lib/siege.ts';

setDefaultTimeout(600_000);

cleanUpAfterTests();

/** Almost the maximum number of connections. */
const CROWD = 100;
/** Maximum number of headers of one message. */
const MAX_HEADERS = 2000;

describe('a node with many peers', () => {
  let siege: Siege;
  beforeAll(async () => {
    siege = await Siege.lay(recentChain(400, { bigAt: BIG_BLOCK }));
  });
  afterAll(() => siege[Symbol.asyncDispose]());

  for (const [name, flood] of Object.entries(FLOODS))
    test(name, () => siege.attack(name, () => flood(siege, { peers: 30, messages: 2 })), 300_000);

  test(
    'withstands peers that request everything and read nothing',
    () => siege.attack('deaf peers', () => deaf(siege, { peers: CROWD, messages: 2 })),
    300_000,
  );

  test(
    'withstands messages that never end',
    () => siege.attack('half messages', () => halfMessages(siege, { peers: CROWD, messages: 1 })),
    300_000,
  );

  test(
    'withstands every flood at once',
    () =>
      siege.attack('everything', () =>
        Promise.all(Object.values(FLOODS).map((flood) => flood(siege, { peers: 2, messages: 2 }))),
      ),
    300_000,
  );
});

test('no header of a long series of low work is kept', async () => {
  const chain = recentChain(2700);
  await using siege = await Siege.lay(chain);
  const branch = chain.fork(1);
  // The branch has less work than the chain a day ago, so none of it is stored.
  branch.mine(2500);
  const headers = branch.blocks.slice(2).map(({ header }) => header);
  const tips = () => siege.node.api.rpc<unknown[]>('getchaintips');
  const before = (await tips()).length;
  await siege.attack('headers of low work', async () => {
    const peers = await Promise.all(Array.from({ length: 10 }, () => siege.join()));
    await Promise.all(
      peers.map(async (peer) => {
        const first = peer.frame('headers', { headers: headers.slice(0, MAX_HEADERS) });
        const second = peer.frame('headers', { headers: headers.slice(MAX_HEADERS) });
        for (let i = 0; i < 40; i++) {
          peer.sendRaw(first);
          peer.sendRaw(second);
          await peer.settled(60_000);
        }
        expect(peer.types).not.toContain('getdata');
      }),
    );
  });
  expect((await tips()).length).toBe(before);
}, 300_000);
