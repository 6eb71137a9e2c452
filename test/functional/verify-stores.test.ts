import { Database } from 'bun:sqlite';
import { beforeAll, expect, test } from 'bun:test';
import { cpSync, readdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { backup, directoryOf, fillNode } from '../lib/backup-commands.ts';
import { cleanUpAfterTests, copyDatadir, startNode, tempDir, WITH_WALLET } from '../lib/node-process.ts';
import { runCommand } from '../lib/run-command.ts';

cleanUpAfterTests();

let datadir: string;
let saved: string;

beforeAll(async () => {
  const args = [WITH_WALLET, '--wallet.autocreate=true', '--webhooks.allowedNetworks=127.0.0.0/8'];
  const node = await startNode({ args });
  await fillNode(node);
  saved = join(tempDir('verify'), 'backup');
  expect((await backup(node, saved)).status).toBe(0);
  await node.stop();
  ({ datadir } = node);
});

/** Changes one database of a copy, and returns the lines of `obverse verify` and its errors. */
async function verifyAfter(file: string, ...statements: string[]) {
  const copy = copyDatadir(datadir);
  const db = new Database(join(copy, 'regtest', file));
  for (const statement of statements) db.run(statement);
  db.close();
  const { status, stdout, stderr } = await runCommand(['verify', '--level', 'quick', ...directoryOf(copy)]);
  return { status, stdout, last: stderr.trimEnd().split('\n').at(-1) };
}

test('verify counts what it has checked beside the chain', async () => {
  const { status, stdout } = await runCommand(['verify', '--level', 'quick', ...directoryOf(datadir)]);
  expect(status).toBe(0);
  expect(stdout).toMatch(
    /^quick check: no damage; tip at height 106, [0-9a-f]{64}\nchecked beside the chain: 1 wallet, 1 key, \d+ rows of the audit log, 1 watch, 1 webhook\n$/,
  );
});

test('verify finds coins of a wallet that are not those of the chain', async () => {
  const value =
    'UPDATE coins SET value = value - 1 WHERE (tx, vout) = (SELECT tx, vout FROM coins WHERE spent = 0 LIMIT 1)';
  const changed = await verifyAfter('wallets/default.db', value);
  expect([changed.status, changed.last]).toEqual([
    1,
    'obverse: damage beside the chain found: each line names the remedy',
  ]);
  expect(changed.stdout).toContain('the coin of the chain has another value, height or script: rescanblockchain');
  const spent = await verifyAfter('wallets/default.db', 'UPDATE coins SET spent = 1 WHERE spent = 0');
  expect(spent.stdout).toContain('the wallet lists it as spent, and the chain has it as a coin: rescan');
  const unspent = await verifyAfter('wallets/default.db', 'UPDATE coins SET spent = 0 WHERE spent = 1');
  expect(unspent.stdout).toContain('the wallet lists it as unspent, and the chain has no such coin: rescan');
  const missing = await verifyAfter(
    'wallets/default.db',
    'UPDATE descriptors SET created_at = 1',
    'DELETE FROM coins WHERE spent = 0',
    'UPDATE totals SET confirmed = 0',
  );
  expect(missing.stdout).toContain('it pays to a script of the wallet, which does not list it: rescan');
  const total = await verifyAfter('wallets/default.db', 'UPDATE totals SET confirmed = confirmed + 1');
  expect(total.stdout).toMatch(/table totals, row 1: the balance is (\d+) satoshis, and the coins have \d+/);
});

test('verify says why coins of a wallet are not compared', async () => {
  const { status, stdout } = await verifyAfter(
    'wallets/default.db',
    "UPDATE meta SET value = 3 WHERE key = 'cursorHeight'",
    "UPDATE meta SET value = zeroblob(32) WHERE key = 'cursorHash'",
  );
  expect([status, stdout]).toEqual([
    0,
    expect.stringContaining(
      'the wallet default has processed the blocks up to height 3, not the tip; its coins are not',
    ),
  ]);
});

test('verify finds damaged keys, rows of the audit log, watches and webhooks', async () => {
  for (const [file, statement, line] of [
    ['auth.db', 'UPDATE key_secrets SET hash = zeroblob(31)', 'row \\w+: the hash has 31 bytes, not 32'],
    ['auth.db', 'UPDATE keys SET scopes = \'["all"]\'', 'row \\w+: the scopes \\["all"\\] are not known'],
    ['auth.db', 'UPDATE audit SET who = who || 1 WHERE id = 1', 'table audit, row 1: the row was changed'],
    ['watches.db', "UPDATE watches SET confirmations = '[6,1]'", 'the confirmations \\[6,1\\] are not ascending'],
    ['watches.db', "UPDATE watches SET owner = 'nokey'", 'its key nokey does not exist'],
    ['webhooks.db', "UPDATE webhooks SET position = 'x'", 'its position is no cursor'],
  ] as const) {
    const { status, stdout } = await verifyAfter(file, statement);
    expect([statement, status, stdout]).toEqual([statement, 1, expect.stringMatching(new RegExp(line))]);
  }
});

test('verify --backup checks the files and databases of a backup, and changes none', async () => {
  const files = readdirSync(saved, { recursive: true }).sort();
  const good = await runCommand(['verify', '--backup', saved]);
  expect([good.status, good.stderr]).toEqual([0, '']);
  expect(good.stdout).toMatch(/^no damage; \d+ files of regtest, [\d-]+ [\d:]+Z, without the chain\nchecked beside/);
  expect(readdirSync(saved, { recursive: true }).sort()).toEqual(files);
  const damaged = join(tempDir('verify'), 'backup');
  cpSync(saved, damaged, { recursive: true });
  truncateSync(join(damaged, 'auth.db'), 4096);
  const bad = await runCommand(['verify', '--backup', damaged, '--json']);
  expect([bad.status, bad.stderr]).toEqual([1, 'obverse: the backup is damaged: use another one\n']);
  const { clean, findings } = JSON.parse(bad.stdout);
  expect([clean, findings[0].file]).toEqual([false, join(damaged, 'auth.db')]);
  writeFileSync(join(damaged, 'backup.json'), '{}');
  expect(await runCommand(['verify', '--backup', damaged])).toMatchObject({ status: 2 });
});
