import { afterAll, beforeAll, test } from 'bun:test';
import { BIG_BLOCK, deaf, FLOODS, halfMessages } from '../lib/floods.ts';
import { cleanUpAfterTests } from '../lib/node-process.ts';
import { recentChain } from '../lib/sample-chains.ts';
import { Siege } from '../lib/siege.ts';

cleanUpAfterTests();

let siege: Siege;
beforeAll(async () => {
  siege = await Siege.lay(recentChain(400, { bigAt: BIG_BLOCK }));
});
afterAll(() => siege[Symbol.asyncDispose]());

for (const [name, flood] of Object.entries(FLOODS))
  test(`a flood: ${name}`, () => siege.attack(name, () => flood(siege, { peers: 2, messages: 1 })));

test('peers that request everything and read nothing', () =>
  siege.attack('deaf peers', () => deaf(siege, { peers: 4, messages: 1 })));

test('messages that never end', () =>
  siege.attack('half messages', () => halfMessages(siege, { peers: 4, messages: 1 })));
