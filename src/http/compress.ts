import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

const gzipAsync = promisify(gzip);

/** Longer bodies are compressed. */
export const MIN_COMPRESSED_BYTES = 1024;
/** Longer bodies are compressed by another thread, since the main thread must not block for milliseconds. */
const MAX_INLINE_BYTES = 32 * 1024;
/** A stream of events has no end to wait for. */
const COMPRESSIBLE = /^(?:application\/json|text\/(?!event-stream))/;

/** Returns the body of a reply. */
type MakeBody = (bytes: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;

/**
 * Returns the reply, compressed with gzip when the client accepts it, the type is compressible and the body is longer
 * than 1 KiB.
 */
export function compressed(
  request: Request,
  response: Response,
  type: string | null,
  body: MakeBody,
): Response | Promise<Response> {
  const { headers } = response;
  if (!isCompressible(type) || headers.has('content-encoding')) return response;
  headers.append('vary', 'Accept-Encoding');
  // The body is read last, because Bun turns it into a stream.
  if (!acceptsGzip(request.headers.get('accept-encoding')) || !response.body) return response;
  return compress(response, body);
}

/** Whether a long reply of this type will be compressed. */
export function willCompress(request: Request, type: string | null): boolean {
  return isCompressible(type) && acceptsGzip(request.headers.get('accept-encoding'));
}

/** Whether replies of a content type are compressed. */
export function isCompressible(type: string | null): boolean {
  return type !== null && COMPRESSIBLE.test(type);
}

/** Whether a value of Accept-Encoding allows gzip. `gzip;q=0` does not, and an entry for gzip outranks `*`. */
export function acceptsGzip(header: string | null): boolean {
  if (header === null) return false;
  let others = false;
  for (const part of header.toLowerCase().split(',')) {
    const [coding, ...parameters] = part.split(';').map((text) => text.trim());
    const taken = !parameters.some((text) => /^q=0(?:\.0*)?$/.test(text));
    if (coding === 'gzip') return taken;
    if (coding === '*') others = taken;
  }
  return others;
}

async function compress(response: Response, body: MakeBody): Promise<Response> {
  const { status, headers } = response;
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (bytes.length <= MIN_COMPRESSED_BYTES) return new Response(bytes, { status, headers });
  const packed =
    bytes.length <= MAX_INLINE_BYTES ? Bun.gzipSync(bytes, { level: 1 }) : await gzipAsync(bytes, { level: 1 });
  headers.set('content-encoding', 'gzip');
  headers.delete('content-length');
  // A strong ETag identifies exact bytes, so it does not apply to the compressed ones.
  const etag = headers.get('etag');
  if (etag && !etag.startsWith('W/')) headers.set('etag', `W/${etag}`);
  return new Response(body(packed as Uint8Array<ArrayBuffer>), { status, headers });
}
