import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { file, sha256Hex, type TarEntry } from './archive.ts';
import { PROCESSORS, type Processor } from './release.ts';
import { run } from './runtimes.ts';

/** A package of Debian whose files are in an image. */
export interface SystemPackage {
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
  readonly sha256: string;
}

export interface BaseRoot {
  readonly entries: readonly TarEntry[];
  readonly packages: readonly SystemPackage[];
}

/** The user of the image; its number belongs to no user of a host. */
export const IMAGE_USER = 65_532;

/** Libraries that the executable loads: the C library with its parts, and the signature library. */
const LIBRARIES = /\/(?:ld-linux[^/]*|lib(?:c|m|dl|pthread|rt|resolv|nss_dns|nss_files|secp256k1))\.so[^/]*$/;

/**
 * Returns the root of the image: libraries from packages of Debian, which apt downloads into `folder` and verifies, and
 * the files that name the user. The release of Debian is that of this machine.
 */
export function baseRoot(processor: Processor, folder: string): BaseRoot {
  const { debian } = PROCESSORS[processor];
  const apt = join(folder, `apt-${debian}`);
  for (const part of ['lists/partial', 'cache/archives/partial']) mkdirSync(join(apt, part), { recursive: true });
  writeFileSync(join(apt, 'status'), '');
  const options = [
    ...[`APT::Architecture=${debian}`, `APT::Architectures::=${debian}`, 'APT::Sandbox::User=root'],
    ...[`Dir::State=${apt}`, `Dir::State::status=${join(apt, 'status')}`, `Dir::Cache=${join(apt, 'cache')}`],
  ].flatMap((option) => ['-o', option]);
  run('apt-get', ...options, '-qq', 'update');
  const signatures = run('apt-cache', ...options, 'search', '--names-only', '^libsecp256k1-[12567]$');
  const library = signatures
    .split('\n')
    .map((line) => line.split(' ')[0]!)
    .filter((name) => name !== '')
    .sort()
    .at(-1);
  const wanted = ['libc6', ...(library ? [library] : [])];
  const archives = wanted.map((name) => download(name, options, apt));
  const root = join(apt, 'root');
  for (const { archive } of archives) run('dpkg-deb', '-x', archive, root);
  return {
    entries: [...userFiles(), ...files(root)],
    packages: archives.map(({ archive, name, version }) => ({
      name,
      version,
      architecture: debian,
      sha256: sha256Hex(readFileSync(archive)),
    })),
  };
}

function download(name: string, options: readonly string[], apt: string) {
  const [line] = run('apt-get', ...options, 'download', '--print-uris', name).split('\n');
  const archive = join(apt, 'cache', basename(/ (\S+\.deb) /.exec(line!)![1]!));
  // apt downloads into the working directory, and checks the hash that the signed list of the archive names.
  run('sh', '-c', 'cd "$0" && exec "$@"', join(apt, 'cache'), 'apt-get', ...options, '-qq', 'download', name);
  const version = run('dpkg-deb', '-f', archive, 'Version').trim();
  return { archive, name, version };
}

function userFiles(): TarEntry[] {
  const user = IMAGE_USER;
  return [
    file('etc/passwd', `root:x:0:0:root:/:/sbin/nologin\nobverse:x:${user}:${user}:Obverse:/data:/sbin/nologin\n`),
    file('etc/group', `root:x:0:\nobverse:x:${user}:\n`),
    file('etc/nsswitch.conf', 'hosts: files dns\n'),
    { path: 'tmp', mode: 0o1777, type: 'directory' },
    // A read-only root must have them, because a runtime mounts file systems there.
    ...['dev', 'proc', 'sys'].map((path): TarEntry => ({ path, mode: 0o755, type: 'directory' })),
    { path: 'data', mode: 0o700, uid: user, gid: user, type: 'directory' },
  ];
}

/** The libraries below a folder, and the texts of their licences. */
function files(root: string): TarEntry[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' }).flatMap((path): TarEntry[] => {
    if (!LIBRARIES.test(`/${path}`) && !/^usr\/share\/doc\/[^/]+\/copyright$/.test(path)) return [];
    const place = join(root, path);
    const stat = lstatSync(place);
    if (stat.isSymbolicLink()) return [{ path, mode: 0o777, type: 'link', target: readlinkSync(place) }];
    return stat.isFile() ? [file(path, readFileSync(place), stat.mode & 0o755)] : [];
  });
}
