import { ABI_VERSIONS } from '../src/crypto/system-library.ts';
import { ar, file, gzip, type TarEntry, tar } from './archive.ts';
import { documents, PROCESSORS, type Processor, type Release, text } from './release.ts';

/** A text that the executable prints for the shell or for `man`, and its place. */
export interface ProgramText {
  readonly path: string;
  readonly content: string;
}

const CONFIGURATION = 'etc/obverse/obverse.toml';

/** Errors of lintian that remain, each with its reason. */
const OVERRIDES = `# The executable carries its program in a section that strip would remove.
obverse: unstripped-binary-or-object [usr/bin/obverse]
# The runtime is one file that carries its libraries, SQLite among them.
obverse: embedded-library *
`;

const POSTINST = `#!/bin/sh
set -e
if [ "$1" = configure ]; then
  if ! getent passwd obverse >/dev/null; then
    adduser --quiet --system --group --home /var/lib/obverse --no-create-home --gecos Obverse obverse
  fi
  # The file may hold rpcauth lines. An administrator's own mode is kept.
  if [ -z "$2" ] && [ "$(stat -c %G /${CONFIGURATION})" = root ]; then
    chgrp obverse /${CONFIGURATION}
    chmod 640 /${CONFIGURATION}
  fi
  if [ -d /run/systemd/system ]; then
    systemctl --system daemon-reload || true
    if [ -n "$2" ]; then
      deb-systemd-invoke try-restart obverse.service 'obverse@*.service' || true
    fi
  fi
fi
`;

const PRERM = `#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
  deb-systemd-invoke stop obverse.service 'obverse@*.service' || true
fi
`;

const POSTRM = `#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then
  systemctl --system daemon-reload || true
fi
if [ "$1" = purge ]; then
  # The log that the unit has made the folder for; Debian Policy 10.8.
  rm -rf /var/log/obverse
  if [ -d /var/lib/obverse ]; then
    # Wallets cannot be restored from anywhere else.
    echo 'obverse: /var/lib/obverse is kept, since it may hold wallets and keys; remove it yourself' >&2
  fi
fi
`;

/** Returns the bytes of a Debian package. */
export function debianPackage(
  release: Release,
  processor: Processor,
  executable: Uint8Array,
  programTexts: readonly ProgramText[],
): Uint8Array {
  const { time, level } = release;
  const entries = packageEntries(release, executable, programTexts);
  const installed = entries.reduce((sum, entry) => sum + (entry.type === 'file' ? entry.bytes.length : 0), 0);
  const control = [
    file('control', controlText(release, processor, { executable, kib: Math.ceil(installed / 1024) })),
    file('md5sums', checksums(entries)),
    file('conffiles', `/${CONFIGURATION}\n`),
    file('postinst', POSTINST, 0o755),
    file('prerm', PRERM, 0o755),
    file('postrm', POSTRM, 0o755),
  ];
  return ar(
    [
      { name: 'debian-binary', bytes: new TextEncoder().encode('2.0\n') },
      { name: 'control.tar.gz', bytes: gzip(tar(control, time, './'), 9) },
      { name: 'data.tar.gz', bytes: gzip(tar(entries, time, './'), level) },
    ],
    time,
  );
}

function packageEntries(
  { version, time, maintainer }: Release,
  executable: Uint8Array,
  programTexts: readonly ProgramText[],
): TarEntry[] {
  const unit = (name: string) =>
    file(`usr/lib/systemd/system/${name}`, text(`systemd/${name}`).replaceAll('/usr/local/bin/', '/usr/bin/'));
  const docs = documents().map(({ path, content }) =>
    path.startsWith('monitoring/')
      ? file(`usr/share/obverse/${path}`, content)
      : path === 'CHANGELOG.md'
        ? compressed('usr/share/doc/obverse/CHANGELOG.md', content)
        : file(`usr/share/doc/obverse/${path}`, content),
  );
  const date = new Date(time * 1000).toUTCString().replace('GMT', '+0000');
  const changelog = `obverse (${version}) unstable; urgency=medium

  * CHANGELOG.md lists the changes of this version.

 -- ${maintainer}  ${date}
`;
  return [
    file('usr/bin/obverse', executable, 0o755),
    unit('obverse.service'),
    unit('obverse@.service'),
    file(CONFIGURATION, text('systemd/obverse.toml')),
    file('usr/share/doc/obverse/copyright', copyright()),
    compressed('usr/share/doc/obverse/changelog', changelog),
    file('usr/share/lintian/overrides/obverse', OVERRIDES),
    ...docs,
    ...programTexts.map(({ path, content }) =>
      path.startsWith('usr/share/man/') ? compressed(path, content) : file(path, content),
    ),
  ];
}

function controlText(
  { version, maintainer }: Release,
  processor: Processor,
  { executable, kib }: { executable: Uint8Array; kib: number },
): string {
  const libraries = ABI_VERSIONS.map((abi) => `libsecp256k1-${abi}`).join(' | ');
  return `Package: obverse
Version: ${version}
Architecture: ${PROCESSORS[processor].debian}
Maintainer: ${maintainer}
Installed-Size: ${kib}
Depends: adduser, libc6 (>= ${glibcVersion(executable)})
Recommends: ${libraries}
Section: net
Priority: optional
Description: full node for Bitcoin-family chains in one executable
 Obverse validates the chain with Bitcoin Core's rules, holds wallets, and
 serves an address index, REST, JSON-RPC and WebSocket. The package has a
 systemd unit, and a template with one node for each network.
`;
}

/** Returns the newest version of glibc whose symbols the executable names. */
function glibcVersion(executable: Uint8Array): string {
  const names = Buffer.from(executable.buffer, executable.byteOffset, executable.byteLength);
  let newest = 17;
  const mark = 'GLIBC_2.';
  for (let at = names.indexOf(mark); at >= 0; at = names.indexOf(mark, at + 1)) {
    const found = /^GLIBC_2\.([0-9]{1,2})\0/.exec(names.toString('latin1', at, at + 12));
    if (found) newest = Math.max(newest, Number(found[1]));
  }
  return `2.${newest}`;
}

function checksums(entries: readonly TarEntry[]): string {
  const sums = entries.flatMap((entry) => {
    // Debian's tools compare conffiles by themselves.
    if (entry.type !== 'file' || entry.path === CONFIGURATION) return [];
    return `${new Bun.CryptoHasher('md5').update(entry.bytes).digest('hex')}  ${entry.path}\n`;
  });
  return sums.sort((a, b) => (a.slice(34) < b.slice(34) ? -1 : 1)).join('');
}

function compressed(path: string, content: string): TarEntry {
  return file(`${path}.gz`, gzip(new TextEncoder().encode(content), 9));
}

function copyright(): string {
  const lines = text('LICENSE')
    .trim()
    .split('\n')
    .map((line) => (line.trim() === '' ? ' .' : ` ${line}`));
  return `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: obverse

Files: *
Copyright: 2026 the Obverse maintainers
License: Expat
${lines.join('\n')}
`;
}
