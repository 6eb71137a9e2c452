import { beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { regtest } from '../../src/params/regtest.ts';
import { hashToHex } from '../../src/primitives/hash.ts';
import { parseAddress } from '../../src/script/address.ts';
import { broadcast, idOf, mine, nodeWith, post } from '../lib/mempool-node.ts';
import { cleanUpAfterTests, type NodeProcess, tempDir } from '../lib/node-process.ts';
import { recentChain } from '../lib/sample-chains.ts';
import { spend } from '../lib/tx-builder.ts';

cleanUpAfterTests();

describe('commands at events', () => {
  /** A wallet whose name a shell would execute where it is a part of the text of a command. */
  const HOSTILE = "$(touch owned) `touch owned` '; touch owned; '";
  const dir = tempDir('obverse-notify');
  const chain = recentChain(130);
  let node: NodeProcess;
  const lines = (name: string) => {
    const path = join(dir, name);
    return existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [];
  };
  const until = (name: string, count: number) =>
    node.until(`${count} lines in ${name}`, () => lines(name).length >= count).then(() => lines(name));

  beforeAll(async () => {
    node = await nodeWith(chain, [
      '--wallet.keypool=20',
      `--notify.startup=cd ${dir} && env > environment && echo started >> startup`,
      `--notify.block=cd ${dir} && echo %s >> blocks`,
      `--notify.wallet=cd ${dir} && echo %s %h %b "%w" %w '%w' >> wallet`,
      `--notify.shutdown=cd ${dir} && echo stopped >> shutdown`,
    ]);
  });

  test('the command of the start runs once, without the variables of the node', async () => {
    expect(await until('startup', 1)).toEqual(['started']);
    expect(lines('environment').filter((line) => line.startsWith('OBVERSE_'))).toEqual([]);
  });

  test('a block and a deposit run their commands, and the name of a wallet is not executed', async () => {
    await node.api.rpc('createwallet', [HOSTILE]);
    const { body } = await post<{ result: string }>(node.api, `/wallet/${encodeURIComponent(HOSTILE)}`, {
      id: 1,
      method: 'getnewaddress',
    });
    const parsed = parseAddress(body.result, regtest.address);
    if (!parsed.ok) throw new Error(parsed.error);
    const deposit = spend(chain.coin(1), [{ to: parsed.script, value: 4_999_990_000n }]);
    await broadcast(node.api, deposit);
    expect((await until('wallet', 1))[0]).toStartWith(`${idOf(deposit)} -1 unconfirmed $(touch owned)`);
    const block = await mine(node.api, chain, [deposit]);
    const hash = hashToHex(block.hash);
    expect((await until('wallet', 2))[1]).toStartWith(`${idOf(deposit)} 131 ${hash} $(touch owned)`);
    expect(await until('blocks', 1)).toEqual([hash]);
    expect(readdirSync(dir)).not.toContain('owned');
  });

  test('the stop waits for its command', async () => {
    const { status } = await node.stop('SIGTERM');
    expect([status, lines('shutdown')]).toEqual([0, ['stopped']]);
  });
});
