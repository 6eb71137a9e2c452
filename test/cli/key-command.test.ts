import { beforeAll, describe, expect, test } from 'bun:test';
import { chownSync, mkdirSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AuthStore } from '../../src/auth/auth-store.ts';
import { issueKey } from '../../src/auth/issue-key.ts';
import { runCli } from './run-cli.ts';

const datadir = mkdtempSync(join(tmpdir(), 'key-test-'));
const networkDir = join(datadir, 'regtest');
const where = ['--network', 'regtest', '--datadir', datadir];
const run = (...args: string[]) => runCli([...args, ...where]);

beforeAll(() => {
  mkdirSync(networkDir, { mode: 0o700 });
  // A node has been here.
  writeFileSync(join(networkDir, 'lock'), '');
});

describe('obverse key on a stopped node', () => {
  test('a key is created with scopes, printed once on stdout, and revoked', async () => {
    const made = await run(
      ...['key', 'create', '--json', '--label', 'shop', '--scopes', 'read,wallet.spend', '--expires', '90d'],
      ...['--ip', '10.0.0.0/8', '--ip', '::1', '--rate', '100/s,200', '--wallet', 'hot', '--wallet', 'warm'],
    );
    expect(made.status).toBe(0);
    const { key, ...shown } = JSON.parse(made.stdout);
    expect(Object.keys(JSON.parse(made.stdout))).toEqual([
      ...['id', 'key', 'label', 'scopes', 'createdAt', 'expiresAt', 'allowedIps', 'rate', 'wallets'],
    ]);
    expect(key).toMatch(/^obv1_[a-z2-7]{10}_[a-z2-7]{58}$/);
    expect(shown).toMatchObject({
      label: 'shop',
      scopes: ['read', 'wallet.spend'],
      expiresAt: shown.createdAt + 90 * 86_400,
      allowedIps: ['10.0.0.0/8', '::1'],
      rate: { perSecond: 100, burst: 200 },
      wallets: ['hot', 'warm'],
    });
    expect(statSync(join(networkDir, 'auth.db')).mode & 0o777).toBe(0o600);
    const plain = await run('key', 'create');
    expect(plain.stdout).toMatch(/^obv1_\S+\n$/);
    expect(plain.stderr).not.toContain(plain.stdout.trim());
    const list = JSON.parse((await run('key', 'list', '--json')).stdout);
    expect(list.find(({ id }: { id: string }) => id === shown.id)).toEqual({
      ...shown,
      lastUsedAt: null,
      revokedAt: null,
    });
    expect(list.find(({ id }: { id: string }) => id !== shown.id).scopes).toEqual(['read', 'broadcast']);
    expect((await run('key', 'list')).stdout).not.toContain(key.slice(-20));
    expect((await run('key', 'expire', shown.id, 'never', '--json')).stdout).toContain('"expiresAt": null');
    expect((await run('key', 'scopes', shown.id, 'metrics')).stdout).toContain('metrics');
    const rotated = JSON.parse((await run('key', 'rotate', shown.id, '--overlap', '1h', '--json')).stdout);
    expect(rotated.key.slice(0, 16)).toBe(key.slice(0, 16));
    expect(rotated.key).not.toBe(key);
    expect((await run('key', 'revoke', shown.id)).stdout).toBe(`${shown.id} is revoked\n`);
    expect((await run('key', 'show', shown.id)).stdout).toContain('revoked 20');
    const log = (await run('audit', 'log')).stdout;
    expect(log.split('\n').map((line) => line.split('  ')[3])).toEqual([
      ...['createapikey', 'createapikey', 'setapikey', 'setapikey', 'rotateapikey', 'revokeapikey', undefined],
    ] as string[]);
  });

  test('--out writes a new file with mode 0600 and never overwrites one', async () => {
    const file = join(datadir, 'metrics.key');
    const { stdout, status } = await run('key', 'create', '--scopes', 'metrics', '--out', file);
    expect([status, stdout]).toEqual([0, '']);
    expect(readFileSync(file, 'utf8')).toMatch(/^obv1_\S+\n$/);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const before = (await run('key', 'list', '--json')).stdout;
    const again = await run('key', 'create', '--out', file);
    expect([again.status, again.stderr]).toEqual([1, `obverse: --out: ${file} already exists: nothing was changed\n`]);
    expect((await run('key', 'list', '--json')).stdout).toBe(before);
  });

  test('obverse audit log --check finds a damaged audit log', async () => {
    expect((await run('audit', 'log', '--check')).status).toBe(0);
    const store = new AuthStore(join(networkDir, 'auth.db'));
    const { head, lastId } = store.audit.check() as { head: string; lastId: number };
    store.close();
    expect((await run('audit', 'log', '--check', '--expect', `${lastId}:${head}`)).status).toBe(0);
    const other = await run('audit', 'log', '--check', '--expect', `${lastId}:${'0'.repeat(64)}`);
    expect([other.status, other.stderr]).toEqual([
      1,
      `the audit log is damaged at row ${lastId}: the row has another hash than expected\n`,
    ]);
  });
});

