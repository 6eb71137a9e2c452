import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { debianPackage } from '../../packaging/deb.ts';
import { releaseOf } from '../../packaging/release.ts';
import { requireProgram } from '../lib/programs.ts';
import type { Proof } from './proof.ts';

const ROOT = resolve(import.meta.dir, '../..');
/** The user of images (packaging/base-root.ts). */
const IMAGE_USER = 65_532;
const NEEDED = ['lintian', 'skopeo', 'umoci', 'mmdebstrap', 'qemu-aarch64-static', 'unshare'];

/**
 * The packages of the checked-out commit are equal in every build, and they can be installed, upgraded, purged and run:
 * the Debian package in a minimal root, the images as an unprivileged user, those of arm64 under qemu.
 */
export const packages: Proof = {
  help: 'packages are reproducible, and can be installed, upgraded, purged and run; counts builds',
  count: 2,
  async run(count, _seed, signal, progress = () => {}) {
    for (const name of NEEDED) requireProgram(name);
    if (process.getuid?.() !== 0) throw new Error('a root for the packages can only be made by root');
    const folder = join(tmpdir(), `obverse-packages-${process.pid}`);
    const steps = new Steps(folder, signal, progress);
    try {
      mkdirSync(folder);
      const version = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version as string;
      await steps.buildAll(count);
      await steps.checkDebian(version);
      for (const target of ['x64', 'arm64'])
        await steps.checkImage(`obverse-${version}-linux-${target}.oci.tar`, target);
      return { figures: steps.figures, violations: steps.violations };
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

class Steps {
  readonly figures: [string, string | number][] = [];
  readonly violations: string[] = [];

  constructor(
    private readonly folder: string,
    private readonly signal: AbortSignal,
    private readonly progress: (line: string) => void,
  ) {}

  /** Builds all packages several times and compares the lists of hashes. */
  async buildAll(count: number): Promise<void> {
    const lists: string[] = [];
    for (let build = 1; build <= Math.max(count, 1); build++) {
      this.progress(`build ${build}`);
      const out = join(this.folder, `out-${build}`);
      await this.#run([process.execPath, join(ROOT, 'packaging/package.ts'), '--level', '1', '--out', out]);
      lists.push(readFileSync(join(out, 'SHA256SUMS'), 'utf8'));
      const check = await this.#try(['sh', '-c', 'cd "$0" && sha256sum --check --quiet SHA256SUMS', out]);
      if (check.status !== 0) this.violations.push(`SHA256SUMS does not hold: ${check.output}`);
      if (build > 1) rmSync(out, { recursive: true });
    }
    if (new Set(lists).size > 1) this.violations.push(`two builds differ:\n${[...new Set(lists)].join('\n')}`);
    this.figures.push(['builds', lists.length], ['files of a build', lists[0]!.trim().split('\n').length]);
  }

  /** Installs, upgrades, removes and purges the package in a minimal Debian, and runs lintian. */
  async checkDebian(version: string): Promise<void> {
    const deb = join(this.folder, `out-1/obverse_${version}_amd64.deb`);
    this.progress('lintian');
    const lint = await this.#try(['lintian', '--allow-root', '--no-tag-display-limit', deb]);
    for (const line of lint.output.split('\n')) if (/^E:/.test(line)) this.violations.push(line);
    this.figures.push(['lintian', `${lint.output.split('\n').filter((line) => /^W:/.test(line)).length} warnings`]);

    this.progress('a minimal Debian');
    const root = join(this.folder, 'root');
    const release = readFileSync('/etc/os-release', 'utf8').match(/^VERSION_CODENAME=(.+)$/m)![1]!;
    await this.#run(['mmdebstrap', '--quiet', '--variant=essential', '--include=adduser', release, root]);
    const next = debianPackage(
      { ...releaseOf(process.env, 1), version: `${version}.1` },
      'x64',
      executableOf(root, deb),
      [],
    );
    cpSync(deb, join(root, 'one.deb'));
    writeFileSync(join(root, 'two.deb'), next);

    const inside = (...command: string[]) => this.#run(['chroot', root, ...command]);
    await inside('dpkg', '-i', '/one.deb');
    const configuration = join(root, 'etc/obverse/obverse.toml');
    const { mode, gid } = statSync(configuration);
    const group = (await inside('getent', 'group', 'obverse')).split(':')[2];
    this.#expect(
      'the configuration has mode 640 and the group of the service',
      (mode & 0o777) === 0o640 && `${gid}` === group,
    );
    const shown = await this.#inRoot(root, [
      requireProgram('chroot'),
      '--userspec=obverse:obverse',
      root,
      '/usr/bin/obverse',
      'version',
    ]);
    this.#expect(`version prints the version: ${shown}`, shown.startsWith(`obverse ${version} (`));
    const config = ['help', 'config'];
    await this.#inRoot(root, ['chroot', '--userspec=obverse:obverse', root, '/usr/bin/obverse', ...config]);

    writeFileSync(configuration, 'network = "signet"\n');
    mkdirSync(join(root, 'var/lib/obverse/main'), { recursive: true });
    writeFileSync(join(root, 'var/lib/obverse/main/wallet'), 'a wallet');
    mkdirSync(join(root, 'var/log/obverse'), { recursive: true });
    writeFileSync(join(root, 'var/log/obverse/node.log'), 'a line');
    await inside('dpkg', '--force-confold', '-i', '/two.deb');
    const kept = readFileSync(configuration, 'utf8') === 'network = "signet"\n' && statSync(configuration).gid === gid;
    this.#expect('an upgrade keeps the configuration of the administrator', kept);
    const installed = await inside('dpkg-query', '--show', `--showformat=\${Version} \${Status}`, 'obverse');
    this.#expect(`the upgrade is installed: ${installed}`, installed === `${version}.1 install ok installed`);

    await inside('dpkg', '--remove', 'obverse');
    this.#expect(
      'a removal keeps the configuration',
      existsSync(configuration) && !existsSync(join(root, 'usr/bin/obverse')),
    );
    const purged = await inside('dpkg', '--purge', 'obverse');
    this.#expect('a purge removes the configuration', !existsSync(join(root, 'etc/obverse')));
    this.#expect(
      'a purge keeps wallets and says so',
      existsSync(join(root, 'var/lib/obverse/main/wallet')) && purged.includes('/var/lib/obverse is kept'),
    );
    this.#expect('a purge removes the log', !existsSync(join(root, 'var/log/obverse')));
    const left = readdirSync(join(root, 'usr/share/doc')).filter((name) => name === 'obverse');
    this.#expect('a purge leaves no file of the package', left.length === 0);
    this.figures.push(['Debian', `${release}: installed, upgraded, removed, purged`]);
  }

  /** Copies and unpacks an image with tools of others, and runs its root as an unprivileged user. */
  async checkImage(name: string, target: string): Promise<void> {
    this.progress(name);
    const layout = join(this.folder, `layout-${target}`);
    await this.#run([
      'skopeo',
      '--insecure-policy',
      'copy',
      '--quiet',
      `oci-archive:${join(this.folder, 'out-1', name)}`,
      `oci:${layout}:obverse`,
    ]);
    const bundle = join(this.folder, `bundle-${target}`);
    await this.#run(['umoci', 'unpack', '--image', `${layout}:obverse`, bundle]);
    const config = JSON.parse(readFileSync(join(bundle, 'config.json'), 'utf8')).process as {
      user: { uid: number };
      args: string[];
      env: string[];
    };
    this.#expect('the image has a user without rights', config.user.uid === IMAGE_USER);
    this.#expect('the image starts the node', config.args.join(' ') === '/usr/bin/obverse start');

    const root = join(bundle, 'rootfs');
    const emulator = target === 'x64' ? [] : ['/tmp/qemu-aarch64-static'];
    if (target !== 'x64') cpSync(requireProgram('qemu-aarch64-static'), join(root, emulator[0]!));
    const chroot = [
      'env',
      '-i',
      ...config.env,
      requireProgram('chroot'),
      `--userspec=${IMAGE_USER}:${IMAGE_USER}`,
      root,
      ...emulator,
      '/usr/bin/obverse',
    ];
    const shown = await this.#inRoot(root, [...chroot, 'version']);
    this.figures.push([name, shown.split('\n')[1]!]);
    // The executable carries no addon for arm64.
    this.#expect('the image has its own libsecp256k1', shown.includes('(system)'));
    const flags = '--network=regtest --p2p.enabled=false --http.listen=127.0.0.1:18999 --wallet.autocreate=false';
    const script = `"$@" start ${flags} 2>/tmp/log & node=$!; for i in $(seq 300); do "$@" probe live ${flags} && break; sleep 0.2; done; kill $node; wait $node; echo "status $?"`;
    // A network of its own, since the port may be in use.
    const started = await this.#inRoot(
      root,
      ['sh', '-c', `ip link set lo up 2>/dev/null; ${script}`, 'sh', ...chroot],
      ['--net'],
    );
    this.#expect(`the node in the image is live, and stops in order: ${started}`, /live\nstatus 0/.test(started));
  }

  /** Runs a command with /proc and /dev mounted in a root, in name spaces that end with it. */
  #inRoot(root: string, command: readonly string[], spaces: readonly string[] = []): Promise<string> {
    const mounts = 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec "$@"';
    for (const name of ['proc', 'dev']) mkdirSync(join(root, name), { recursive: true });
    const unshare = ['unshare', '--mount', '--pid', '--fork', '--kill-child', ...spaces];
    return this.#run([...unshare, 'sh', '-c', mounts, root, ...command]);
  }

  #expect(what: string, holds: boolean): void {
    if (!holds) this.violations.push(`not true: ${what}`);
  }

  async #run(command: readonly string[]): Promise<string> {
    const { status, output } = await this.#try(command);
    if (status !== 0) throw new Error(`${command.join(' ')} ended with ${status}: ${output}`);
    return output;
  }

  async #try(command: readonly string[]): Promise<{ status: number; output: string }> {
    this.signal.throwIfAborted();
    const child = Bun.spawn([...command], { stdout: 'pipe', stderr: 'pipe', signal: this.signal });
    const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    return { status: await child.exited, output: (out + err).trim() };
  }
}

/** Returns the executable of a package, which is unpacked beside the root. */
function executableOf(root: string, deb: string): Uint8Array {
  const folder = `${root}-executable`;
  const { success, stderr } = Bun.spawnSync(['dpkg-deb', '-x', deb, folder]);
  if (!success) throw new Error(stderr.toString());
  const bytes = readFileSync(join(folder, 'usr/bin/obverse'));
  rmSync(folder, { recursive: true });
  return bytes;
}
