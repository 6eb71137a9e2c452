import { describe, expect, test } from 'bun:test';
import { StorageStop } from '../../src/node/storage-stop.ts';
import { createLog } from '../../src/util/log.ts';

const MEBIBYTE = 1024 * 1024;
const NO_SPACE = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
const IO_ERROR = Object.assign(new Error('EIO: i/o error, write'), { code: 'EIO' });
const DAMAGE = Object.assign(new Error('database disk image is malformed'), { code: 'SQLITE_CORRUPT' });

function stopped(error: Error) {
  const disk = { free: 0 };
  const log = createLog({ level: 'error', format: 'json', write: (bytes) => bytes.length });
  const stop = new StorageStop('/srv/chain', log, () => disk.free);
  expect(stop.ending()).toBeNull();
  stop.onStopped(error);
  return { stop, disk };
}

describe('StorageStop', () => {
  test('a full disk ends nothing until 50 MiB are free, and then the node starts again', () => {
    const { stop, disk } = stopped(NO_SPACE);
    expect(stop.ending()).toBeNull();
    disk.free = 50 * MEBIBYTE - 1;
    expect(stop.ending()).toBeNull();
    disk.free = 50 * MEBIBYTE;
    expect(stop.ending()).toMatchObject({ startsAgain: true, message: expect.stringContaining('/srv/chain') });
  });

  test('a failing disk ends the node with a sentence, and it does not start again by itself', () => {
    const { stop, disk } = stopped(IO_ERROR);
    disk.free = 1024 * MEBIBYTE;
    expect(stop.ending()).toMatchObject({
      startsAgain: false,
      message: 'cannot use /srv/chain: the device reports read or write errors: check the disk',
    });
  });

  test.each([
    ['damage', DAMAGE],
    ['an internal error', new TypeError('undefined is not an object')],
  ] as const)('%s ends nothing, since a start would not help', (_, error) => {
    const { stop, disk } = stopped(error);
    disk.free = 1024 * MEBIBYTE;
    expect(stop.ending()).toBeNull();
  });
});
