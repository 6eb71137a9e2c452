import { expect, test } from 'bun:test';
import { SQL } from 'bun';
import { cleanUpAfterTests, poll, startNode } from '../lib/node-process.ts';
import { PostgresServer } from '../lib/postgres-server.ts';

cleanUpAfterTests();

test('a sink that verifies the certificate of its database writes only where it knows the authority', async () => {
  await using postgres = await PostgresServer.start();
  const authority = postgres.useTls();
  const url = `${postgres.url.replace('127.0.0.1', 'localhost')}?sslmode=verify-full`;
  const refusing = await startNode({ env: { OBVERSE_SINK_POSTGRES: url } });
  const [line] = await refusing.output('stderr', /^.*"msg":"the sink cannot be written".*$/m);
  expect(line).toMatch(/certificate/);
  await refusing.stop();

  const node = await startNode({ env: { OBVERSE_SINK_POSTGRES: url, NODE_EXTRA_CA_CERTS: authority } });
  await using sql = new SQL(postgres.url, { max: 1 });
  const sessions = () =>
    sql`SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name LIKE 'obverse %'`;
  await poll('the first block', async () => (await sql`SELECT height FROM obverse.sink_position`)[0].height === 0);
  const encrypted = (await sessions()).map(({ ssl }: { ssl: boolean }) => ssl);
  expect(encrypted.length).toBeGreaterThan(0);
  expect(encrypted).not.toContain(false);
  await node.stop();
});
