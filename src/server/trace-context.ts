import type { Visit } from './visit.ts';

/** Version, trace, parent and flags; later versions may append members (W3C Trace Context). */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(?:-.*)?$/;
const VERSION_ZERO_LENGTH = 55;

/**
 * Returns the fields that name a request in the log: its id, its path, and where the client sent a valid `traceparent`, the
 * ids of the trace and of the client's span.
 */
export function requestFields({ request, requestId, path }: Pick<Visit, 'request' | 'requestId' | 'path'>) {
  const traceparent = request.headers.get('traceparent');
  const match = traceparent === null ? null : TRACEPARENT.exec(traceparent);
  if (match === null || (traceparent!.startsWith('00') && traceparent!.length !== VERSION_ZERO_LENGTH))
    return { requestId, path };
  return { requestId, path, traceId: match[1], spanId: match[2] };
}
