import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ApiClient } from './node-client.ts';
import { type NodeProcess, startNode } from './node-process.ts';
import {
  callMethod,
  FIXTURE_TIME,
  recordAnswers,
  startUpgraded,
  type UpgradeAnswer,
  type UpgradeFacts,
  untilSettled,
} from './upgrade-answers.ts';
import { extractUpgradeFixture, readUpgradeRecord } from './upgrade-fixtures.ts';

/** Members of replies that differ between two starts of one version: times of this run, and names of this request. */
const VOLATILE: readonly (readonly [request: RegExp, member: RegExp])[] = [
  [/^GET \/api\/info$/, /^uptime$/],
  [/^GET \/api\/fees$/, /^updatedAt$/],
  // Time and cursor of events of the mempool, which is loaded at each start with new events; and of the last event.
  [/^GET \/api\/events/, /^items\.\d+\.data\.(time|cursor)$|^lastCursor$|^gap\.cursor$/],
  [/^GET /, /^error\.requestId$/],
  // Computed from the time between the tip and now, and the mock time is set after the start.
  [/^getblockchaininfo /, /^verificationprogress$/],
];

/** Members that were changed on purpose, with the versions before the change. */
const CHANGED: readonly (readonly [commits: RegExp, request: RegExp, member: RegExp])[] = [
  // `sub` was a count of events; it is the position of a derived event now. Cursors of events have come with that.
  [/9679492|aac1387/, /^GET \/api\/events/, /^items\.\d+\.data\.sub$/],
  // Rows of encrypted wallets have MACs now. Those of a wallet from before are verified when it is unlocked once.
  [/9679492|aac1387/, /^getblockchaininfo |^locked: getwalletinfo /, /^warnings/],
  // `usage` of the mempool counts the memory of the main thread as well.
  [/9679492|aac1387|417c60a|a47c66d/, /^GET \/api\/mempool$/, /^usage$/],
  [/9679492|aac1387|417c60a|a47c66d/, /^GET \/api\/events/, /^items\.\d+\.data\.usage$/],
  // A wallet whose last run ended before its keypool was derived shows that it looks up those addresses.
  [/417c60a|a47c66d/, /^locked: getwalletinfo /, /^scanning(\.|$)/],
  // The version of the peer-to-peer protocol was 70016; it is 70017 now.
  [/9679492|aac1387|417c60a|a47c66d/, /^GET \/api\/info$/, /^protocolVersion$/],
  // As in Bitcoin Core, the fee and the spent outputs of a transaction in the mempool are left out.
  [/9679492|aac1387|417c60a|a47c66d/, /^getrawtransaction .*,2\]$/, /^(fee|vin\.\d+\.prevout\..*)$/],
];

/** Members that earlier versions did not have. */
const ADDED: readonly (readonly [request: RegExp, member: RegExp])[] = [
  [/^GET \/api\/info$/, /^indexes\.coinStats\./],
  // A confirmation carries the amounts of the watched item.
  [/^GET \/api\/events/, /^items\.\d+\.data\.(received|sent)$/],
];

/** Returns the members of a reply by their paths. */
function members(value: unknown, path: string, into = new Map<string, unknown>()): Map<string, unknown> {
  if (typeof value === 'object' && value !== null && Object.keys(value).length > 0)
    for (const [name, member] of Object.entries(value)) members(member, path === '' ? name : `${path}.${name}`, into);
  else into.set(path, value);
  return into;
}

