import { afterAll, describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ar, file, gzip, sha256Hex, type TarEntry, tar } from '../../packaging/archive.ts';
import { debianPackage } from '../../packaging/deb.ts';
import { ociArchive } from '../../packaging/oci.ts';
import { type Release, text } from '../../packaging/release.ts';
import { billOfMaterials, type Lock } from '../../packaging/sbom.ts';
import { systemLibraryFiles } from '../../src/crypto/system-library.ts';
import { requireProgram } from '../lib/programs.ts';

const TIME = 1_700_000_000;
const RELEASE: Release = {
  version: '9.8.7',
  commit: 'abcdef012345',
  time: TIME,
  maintainer: 'A <a@b.example>',
  level: 1,
};
const EXECUTABLE = Buffer.from('#!/bin/sh\necho obverse\n# GLIBC_2.18\0 GLIBC_2.9\0\n');

const folder = mkdtempSync(join(tmpdir(), 'packages-'));
afterAll(() => rmSync(folder, { recursive: true }));

function output(...command: string[]): string {
  const { stdout, stderr, success } = Bun.spawnSync([requireProgram(command[0]!), ...command.slice(1)]);
  if (!success) throw new Error(stderr.toString());
  return stdout.toString();
}

function stored(name: string, bytes: Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return path;
}

describe('tar', () => {
  const long = `${'a/'.repeat(60)}${'b'.repeat(90)}`;
  const entries: TarEntry[] = [
    file('z', 'last'),
    file(long, 'x'.repeat(513)),
    file('bin/run', 'run', 0o755),
    { path: 'bin/link', mode: 0o777, type: 'link', target: 'run' },
    { path: 'data', mode: 0o700, uid: 7, gid: 8, type: 'directory' },
  ];

  test('is read by tar: sorted, of root, of one time, with the folders', () => {
    const path = stored('a.tar', tar(entries, TIME, './'));
    const lines = output('tar', '--utc', '--numeric-owner', '-tvf', path).trim().split('\n');
    const short = lines.filter((line) => !line.includes('./a/')).map((line) => line.replaceAll(/ +/g, ' '));
    expect(short).toEqual([
      'drwxr-xr-x 0/0 0 2023-11-14 22:13 ./bin/',
      'lrwxrwxrwx 0/0 0 2023-11-14 22:13 ./bin/link -> run',
      '-rwxr-xr-x 0/0 3 2023-11-14 22:13 ./bin/run',
      'drwx------ 7/8 0 2023-11-14 22:13 ./data/',
      '-rw-r--r-- 0/0 4 2023-11-14 22:13 ./z',
    ]);
    expect(output('tar', '-xOf', path, `./${long}`)).toBe('x'.repeat(513));
  });

  test('does not depend on the order of the entries', () => {
    expect(sha256Hex(tar(entries.toReversed(), TIME))).toBe(sha256Hex(tar(entries, TIME)));
  });

  test.each([
    [`${'c'.repeat(101)}`, 'is too long'],
    ['naïve', 'has characters other than ASCII'],
  ])('refuses the path %s', (path, reason) => expect(() => tar([file(path, '')], TIME)).toThrow(reason));

  test('refuses two entries of one path', () => {
    expect(() => tar([file('a', ''), file('a', '')], TIME)).toThrow('a is in the archive twice');
  });
});

test('ar pads members of odd length', () => {
  const bytes = ar(
    [
      { name: 'a', bytes: Buffer.from('abc') },
      { name: 'b', bytes: Buffer.from('d') },
    ],
    TIME,
  );
  expect(Buffer.from(bytes).toString()).toMatch(
    /^!<arch>\na {15}1700000000 .{21}3 {9}`\nabc\nb {15}1700000000 .{21}1 {9}`\nd\n$/,
  );
});

describe.skipIf(process.platform !== 'linux' || !Bun.which('dpkg-deb'))('the Debian package', () => {
  const made = debianPackage(RELEASE, 'arm64', EXECUTABLE, [
    { path: 'usr/share/man/man1/obverse.1', content: '.TH\n' },
  ]);
  const deb = stored('obverse.deb', made);

  test('is equal in two builds', () => {
    const again = debianPackage(RELEASE, 'arm64', EXECUTABLE, [
      { path: 'usr/share/man/man1/obverse.1', content: '.TH\n' },
    ]);
    expect(sha256Hex(again)).toBe(sha256Hex(made));
  });

  test('names the C library that the executable needs, and the signature libraries in the order of the node', () => {
    expect(output('dpkg-deb', '-f', deb, 'Package', 'Version', 'Architecture', 'Depends')).toBe(
      'Package: obverse\nVersion: 9.8.7\nArchitecture: arm64\nDepends: adduser, libc6 (>= 2.18)\n',
    );
    const recommended = output('dpkg-deb', '-f', deb, 'Recommends').trim().split(' | ');
    expect(recommended[0]).toBe('libsecp256k1-7');
    for (const path of systemLibraryFiles())
      expect(recommended).toContain(`libsecp256k1-${/\.so\.([0-9]+)/.exec(path)![1]}`);
  });

  test('installs the program, the units for its place, the configuration and their checksums', () => {
    const root = join(folder, 'root');
    mkdirSync(root);
    output('dpkg-deb', '-R', deb, root);
    expect(statSync(join(root, 'usr/bin/obverse')).mode & 0o777).toBe(0o755);
    for (const name of ['obverse.service', 'obverse@.service']) {
      const unit = readFileSync(join(root, 'usr/lib/systemd/system', name), 'utf8');
      expect(unit).toContain('ExecStart=/usr/bin/obverse start');
      expect(unit).not.toContain('/usr/local');
      // The sandbox makes all other folders read-only, so log.file could not be opened in /var/log.
      expect(unit).toMatch(/^ProtectSystem=strict$/m);
      expect(unit).toMatch(/^LogsDirectory=obverse$/m);
    }
    expect(readFileSync(join(root, 'DEBIAN/conffiles'), 'utf8')).toBe('/etc/obverse/obverse.toml\n');
    expect(readFileSync(join(root, 'etc/obverse/obverse.toml'), 'utf8')).toBe(text('systemd/obverse.toml'));
    expect(statSync(join(root, 'usr/share/man/man1/obverse.1.gz')).size).toBeGreaterThan(0);
    for (const script of ['postinst', 'prerm', 'postrm']) output('sh', '-n', join(root, 'DEBIAN', script));
    // Only a purge removes the log; the script runs here with the folders of a root of its own.
    const log = join(folder, 'var/log/obverse');
    const postrm = readFileSync(join(root, 'DEBIAN/postrm'), 'utf8').replaceAll('/var/', `${folder}/var/`);
    mkdirSync(log, { recursive: true });
    const run = (action: string) => output('sh', '-c', postrm.replaceAll('/run/systemd', folder), 'postrm', action);
    run('remove');
    expect(existsSync(log)).toBe(true);
    run('purge');
    expect(existsSync(log)).toBe(false);
    output('sh', '-c', 'cd "$0" && md5sum --check --quiet DEBIAN/md5sums', root);
  });
});