describe('each mistake in the arguments gives exit status 2 and one line', () => {
  test.each([
    [['key'], 'key takes one of create, list, show, rotate, scopes, revoke, expire'],
    [['key', 'lsit'], 'key takes one of create, list, show, rotate, scopes, revoke, expire (did you mean list?)'],
    [['key', 'create', '--lable', 'x'], 'unknown flag --lable (did you mean --label?)'],
    [['key', 'create', '--label'], '--label needs a value'],
    [['key', 'create', 'shop'], 'key create takes no further words, and nothing behind it'],
    [
      ['key', 'create', '--expires', 'soon'],
      '--expires takes a duration (90d, 24h) or a date (2027-01-31, 2027-01-31T12:00Z), not soon',
    ],
    [
      ['key', 'create', '--expires', '2027-02-30'],
      '--expires takes a duration (90d, 24h) or a date (2027-01-31, 2027-01-31T12:00Z), not 2027-02-30',
    ],
    [['key', 'create', '--rate', 'fast'], '--rate takes calls a second, as 100/s or 100/s,200, not fast'],
    [
      ['key', 'create', '--ip', 'home'],
      "'home' is no address or subnet, such as 10.1.2.3, 10.0.0.0/8 or 2001:db8::/32",
    ],
    [['key', 'show'], 'key show needs ID'],
    [['key', 'expire', 'abc'], 'key expire needs WHEN'],
    [['audit', 'lgo'], 'audit takes log (did you mean log?)'],
    [['audit', 'log', '--limit', '0'], '--limit is a number from 1 to 1000000, not 0'],
  ])('%j', async (args, line) => {
    const { status, stdout, stderr } = await run(...args);
    expect([status, stdout, stderr.split('\n')[0]]).toEqual([2, '', `obverse: ${line}`]);
  });
});

test("a directory that holds no node's data is refused and not created", async () => {
  const wrong = join(datadir, 'typo');
  const { status, stderr } = await runCli(['key', 'create', '--network', 'regtest', '--datadir', wrong]);
  expect([status, stderr]).toEqual([
    1,
    `obverse: ${join(wrong, 'regtest')} holds no data of a node: check --datadir, --network and --config, or start the node once\n`,
  ]);
  expect(() => statSync(wrong)).toThrow('ENOENT');
});

// Only root can give a directory to another user.
test.if(process.getuid?.() === 0)(
  'root is refused, since its files would lock out the user of the service',
  async () => {
    const other = mkdtempSync(join(tmpdir(), 'key-test-'));
    const dir = join(other, 'regtest');
    mkdirSync(dir);
    const store = new AuthStore(join(dir, 'auth.db'));
    issueKey(store, { label: '', scopes: ['read'] }, 1);
    store.close();
    for (const path of [dir, join(dir, 'auth.db')]) chownSync(path, 65534, 65534);
    const { status, stderr } = await runCli(['key', 'list', '--network', 'regtest', '--datadir', other]);
    expect(status).toBe(1);
    expect(stderr).toContain(
      `${dir} belongs to nobody (uid 65534): run this as that user: sudo -u nobody obverse key list`,
    );
  },
);
