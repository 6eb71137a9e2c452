import { describe, expect, test } from 'bun:test';
import { directoryWith } from '../lib/chain-directory.ts';
import type { Info } from '../lib/node-client.ts';
import { cleanUpAfterTests, copyDatadir, type NodeProcess } from '../lib/node-process.ts';
import { generate, peerInfo, peersOf, sameTip, startPeer, tipOf } from '../lib/peer-node.ts';
import { oldChain } from '../lib/sample-chains.ts';

cleanUpAfterTests({ each: true });

const REACHED = '"reason":"upload target for historical blocks reached"';

interface UploadTarget {
  readonly target: number;
  readonly target_reached: boolean;
  readonly serve_historical_blocks: boolean;
  readonly bytes_left_in_cycle: number;
}

const uploadTarget = async (node: NodeProcess) =>
  (await node.api.rpc<{ uploadtarget: UploadTarget }>('getnettotals')).uploadtarget;

const heightOf = async (node: NodeProcess) => (await node.api.json<Info>('/api/info')).height;

// The limit is not as much as the new blocks of a day may need, so none of it is for old ones.
describe('with an upload target, a chain that is years old', () => {
  const args = ['--p2p.maxUpload=100', '--log.level=debug'];
  let made: Promise<string> | undefined;
  /** Blocks of years ago, and one of now. */
  const directory = () => (made ??= makeDirectory());

  async function makeDirectory(): Promise<string> {
    const datadir = await directoryWith(oldChain(20));
    const { node } = await startPeer([], { datadir });
    await generate(node, 1);
    await node.stop();
    return datadir;
  }

  test('is not served to new nodes, while new blocks are', async () => {
    const source = await startPeer([], { datadir: copyDatadir(await directory()), args });
    const fresh = await startPeer([source.address]);
    const full = await startPeer([source.address], { datadir: copyDatadir(await directory()) });
    // It comes back, and is sent away each time.
    await source.node.until('refusals', () => source.node.stderr.split(REACHED).length > 3);
    expect(await heightOf(fresh.node)).toBe(0);
    await full.node.until('the other peer', async () => (await peerInfo(full.node)).length === 1);
    const [mined] = await generate(source.node, 1);
    await sameTip([source.node, full.node], mined!);
    expect(await uploadTarget(source.node)).toMatchObject({
      target: 100 * 1024 * 1024,
      target_reached: false,
      serve_historical_blocks: false,
    });
    expect((await uploadTarget(source.node)).bytes_left_in_cycle).toBeWithin(99 * 1024 * 1024, 100 * 1024 * 1024);
    expect(await heightOf(fresh.node)).toBe(0);
    await Promise.all([source.node.stop(), fresh.node.stop(), full.node.stop()]);
  });

  test('is served to peers with the download permission', async () => {
    const datadir = copyDatadir(await directory());
    const source = await startPeer([], { datadir, args: [...args, '--p2p.permissions=download@127.0.0.1'] });
    const { node } = await startPeer([source.address]);
    await sameTip([source.node, node], await tipOf(source.node));
    expect(await heightOf(node)).toBe(21);
    expect((await peerInfo(source.node))[0]!.permissions).toEqual(['download']);
    expect(source.node.stderr).not.toContain(REACHED);
    await Promise.all([source.node.stop(), node.stop()]);
  });
});

test('a ban does not keep out a peer with the noban permission', async () => {
  const { node, address } = await startPeer([], { args: ['--p2p.permissions=noban@127.0.0.1', '--log.level=debug'] });
  await node.api.rpc('setban', ['127.0.0.1', 'add']);
  const other = await startPeer([address]);
  await Promise.all([peersOf(node, 1), peersOf(other.node, 1)]);
  expect((await peerInfo(node))[0]!.permissions.toSorted()).toEqual(['download', 'noban']);
  const [mined] = await generate(node, 1);
  await sameTip([node, other.node], mined!);
  await Promise.all([node.stop(), other.node.stop()]);
});
