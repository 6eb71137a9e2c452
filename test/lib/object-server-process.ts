import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import S3rver from '@20minutes/s3rver';

/**
 * A process with an S3 server on loopback: directory, bucket, and optionally a method and a number. The process kills
 * itself when the request of a part with this number and method arrives. It prints its port, then each request, and ends with
 * its standard input.
 */
const [directory, bucket, killMethod, killAt] = process.argv.slice(2) as [string, string, string, string?, string?];
const s3 = new S3rver({ directory, silent: true, configureBuckets: [{ name: bucket }] });
await s3.configureBuckets();
const answer = s3.callback();
let counted = 0;
const server = createServer((request, reply) => {
  const path = request.url!.replace(/\?.*$/, '');
  if (request.method === killMethod && path.includes('/files/') && ++counted === Number(killAt))
    process.kill(process.pid, 'SIGKILL');
  console.log(`${request.method} ${path}`);
  answer(request, reply);
});
server.listen(0, '127.0.0.1', () => console.log(`port ${(server.address() as AddressInfo).port}`));
process.stdin.on('end', () => process.exit()).resume();
