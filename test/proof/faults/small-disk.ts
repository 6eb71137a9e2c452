import { mkdirSync, readFileSync, rmSync, statfsSync, truncateSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { requireProgram } from '../../lib/programs.ts';

const DISK_BYTES = 384 * 2 ** 20;
const FILLER = 'filler';
const BLOCK_BYTES = 4096;

/**
 * A file system of its own (ext4 in a file), which can be filled and made read-only while files are open. It needs root
 * and loop devices.
 */
export class SmallDisk {
  /** Where it is mounted. */
  readonly directory: string;
  readonly #image: string;

  private constructor(image: string, directory: string) {
    this.#image = image;
    this.directory = directory;
  }

  /** Creates one in `workDir`. Throws where it cannot be mounted. */
  static create(workDir: string): SmallDisk {
    const disk = new SmallDisk(join(workDir, 'disk.img'), join(workDir, 'disk'));
    mkdirSync(disk.directory);
    writeFileSync(disk.#image, '');
    truncateSync(disk.#image, DISK_BYTES);
    // Root may not use a reserve, and no thread of the kernel writes later.
    run(
      requireProgram('mkfs.ext4'),
      '-q',
      '-F',
      '-m',
      '0',
      '-E',
      'lazy_itable_init=0,lazy_journal_init=0',
      disk.#image,
    );
    disk.#mount();
    return disk;
  }

  /** Occupies all free space. */
  fill(): void {
    const path = join(this.directory, FILLER);
    let length = 0;
    for (let step = freeBytes(this.directory); step >= BLOCK_BYTES; ) {
      if (tryRun('fallocate', '--offset', String(length), '--length', String(step), path)) length += step;
      else step = Math.floor(step / 2 / BLOCK_BYTES) * BLOCK_BYTES;
    }
  }

  /** Frees what `fill` has occupied. */
  free(): void {
    rmSync(join(this.directory, FILLER), { force: true });
  }

  sync(): void {
    run('sync', '--file-system', this.directory);
  }

  /** Makes the file system read-only as a fault of the device does, also for files that are open for writing. */
  makeReadOnly(): void {
    writeFileSync(`/sys/fs/ext4/${basename(this.#device())}/trigger_fs_error`, 'fault');
  }

  /** Repairs the file system and mounts it again. No process may use it. */
  repair(): void {
    run('umount', this.directory);
    // The exit status 1 says that errors were corrected.
    const { exitCode } = Bun.spawnSync([requireProgram('e2fsck'), '-p', this.#image], {
      stdout: 'ignore',
      stderr: 'ignore',
    });
    if (exitCode > 1) throw new Error(`e2fsck ended with ${exitCode}`);
    this.#mount();
  }

  close(): void {
    tryRun('umount', '--lazy', this.directory);
  }

  #device(): string {
    const line = readFileSync('/proc/self/mounts', 'utf8')
      .split('\n')
      .find((text) => text.split(' ')[1] === this.directory);
    if (line === undefined) throw new Error(`${this.directory} is not mounted`);
    return line.split(' ')[0]!;
  }

  #mount(): void {
    run('mount', '-o', 'loop,errors=remount-ro', this.#image, this.directory);
  }
}

function freeBytes(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}

function tryRun(...command: string[]): boolean {
  return Bun.spawnSync(command, { stdout: 'ignore', stderr: 'ignore' }).success;
}

function run(...command: string[]): void {
  const { success, stderr } = Bun.spawnSync(command, { stdout: 'ignore', stderr: 'pipe' });
  if (!success) throw new Error(`${command.join(' ')}: ${stderr.toString().trim()}`);
}
