import { lockDirectory } from '../../src/node/lock.ts';

/** Acquires the lock of a directory and holds it until it is killed, or prints why it cannot. */
try {
  lockDirectory(process.argv[2]!);
  console.log('locked');
  setInterval(() => {}, 1000);
} catch (error) {
  console.log((error as Error).message);
}
