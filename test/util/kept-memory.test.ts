import { expect, test } from 'bun:test';
import { join } from 'node:path';

const SCRIPT = `
const { restartKeepingMemory } = await import(${JSON.stringify(join(import.meta.dir, '../../src/util/kept-memory.ts'))});
restartKeepingMemory();
console.log(JSON.stringify([process.pid, process.env.MIMALLOC_PURGE_DELAY, process.argv.slice(1), process.env.OTHER]));
`;

async function run(env: Readonly<Record<string, string | undefined>>): Promise<[number, unknown[]]> {
  const { MIMALLOC_PURGE_DELAY: _, ...others } = process.env;
  const child = Bun.spawn([process.execPath, '-e', SCRIPT, '--', 'a', '', 'ä=b c'], {
    env: { ...others, OTHER: 'x=y', ...env },
    stdout: 'pipe',
  });
  const lines = (await new Response(child.stdout).text()).trim().split('\n');
  expect(lines).toHaveLength(1);
  return [child.pid, JSON.parse(lines[0]!)];
}

test('the program begins again once as the same process, with its arguments and its environment', async () => {
  const [pid, printed] = await run({});
  expect(printed).toEqual([pid, '-1', ['a', '', 'ä=b c'], 'x=y']);
});

test('a setting of the environment stays', async () => {
  const [pid, printed] = await run({ MIMALLOC_PURGE_DELAY: '500' });
  expect(printed).toEqual([pid, '500', ['a', '', 'ä=b c'], 'x=y']);
});