describe('the image', () => {
  const base = [file('etc/passwd', 'obverse:x:65532:65532::/data:/sbin/nologin\n')];
  const archive = ociArchive(RELEASE, 'x64', { base, executable: EXECUTABLE });
  const layout = join(folder, 'layout');
  const blob = (digest: string) => readFileSync(join(layout, 'blobs', digest.replace(':', '/')));
  const json = (bytes: Buffer) => JSON.parse(bytes.toString());

  test('has every blob under its hash, and layers whose content has the hash of the configuration', () => {
    mkdirSync(layout);
    output('tar', '-xf', stored('image.tar', archive), '-C', layout);
    expect(json(readFileSync(join(layout, 'oci-layout')))).toEqual({ imageLayoutVersion: '1.0.0' });
    const [descriptor] = json(readFileSync(join(layout, 'index.json'))).manifests;
    expect(descriptor.platform).toEqual({ architecture: 'amd64', os: 'linux' });
    const manifest = json(blob(descriptor.digest));
    for (const { digest, size } of [descriptor, manifest.config, ...manifest.layers]) {
      expect(blob(digest).length).toBe(size);
      expect(`sha256:${sha256Hex(blob(digest))}`).toBe(digest);
    }
    const config = json(blob(manifest.config.digest));
    const contents = manifest.layers.map(({ digest }: { digest: string }) => Bun.gunzipSync(blob(digest)));
    expect(config.rootfs.diff_ids).toEqual(contents.map((bytes: Uint8Array) => `sha256:${sha256Hex(bytes)}`));
    expect(config.config.User).toBe('65532:65532');
    expect(config.config.Healthcheck.Test).toEqual(['CMD', '/usr/bin/obverse', 'probe', 'live']);
    expect(config.config.Labels['org.opencontainers.image.revision']).toBe('abcdef012345');
  });

  test('is equal in two builds', () => {
    expect(sha256Hex(ociArchive(RELEASE, 'x64', { base, executable: EXECUTABLE }))).toBe(sha256Hex(archive));
  });
});

describe('the bill of materials', () => {
  const lock = (JSON.parse(text('package-lock.json')) as { packages: Lock }).packages;
  const system = [{ name: 'libc6', version: '2.36-9+deb12u14', architecture: 'amd64', sha256: '00' }];
  const bill = JSON.parse(billOfMaterials(RELEASE, lock, system));
  const names = bill.components.map(({ name }: { name: string }) => name) as string[];

  test('has the dependencies, the runtime and the packages of the image, and nothing for development alone', () => {
    const { dependencies, devDependencies } = JSON.parse(text('package.json'));
    for (const name of Object.keys(dependencies)) expect(names).toContain(name);
    expect(names).toContain('bun');
    expect(names).toContain('libc6');
    for (const name of ['typescript', 'knip', '@biomejs/biome']) {
      expect(Object.keys(devDependencies)).toContain(name);
      expect(names).not.toContain(name);
    }
  });

  test('has each component once, with a hash, and refers to components alone', () => {
    const refs = bill.components.map((each: { 'bom-ref': string }) => each['bom-ref']) as string[];
    expect(new Set(refs).size).toBe(refs.length);
    for (const { name, hashes } of bill.components) expect([name, hashes?.length]).toEqual([name, 1]);
    const known = new Set([...refs, bill.metadata.component['bom-ref']]);
    const used = bill.dependencies.flatMap(({ ref, dependsOn }: { ref: string; dependsOn: string[] }) => [
      ref,
      ...dependsOn,
    ]);
    expect(used.filter((ref: string) => !known.has(ref))).toEqual([]);
    const elysia = bill.dependencies.find(({ ref }: { ref: string }) => ref.startsWith('pkg:npm/elysia@'));
    expect(elysia.dependsOn.length).toBeGreaterThan(0);
  });
});

test('gzip gives equal bytes for equal content, without a time', () => {
  const bytes = gzip(Buffer.from('content'), 6);
  expect(sha256Hex(gzip(Buffer.from('content'), 6))).toBe(sha256Hex(bytes));
  expect([...bytes.subarray(4, 8)]).toEqual([0, 0, 0, 0]);
});
