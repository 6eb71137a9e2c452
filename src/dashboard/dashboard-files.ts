import { gzipSync } from 'node:zlib';
import { PAGES_SCRIPT, PAGES_STYLE } from './pages-assets.ts';

/** A file of the dashboard as the server sends it. */
interface DashboardFile {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly gzip: Uint8Array<ArrayBuffer>;
  readonly type: string;
  /** Strong, of the bytes. */
  readonly etag: string;
}

/**
 * Only what this server sends may run, style, load or be connected to. Scripts and styles inside the document are
 * refused, so that text from a chain or a peer cannot become code.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><circle cx="16" cy="16" r="14" fill="#c2570c"/>' +
  '<circle cx="16" cy="16" r="8" fill="none" stroke="#fff" stroke-width="3"/></svg>';

const DOCUMENT = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Obverse</title>
<link rel="icon" href="/dashboard/assets/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/dashboard/assets/style.css">
<script type="module" src="/dashboard/assets/main.js"></script>
</head>
<body>
<div id="root"></div>
<noscript>The dashboard needs JavaScript. The interfaces of this node are described at <a href="/docs">/docs</a>.</noscript>
</body>
</html>
`;

/** The document is the same for each page: the script shows the one of the address. */
export const PAGE = file(DOCUMENT, 'text/html; charset=utf-8');

/** The other files by their names under /dashboard/assets/. */
export const ASSETS: ReadonlyMap<string, DashboardFile> = new Map([
  ['main.js', file(PAGES_SCRIPT, 'text/javascript; charset=utf-8')],
  ['style.css', file(PAGES_STYLE, 'text/css; charset=utf-8')],
  ['icon.svg', file(ICON, 'image/svg+xml')],
]);

/** Returns the reply with a file: 304 without a body if the client has these bytes, compressed if it accepts gzip. */
export function fileReply({ bytes, gzip, type, etag }: DashboardFile, request: Request): Response {
  const headers: Record<string, string> = {
    etag,
    'cache-control': 'no-cache',
    'content-security-policy': POLICY,
    'cross-origin-opener-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    vary: 'accept-encoding',
  };
  if (request.headers.get('if-none-match')?.includes(etag)) return new Response(null, { status: 304, headers });
  headers['content-type'] = type;
  if (!/\bgzip\b/.test(request.headers.get('accept-encoding') ?? '')) return new Response(bytes, { headers });
  return new Response(gzip, { headers: { ...headers, 'content-encoding': 'gzip' } });
}

function file(text: string, type: string): DashboardFile {
  const bytes = new TextEncoder().encode(text);
  const digest = new Bun.CryptoHasher('sha256').update(bytes).digest('base64url');
  return { bytes, gzip: new Uint8Array(gzipSync(bytes, { level: 9 })), type, etag: `"${digest.slice(0, 22)}"` };
}
