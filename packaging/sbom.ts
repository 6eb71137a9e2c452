import { sha256Hex } from './archive.ts';
import type { SystemPackage } from './base-root.ts';
import type { Release } from './release.ts';

interface LockedPackage {
  readonly name?: string;
  readonly version?: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

export type Lock = Readonly<Record<string, LockedPackage>>;

/** The runtime is a development dependency, and its program is in every executable. */
const RUNTIME = 'node_modules/bun';
const FOLDER = 'node_modules/';

interface Component {
  readonly type: 'library' | 'framework' | 'application';
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses?: readonly object[];
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
}

/**
 * Returns the bill of materials of the executable in the form of CycloneDX 1.5: the dependencies in the lock file, the
 * runtime, and packages of the system that an image holds.
 */
export function billOfMaterials(
  { version, time, commit }: Release,
  lock: Lock,
  system: readonly SystemPackage[],
): string {
  const direct = [...Object.keys(lock['']?.dependencies ?? {}).map((name) => FOLDER + name), RUNTIME];
  const included = reachable(direct, lock);
  const components = included.map((path) => componentOf(path, lock[path]!));
  const systemComponents = system.map(({ name, version, architecture, sha256 }): Component => {
    const purl = `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture}`;
    const hashes = [{ alg: 'SHA-256', content: sha256 }];
    return { type: 'library', 'bom-ref': purl, name, version, purl, hashes };
  });
  const own = `pkg:npm/obverse@${version}`;
  const refOf = (path: string) => componentOf(path, lock[path]!)['bom-ref'];
  const dependencies = [
    {
      ref: own,
      dependsOn: direct
        .map(refOf)
        .concat(systemComponents.map((each) => each['bom-ref']))
        .sort(),
    },
    ...included.map((path) => ({
      ref: refOf(path),
      dependsOn: [
        ...new Set(
          needsOf(path, lock)
            .filter((needed) => included.includes(needed))
            .map(refOf),
        ),
      ].sort(),
    })),
  ];
  const byRef = new Map(dependencies.map((each) => [each.ref, each]));
  const body = {
    metadata: {
      timestamp: new Date(time * 1000).toISOString(),
      component: {
        type: 'application',
        'bom-ref': own,
        name: 'obverse',
        version,
        purl: own,
        licenses: [{ license: { id: 'MIT' } }],
        properties: [{ name: 'commit', value: commit }],
      },
    },
    components: [...new Map([...components, ...systemComponents].map((each) => [each['bom-ref'], each])).values()],
    dependencies: [...byRef.values()],
  };
  // Equal content has an equal number.
  const id = sha256Hex(JSON.stringify(body));
  const uuid = `${id.slice(0, 8)}-${id.slice(8, 12)}-5${id.slice(13, 16)}-8${id.slice(17, 20)}-${id.slice(20, 32)}`;
  const head = { bomFormat: 'CycloneDX', specVersion: '1.5', serialNumber: `urn:uuid:${uuid}`, version: 1 };
  return `${JSON.stringify({ ...head, ...body }, null, 2)}\n`;
}

/** Returns these packages and all that they load, but those that hold only types: no executable has them. */
function reachable(direct: readonly string[], lock: Lock): string[] {
  const found = new Set<string>();
  const waiting = [...direct];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (found.has(path) || /node_modules\/(?:typescript|@types\/[^/]+)$/.test(path)) continue;
    found.add(path);
    waiting.push(...needsOf(path, lock));
  }
  return [...found].sort();
}

function componentOf(path: string, { version = '', integrity, license }: LockedPackage): Component {
  const name = path.slice(path.lastIndexOf(FOLDER) + FOLDER.length);
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
  const hash = integrity?.startsWith('sha512-') ? Buffer.from(integrity.slice(7), 'base64').toString('hex') : null;
  return {
    type: 'library',
    'bom-ref': purl,
    name,
    version,
    purl,
    ...(license && { licenses: [/[ ()]/.test(license) ? { expression: license } : { license: { id: license } }] }),
    ...(hash && { hashes: [{ alg: 'SHA-512', content: hash }] }),
  };
}

/** The paths of the packages that one loads, as Node finds them: in its own folder, then in those above. */
function needsOf(path: string, lock: Lock): string[] {
  const { dependencies = {}, peerDependencies = {} } = lock[path]!;
  return Object.keys({ ...dependencies, ...peerDependencies }).flatMap((name) => {
    for (let from = path; ; from = from.slice(0, Math.max(0, from.lastIndexOf(`/${FOLDER}`)))) {
      const place = from === '' ? FOLDER + name : `${from}/${FOLDER}${name}`;
      if (lock[place]) return place;
      if (from === '') return [];
    }
  });
}
