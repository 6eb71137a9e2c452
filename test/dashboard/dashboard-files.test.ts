import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { gunzipSync } from 'node:zlib';
import { startTestApi, type TestApi } from '../lib/api-fixture.ts';

const ASSETS = [
  ['main.js', 'text/javascript; charset=utf-8'],
  ['style.css', 'text/css; charset=utf-8'],
  ['icon.svg', 'image/svg+xml'],
] as const;
const FILES = [
  ['/dashboard', 'text/html; charset=utf-8'] as const,
  ...ASSETS.map(([name, type]) => [`/dashboard/assets/${name}`, type] as const),
];
/** The sources that the policy may name. The node alone is one, and images in the style sheet. */
const ALLOWED_SOURCES = ["'none'", "'self'", 'data:'];

let it: TestApi;
beforeAll(() => void (it = startTestApi()));
afterAll(() => it[Symbol.asyncDispose]());

/** Requests as it is, without the decompression that the client adds. */
const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  it.get(path, {
    method,
    headers: { 'accept-encoding': 'identity', ...headers },
    decompress: false,
  } as RequestInit);

describe.each(FILES)('%s', (path, type) => {
  test('is sent without credentials, with its type and its policy', async () => {
    const reply = await get(path);
    expect(reply.status).toBe(200);
    expect(reply.headers.get('content-type')).toBe(type);
    expect(reply.headers.get('x-content-type-options')).toBe('nosniff');
    expect(reply.headers.get('referrer-policy')).toBe('no-referrer');
    expect(reply.headers.get('cache-control')).toBe('no-cache');
    expect(reply.headers.get('content-encoding')).toBeNull();
    expect((await reply.text()).length).toBeGreaterThan(100);
    const policy = policyOf(reply);
    expect(policy.get('default-src')).toEqual(["'none'"]);
    expect(policy.get('script-src')).toEqual(["'self'"]);
    expect(policy.get('style-src')).toEqual(["'self'"]);
    expect(policy.get('frame-ancestors')).toEqual(["'none'"]);
    expect(policy.get('base-uri')).toEqual(["'none'"]);
    for (const sources of policy.values()) for (const source of sources) expect(ALLOWED_SOURCES).toContain(source);
  });

  test('is not sent again to a client that has it', async () => {
    const { headers } = await get(path);
    const etag = headers.get('etag')!;
    expect(etag).toMatch(/^"[\w-]{22}"$/);
    for (const known of [etag, `"other", ${etag}`, `W/${etag}`]) {
      const reply = await get(path, { 'if-none-match': known });
      expect([reply.status, await reply.text(), reply.headers.get('etag')]).toEqual([304, '', etag]);
      expect(policyOf(reply).get('default-src')).toEqual(["'none'"]);
    }
    expect((await get(path, { 'if-none-match': '"other"' })).status).toBe(200);
  });

  test('is compressed for a client that accepts gzip', async () => {
    const plain = await get(path);
    const compressed = await get(path, { 'accept-encoding': 'br, gzip' });
    expect([plain, compressed].map(({ headers }) => headers.get('vary')?.toLowerCase())).toEqual([
      ...Array(2).fill(expect.stringContaining('accept-encoding')),
    ]);
    expect(compressed.headers.get('content-encoding')).toBe('gzip');
    const [bytes, less] = await Promise.all([plain.bytes(), compressed.bytes()]);
    expect(gunzipSync(less).equals(bytes)).toBe(true);
    if (bytes.length > 500) expect(less.length).toBeLessThan(bytes.length);
  });

  test('answers HEAD with the headers of GET', async () => {
    const [head, reply] = [await get(path, {}, 'HEAD'), await get(path)];
    expect([head.status, await head.text()]).toEqual([200, '']);
    for (const name of ['content-type', 'etag', 'content-security-policy', 'cache-control'])
      expect(head.headers.get(name)).toBe(reply.headers.get(name));
  });

  test('refuses other methods', async () => {
    const reply = await get(path, {}, 'POST');
    expect(reply.status).toBe(405);
    expect(reply.headers.get('allow')).toContain('GET');
  });
});

test('the document has no script or style of its own, and names only files of the node', async () => {
  const html = await (await get('/dashboard')).text();
  const found = { scripts: [] as string[], links: [] as string[], inline: '', attributes: [] as string[] };
  const rewriter = new HTMLRewriter()
    .on('script, style', { text: ({ text }) => void (found.inline += text) })
    .on('script', { element: (element) => void found.scripts.push(element.getAttribute('src') ?? '') })
    .on('link', { element: (element) => void found.links.push(element.getAttribute('href') ?? '') })
    .on('*', {
      element: ({ attributes }) => void found.attributes.push(...[...attributes].map(([name = '']) => name)),
    });
  rewriter.transform(html);
  expect(found.inline.trim()).toBe('');
  expect(found.attributes.filter((name) => name === 'style' || name.startsWith('on'))).toEqual([]);
  expect(found.scripts).toEqual(['/dashboard/assets/main.js']);
  expect(found.links).toHaveLength(2);
  for (const path of [...found.scripts, ...found.links]) expect((await get(path)).status).toBe(200);
});

test.each([
  '/dashboard/',
  '/dashboard/mempool',
  '/dashboard/block/100',
  `/dashboard/tx/${'0'.repeat(64)}`,
  '/dashboard/address/bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080',
  '/dashboard/nowhere/at/all',
])('%s is answered with the document, so that it can be opened and reloaded', async (path) => {
  const [reply, document] = [await get(path), await get('/dashboard')];
  expect([reply.status, reply.headers.get('etag')]).toEqual([200, document.headers.get('etag')]);
});

test.each(['nothing.js', 'main.tsx', 'style.css.map', '..%2f..%2fpackage.json', '%2e%2e%2fmain.js'])(
  'the asset %s does not exist',
  async (name) => {
    const reply = await get(`/dashboard/assets/${name}`);
    expect(reply.status).toBe(404);
    expect(((await reply.json()) as { error: { code: string } }).error.code).toBe('not_found');
  },
);

test('the dashboard is no part of the described interface', async () => {
  const { paths } = (await (await get('/docs/json')).json()) as { paths: Record<string, unknown> };
  expect(Object.keys(paths).filter((path) => path.includes('dashboard'))).toEqual([]);
});

test('the script is one module of which no part is loaded from elsewhere', async () => {
  const script = await (await get('/dashboard/assets/main.js')).text();
  expect(new Bun.Transpiler({ loader: 'js' }).scan(script)).toMatchObject({ imports: [] });
  const style = await (await get('/dashboard/assets/style.css')).text();
  expect(style).not.toMatch(/@import|url\((?!["']?data:)/);
});

function policyOf(reply: Response): Map<string, string[]> {
  const directives = (reply.headers.get('content-security-policy') ?? '')
    .split(';')
    .map((text) => text.trim().split(' '));
  return new Map(directives.map(([name = '', ...sources]) => [name, sources]));
}