/** Returns the members of the replies that differ and are not expected to. */
function lostAnswers(commit: string, before: readonly UpgradeAnswer[], after: readonly UpgradeAnswer[]): string[] {
  expect(after.map(({ request }) => request)).toEqual(before.map(({ request }) => request));
  return before.flatMap(({ request, status, reply }, i) => {
    const isExpected = (member: string) =>
      VOLATILE.some(([of, which]) => of.test(request) && which.test(member)) ||
      CHANGED.some(([by, of, which]) => by.test(commit) && of.test(request) && which.test(member));
    const isAdded = (member: string) =>
      !old.has(member) && ADDED.some(([of, which]) => of.test(request) && which.test(member));
    const old = members(reply, '').set('HTTP status', status);
    const now = members(after[i]!.reply, '').set('HTTP status', after[i]!.status);
    return [...new Set([...old.keys(), ...now.keys()])]
      .filter((member) => !isExpected(member) && !isAdded(member) && !Bun.deepEquals(old.get(member), now.get(member)))
      .map((member) => `${request} ${member}: ${old.get(member)} -> ${now.get(member)}`);
  });
}

interface EventPage {
  readonly items: readonly { readonly type: string; readonly data: { readonly seq: number } }[];
  readonly lastSeq: number;
  readonly lastCursor: string;
  readonly gap: object | null;
}

const events = (api: ApiClient, after: string) => api.json<EventPage>(`/api/events?after=${after}&limit=1000`);

async function expectKeys(node: NodeProcess, { keys }: UpgradeFacts): Promise<void> {
  for (const { key, scopes } of keys) {
    const client = new ApiClient(node.api.url, key);
    const body = (method: string) => ({ method: 'POST', body: JSON.stringify({ id: 1, method, params: [] }) });
    const seesWallets = scopes.some((scope) => scope === 'all' || scope === 'wallet.read');
    expect((await client.request('/', body('getblockcount'))).status).toBe(200);
    expect([scopes, (await client.request('/wallet/plain', body('getbalances'))).status]).toEqual([
      scopes,
      seesWallets ? 200 : 403,
    ]);
  }
  const stranger = new ApiClient(node.api.url, `${keys[0]!.key.slice(0, -4)}AAAA`);
  expect((await stranger.request('/api/watches')).status).toBe(401);
}

/** Each wallet with keys signs and sends. Returns the transactions. */
async function sendFromAll(api: ApiClient, { addresses, passphrases }: UpgradeFacts): Promise<string[]> {
  const [miner, , taproot] = addresses;
  const sent: string[] = [];
  for (const wallet of ['plain', 'payments', 'locked']) {
    const passphrase = passphrases[wallet];
    const send = (amount: number) =>
      callMethod<string>(api, wallet, 'sendtoaddress', wallet === 'plain' ? taproot : miner, amount);
    if (passphrase !== undefined) {
      await expect(send(0.01)).rejects.toThrow('-13');
      await expect(callMethod(api, wallet, 'walletpassphrase', 'wrong', 60)).rejects.toThrow('-14');
      await callMethod(api, wallet, 'walletpassphrase', passphrase, 60);
    }
    sent.push(await send(0.01));
    // New addresses are derived from the same keys, so the old ones are known to be the wallet's own.
    const address = await callMethod<string>(api, wallet, 'getnewaddress');
    expect(addresses).not.toContain(address);
    expect(await callMethod<object>(api, wallet, 'getaddressinfo', address)).toMatchObject({ ismine: true });
  }
  const legacy = addresses[1]!;
  const signature = await callMethod<string>(api, 'plain', 'signmessage', legacy, 'a message');
  expect(await callMethod<boolean>(api, null, 'verifymessage', legacy, signature, 'a message')).toBe(true);
  await expect(callMethod(api, 'watching', 'sendtoaddress', miner, 0.01)).rejects.toThrow();
  return sent;
}

/** Starts a node on directories of earlier versions, and uses it. */
export function describeUpgrades(names: readonly string[]): void {
  describe.each(names)('the data directory of %s', upgradeTests);
}

