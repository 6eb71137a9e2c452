import { describe, expect, test } from 'bun:test';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readAddons } from '../../src/crypto/addon-file.ts';
import { withMemoryFile, withPrivateDirectory } from '../../src/crypto/private-load.ts';

const root = join(import.meta.dir, '../..');
const PREBUILT = 'secp256k1/prebuilds/linux-x64/secp256k1.glibc.node';
const onLinux = process.platform === 'linux';

test.skipIf(!onLinux)('the installed addons have the pinned hashes', () => {
  const [first] = readAddons();
  expect(Buffer.from(first!).equals(readFileSync(join(root, 'node_modules', PREBUILT)))).toBe(true);
});

test.skipIf(!onLinux)('a program does not start if one byte of the library differs', async () => {
  const copy = mkdtempSync(join(tmpdir(), 'obverse-copy-'));
  try {
    for (const name of ['src', 'package.json']) cpSync(join(root, name), join(copy, name), { recursive: true });
    mkdirSync(join(copy, 'node_modules'));
    for (const name of readdirSync(join(root, 'node_modules')))
      if (name !== 'secp256k1') symlinkSync(join(root, 'node_modules', name), join(copy, 'node_modules', name));
    cpSync(join(root, 'node_modules/secp256k1'), join(copy, 'node_modules/secp256k1'), { recursive: true });
    const file = join(copy, 'node_modules', PREBUILT);
    const bytes = readFileSync(file);
    bytes[bytes.length >> 1]! ^= 1;
    writeFileSync(file, bytes);
    const datadir = join(copy, 'data');
    for (const args of [
      ['start', '--http.listen', '127.0.0.1:0'],
      ['import', join(copy, 'package.json')],
    ]) {
      const { exitCode, stderr } = Bun.spawnSync(
        [process.execPath, join(copy, 'src/main.ts'), ...args, '--network', 'regtest', '--datadir', datadir],
        { timeout: 20_000 },
      );
      expect([exitCode, stderr.toString()]).toEqual([
        1,
        expect.stringMatching(
          /^obverse: the signature library \S+ was changed: its SHA-256 is [0-9a-f]{64} instead of d93a107b\S+; install the program again\n$/,
        ),
      ]);
    }
    expect(existsSync(datadir)).toBe(false);
  } finally {
    rmSync(copy, { recursive: true });
  }
});

describe('an addon is loaded', () => {
  const bytes = new TextEncoder().encode('a library');
  const read = (path: string) => {
    expect(readFileSync(path, 'utf8')).toBe('a library');
    return path;
  };

  test.skipIf(!onLinux)('from a sealed file in memory', () => {
    const tried = withMemoryFile(bytes, (path) => {
      read(path);
      expect(() => writeFileSync(path, 'another', { flag: 'r+' })).toThrow(/EPERM/);
      expect(() => truncateSync(path, 1)).toThrow(/EPERM/);
      return path;
    });
    expect(tried!.loaded).toMatch(/^\/proc\/self\/fd\/\d+$/);
  });

  test('otherwise from a directory for this user alone, which is removed', () => {
    const parent = mkdtempSync(join(tmpdir(), 'obverse-parent-'));
    const { loaded } = withPrivateDirectory(
      bytes,
      (path) => {
        expect(Bun.spawnSync(['stat', '-c', '%a', join(path, '..'), path]).stdout.toString()).toBe('700\n500\n');
        return read(path);
      },
      parent,
    )!;
    expect(loaded).toStartWith(parent);
    expect(() =>
      withPrivateDirectory(
        bytes,
        () => {
          throw new Error('it cannot be loaded');
        },
        parent,
      ),
    ).toThrow('it cannot be loaded');
    expect(readdirSync(parent)).toEqual([]);
    // If other users could rename it, it could be replaced before it is loaded.
    Bun.spawnSync(['chmod', '777', parent]);
    expect(withPrivateDirectory(bytes, read, parent)).toBeNull();
    Bun.spawnSync(['chmod', '1777', parent]);
    expect(withPrivateDirectory(bytes, read, parent)).not.toBeNull();
    rmSync(parent, { recursive: true });
  });
});
