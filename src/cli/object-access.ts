import type { ObjectAccess, ObjectPlace } from '../util/object-store.ts';
import { OperatorError } from '../util/operator-error.ts';
import { UsageError } from './command.ts';

type Env = Readonly<Record<string, string | undefined>>;

const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
/** Characters that need no escape in a URL or a shell. */
const PREFIX_NAME = /^[A-Za-z0-9_.-]+$/;
const MAX_PREFIX = 512;
const REGION = /^[a-z0-9-]{1,40}$/;
/** Servers other than that of Amazon accept this region where they have none. */
const DEFAULT_REGION = 'us-east-1';

/** Reads `s3://BUCKET/PREFIX`. Throws UsageError. */
export function readObjectPlace(text: string): ObjectPlace {
  const [, bucket = '', path = ''] = /^s3:\/\/([^/]*)\/?(.*)$/.exec(text) ?? [];
  const names = path.replace(/\/$/, '').split('/');
  const isPrefix = path === '' || names.every((name) => PREFIX_NAME.test(name) && name !== '.' && name !== '..');
  if (!BUCKET.test(bucket) || !isPrefix || path.length > MAX_PREFIX)
    throw new UsageError(
      // A place with an @ may hold a password.
      `the place is s3://BUCKET/PREFIX, where PREFIX has letters, digits, _, -, . and /${text.includes('@') ? '' : `, not ${text.slice(0, 100)}`}`,
    );
  return { bucket, prefix: names.join('/') };
}

/**
 * Reads how object storage is reached: the credentials from the environment alone, which other users cannot read. Throws
 * UsageError or OperatorError, whose texts hold no credential.
 */
export function readObjectAccess(
  { endpoint, region }: { readonly endpoint: string | null; readonly region: string | null },
  env: Env,
): ObjectAccess {
  const find = (name: string) => env[`S3_${name}`] || env[`AWS_${name}`] || null;
  const [accessKeyId, secretAccessKey] = [find('ACCESS_KEY_ID'), find('SECRET_ACCESS_KEY')];
  const missing = accessKeyId === null ? 'ACCESS_KEY_ID' : secretAccessKey === null ? 'SECRET_ACCESS_KEY' : null;
  if (accessKeyId === null || secretAccessKey === null)
    throw new OperatorError(
      `the environment has no credentials for object storage: set S3_${missing} or AWS_${missing}`,
      {
        isOfSettings: true,
      },
    );
  return {
    endpoint: readEndpoint(
      endpoint === null ? 'S3_ENDPOINT or AWS_ENDPOINT' : '--endpoint',
      endpoint ?? find('ENDPOINT'),
    ),
    region: readRegion(region === null ? 'S3_REGION or AWS_REGION' : '--region', region ?? find('REGION')),
    accessKeyId,
    secretAccessKey,
    sessionToken: find('SESSION_TOKEN'),
  };
}

/** The value is not shown where it may hold a password. */
function readEndpoint(source: string, text: string | null): string | null {
  if (text === null) return null;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (
    url === null ||
    !/^https?:$/.test(url.protocol) ||
    url.username !== '' ||
    url.password !== '' ||
    url.search !== ''
  )
    throw new UsageError(`${source} is an http or https URL without credentials, such as https://s3.example.com`);
  return text.replace(/\/+$/, '');
}

function readRegion(source: string, text: string | null): string {
  if (text !== null && !REGION.test(text))
    throw new UsageError(`${source} is the name of a region, such as eu-central-1, not ${text.slice(0, 100)}`);
  return text ?? DEFAULT_REGION;
}