function upgradeTests(name: string): void {
  const { commit, facts, answers } = readUpgradeRecord(name);
  const datadir = extractUpgradeFixture(name);
  const inNetwork = (path: string) => join(datadir, 'regtest', path);

  test('is converted, and every reply is the one that its own version gave', async () => {
    const node = await startUpgraded(undefined, datadir);
    await untilSettled(node.api);
    expect(lostAnswers(commit, answers, await recordAnswers(node.api, facts))).toEqual([]);
    await untilSettled(node.api);
    // Schema 2 has runs already, and its database is upgraded in place.
    if (commit !== 'a47c66d') {
      expect(node.stderr).toContain('"msg":"converting the chain database');
      expect(node.stderr).toMatch(/"msg":"the chain database is converted","rows":\d{3,},"seconds":/);
    }
    await expectKeys(node, facts);
    expect((await node.stop()).status).toBe(0);
    const db = new Database(inNetwork('chain/chain.db'), { readonly: true });
    const tables = db.query<{ name: string }, []>("SELECT name FROM sqlite_master WHERE type = 'table'").all();
    db.close();
    expect(tables.map((table) => table.name).sort()).toEqual([
      ...['chain', 'coin_stats', 'coin_stats_value', 'event_ranges', 'events', 'filters', 'headers', 'indexes'],
      ...['loaded_set', 'meta', 'runs', 'txs'],
    ]);
    expect(readdirSync(inNetwork('chain')).sort()).toEqual(
      expect.arrayContaining(['blocks', 'chain.db', 'filters', 'runs']),
    );
    for (const gone of ['chain.db', 'blocks', 'filters', 'chain/chain.db.converting'])
      expect([gone, existsSync(inNetwork(gone))]).toEqual([gone, false]);
  });

  // The other fixture of the version differs in how its node ended, which the first test has read all of.
  if (!name.endsWith('killed')) return;
  test('goes on: wallets send, blocks are mined across a reorg, events continue, and a peer syncs', async () => {
    const node = await startUpgraded(undefined, datadir);
    const { api } = node;
    expect(node.stderr).not.toContain('converting');
    await untilSettled(api);
    const before = await events(api, facts.cursors.at(-1)!);
    const sent = await sendFromAll(api, facts);
    const miner = facts.addresses[0]!;
    const [mined] = await callMethod<string[]>(api, null, 'generatetoaddress', 1, miner);
    const { tx } = await callMethod<{ tx: string[] }>(api, null, 'getblock', mined);
    expect(tx).toEqual(expect.arrayContaining(sent));

    // Blocks that were connected before the conversion leave the chain, and return.
    const muhash = async () => (await callMethod<{ muhash: string }>(api, null, 'gettxoutsetinfo', 'muhash')).muhash;
    const height = await callMethod<number>(api, null, 'getblockcount');
    const whole = await muhash();
    const old = await callMethod<string>(api, null, 'getblockhash', height - 8);
    await callMethod(api, null, 'invalidateblock', old);
    expect(await callMethod<number>(api, null, 'getblockcount')).toBeLessThan(height);
    await callMethod(api, null, 'reconsiderblock', old);
    expect(await callMethod<number>(api, null, 'getblockcount')).toBe(height);
    expect(await muhash()).toBe(whole);

    const after = await events(api, before.lastCursor);
    expect(after.gap).toBeNull();
    const seqs = after.items.map(({ data }) => data.seq);
    expect(seqs[0]!).toBeGreaterThan(before.lastSeq);
    expect(seqs).toEqual(seqs.toSorted((a, b) => a - b));
    expect(after.items.filter(({ type }) => type === 'newBlock').length).toBeGreaterThan(8);

    const { warnings } = await callMethod<{ warnings: string[] }>(api, null, 'getblockchaininfo');
    expect(warnings).toEqual([]);

    const listen = node.args[node.args.indexOf('--p2p.listen') + 1]!;
    const peer = await startNode({ args: ['--p2p.connect', '127.0.0.1:1', '--p2p.listen='] });
    // Before, the headers would be of the future.
    await callMethod(peer.api, null, 'setmocktime', FIXTURE_TIME);
    await callMethod(peer.api, null, 'addnode', listen, 'add');
    await peer.height(height);
    expect((await callMethod<{ muhash: string }>(peer.api, null, 'gettxoutsetinfo', 'muhash')).muhash).toBe(whole);
    await peer.stop();
    expect((await node.stop()).status).toBe(0);
  });
}
