import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type GzipLevel, gzip, sha256Hex, tar } from './archive.ts';
import { baseRoot } from './base-root.ts';
import { debianPackage, type ProgramText } from './deb.ts';
import { ociArchive } from './oci.ts';
import { type Processor, type Release, ROOT, releaseOf, tarballEntries, text } from './release.ts';
import { run, runtimeOf, TARGETS, type Target } from './runtimes.ts';
import { billOfMaterials, type Lock } from './sbom.ts';

const KINDS = ['tar', 'deb', 'oci'] as const;

const USAGE = `Usage: npm run package -- [--out dist/packages] [--targets x64,arm64] [--kinds tar,deb,oci] [--level 1|6|9]

Makes packages of the checked-out commit: tarballs, Debian packages, OCI images, an SBOM for each image and one for the
executable, and SHA256SUMS. The kinds deb and oci are for the targets x64 and arm64. Equal commits give equal bytes.
Targets: ${TARGETS.join(', ')}. An image needs apt-get and dpkg-deb, with which its libraries are downloaded.
`;

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: join(ROOT, 'dist/packages') },
    targets: { type: 'string', default: TARGETS.join(',') },
    kinds: { type: 'string', default: KINDS.join(',') },
    level: { type: 'string', default: '9' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
if (values.help) {
  console.log(USAGE);
  process.exit(0);
}
const targets = chosen('targets', values.targets, TARGETS);
const kinds = chosen('kinds', values.kinds, KINDS);
const [level] = chosen('level', values.level, ['1', '6', '9']).map(Number) as [GzipLevel];
const out = resolve(values.out);
const cache = join(ROOT, 'dist/packaging-cache');
rmSync(out, { recursive: true, force: true });
for (const folder of [out, cache]) mkdirSync(folder, { recursive: true });

const release = releaseOf(process.env, level);
const lock = (JSON.parse(text('package-lock.json')) as { packages: Lock }).packages;
const sums = new Map<string, string>();
const programTexts = textsOfProgram();
for (const target of targets) makePackages(target, release);
write(`obverse-${release.version}.cdx.json`, billOfMaterials(release, lock, []));
const listed = [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, sum]) => `${sum}  ${name}\n`);
writeFileSync(join(out, 'SHA256SUMS'), listed.join(''));

function makePackages(target: Target, { version, time }: Release): void {
  const executable = build(target);
  const name = `obverse-${version}-linux-${target}`;
  if (kinds.includes('tar')) write(`${name}.tar.gz`, gzip(tar(tarballEntries(executable), time, `${name}/`), level));
  if (target !== 'x64' && target !== 'arm64') return;
  if (kinds.includes('deb')) {
    const processor = target === 'x64' ? 'amd64' : target;
    write(`obverse_${version}_${processor}.deb`, debianPackage(release, target, executable, programTexts));
  }
  if (kinds.includes('oci')) makeImage(name, target, executable);
}

function makeImage(name: string, processor: Processor, executable: Uint8Array): void {
  const { entries, packages } = baseRoot(processor, cache);
  write(`${name}.oci.tar`, ociArchive(release, processor, { base: entries, executable }));
  write(`${name}.oci.cdx.json`, billOfMaterials(release, lock, packages));
}

function build(target: Target): Uint8Array {
  const folder = join(cache, target);
  rmSync(folder, { recursive: true, force: true });
  const outfile = join(folder, 'obverse');
  const runtime = runtimeOf(target, cache);
  run(process.execPath, 'build.ts', '--target', `bun-linux-${target}`, '--runtime', runtime, '--outfile', outfile);
  return readFileSync(outfile);
}

/** The completion scripts and the manual pages. */
function textsOfProgram(): ProgramText[] {
  const places = [
    { args: ['completion', 'bash'], path: 'usr/share/bash-completion/completions/obverse' },
    { args: ['completion', 'zsh'], path: 'usr/share/zsh/vendor-completions/_obverse' },
    { args: ['completion', 'fish'], path: 'usr/share/fish/vendor_completions.d/obverse.fish' },
    { args: ['man', 'obverse'], path: 'usr/share/man/man1/obverse.1' },
    { args: ['man', 'obverse.toml'], path: 'usr/share/man/man5/obverse.toml.5' },
  ];
  return places.map(({ args, path }) => ({ path, content: run(process.execPath, 'src/main.ts', ...args) }));
}

function write(name: string, content: Uint8Array | string): void {
  const path = join(out, name);
  writeFileSync(path, content);
  sums.set(name, sha256Hex(content));
  console.log(`${relative('.', path)}: ${(Buffer.byteLength(content) / 2 ** 20).toFixed(1)} MiB`);
}

function chosen<const C extends string>(option: string, given: string, allowed: readonly C[]): C[] {
  return given.split(',').map((word) => {
    const found = allowed.find((each) => each === word);
    if (!found) throw new Error(`--${option}: ${word} is not allowed: must be of ${allowed.join(', ')}`);
    return found;
  });
}
