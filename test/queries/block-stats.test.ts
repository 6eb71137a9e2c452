import { afterAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { regtest } from '../../src/params/regtest.ts';
import { hexToBytes } from '../../src/util/bytes.ts';
import { describeWithVectors, idleNode, startTestApi } from '../lib/chain-api.ts';
import { fillChain } from '../lib/chain-filler.ts';
import { readVectorJson } from '../lib/vectors.ts';

interface Row {
  height: number;
  blockhash: string;
}

describeWithVectors('Bitcoin Core’s getblockstats test', () => {
  const { blocks, stats } = readVectorJson<{ blocks: string[]; stats: Row[] }>('functional/rpc_getblockstats.json');
  const dir = mkdtempSync(join(tmpdir(), 'obverse-stats-'));
  fillChain(dir, regtest, blocks.map(hexToBytes));
  const api = startTestApi(dir, { node: idleNode({ headers: blocks.length }) });
  afterAll(async () => {
    await api.close();
    rmSync(dir, { recursive: true, force: true });
  });
  for (const row of stats)
    test(`height ${row.height}`, async () => {
      expect(await api.rpc<object>('getblockstats', row.height)).toEqual(row);
      expect(await api.rpc<object>('getblockstats', row.blockhash)).toEqual(row);
    });
});
