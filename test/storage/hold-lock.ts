import { lockDirectory } from '../../src/node/lock.ts';

/** Takes the lock of a directory and keeps it until it is killed; or says why it cannot. */
try {
  lockDirectory(process.argv[2]!);
  console.log('locked');
  setInterval(() => {}, 1000);
} catch (error) {
  console.log((error as Error).message);
}
