import { file, gzip, sha256Hex, type TarEntry, tar } from './archive.ts';
import { IMAGE_USER } from './base-root.ts';
import { PROCESSORS, type Processor, type Release, text } from './release.ts';

const MEDIA = 'application/vnd.oci.image';
const SECOND_NS = 1_000_000_000;

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

/**
 * Returns an image layout (OCI image specification 1.0) as one archive. The libraries are a layer below that of the
 * executable, so that a new version of Obverse transfers the latter alone.
 */
export function ociArchive(
  release: Release,
  processor: Processor,
  { base, executable }: { readonly base: readonly TarEntry[]; readonly executable: Uint8Array },
): Uint8Array {
  const { version, commit, time, level } = release;
  const blobs = new Map<string, Uint8Array>();
  const addBlob = (mediaType: string, bytes: Uint8Array): Descriptor => {
    const digest = sha256Hex(bytes);
    blobs.set(digest, bytes);
    return { mediaType, digest: `sha256:${digest}`, size: bytes.length };
  };
  const json = (value: object) => new TextEncoder().encode(JSON.stringify(value));

  const program = [
    file('usr/bin/obverse', executable, 0o755),
    file('usr/share/doc/obverse/copyright', text('LICENSE')),
  ];
  const archives = [base, program].map((entries) => tar(entries, time));
  const layers = archives.map((bytes) => addBlob(`${MEDIA}.layer.v1.tar+gzip`, gzip(bytes, level)));
  const created = new Date(time * 1000).toISOString();
  const labels = {
    'org.opencontainers.image.title': 'Obverse',
    'org.opencontainers.image.description': 'A full node for Bitcoin-family chains',
    'org.opencontainers.image.licenses': 'MIT',
    'org.opencontainers.image.version': version,
    'org.opencontainers.image.revision': commit,
    'org.opencontainers.image.created': created,
  };
  const { debian } = PROCESSORS[processor];
  const config = addBlob(
    `${MEDIA}.config.v1+json`,
    json({
      created,
      architecture: debian,
      os: 'linux',
      config: {
        User: `${IMAGE_USER}:${IMAGE_USER}`,
        ExposedPorts: { '8332/tcp': {}, '8333/tcp': {} },
        // The port that is published must not depend on the network.
        Env: ['PATH=/usr/bin', 'HOME=/data', 'OBVERSE_DATADIR=/data', 'OBVERSE_HTTP_LISTEN=0.0.0.0:8332'],
        Entrypoint: ['/usr/bin/obverse'],
        Cmd: ['start'],
        Volumes: { '/data': {} },
        WorkingDir: '/data',
        StopSignal: 'SIGTERM',
        Labels: labels,
        // An extension of Docker; other runtimes have probes of their own.
        Healthcheck: {
          Test: ['CMD', '/usr/bin/obverse', 'probe', 'live'],
          Interval: 10 * SECOND_NS,
          Timeout: 7 * SECOND_NS,
          StartPeriod: 10 * SECOND_NS,
          Retries: 3,
        },
      },
      rootfs: { type: 'layers', diff_ids: archives.map((bytes) => `sha256:${sha256Hex(bytes)}`) },
      history: [
        { created, created_by: 'libraries of Debian' },
        { created, created_by: `obverse ${version}` },
      ],
    }),
  );
  const mediaType = `${MEDIA}.manifest.v1+json`;
  const manifest = addBlob(mediaType, json({ schemaVersion: 2, mediaType, config, layers, annotations: labels }));
  const index = {
    schemaVersion: 2,
    mediaType: `${MEDIA}.index.v1+json`,
    manifests: [
      {
        ...manifest,
        platform: { architecture: debian, os: 'linux' },
        annotations: { 'org.opencontainers.image.ref.name': version },
      },
    ],
  };
  return tar(
    [
      file('oci-layout', json({ imageLayoutVersion: '1.0.0' })),
      file('index.json', json(index)),
      ...[...blobs].map(([digest, bytes]) => file(`blobs/sha256/${digest}`, bytes)),
    ],
    time,
  );
}
