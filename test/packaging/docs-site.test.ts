import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { deadLinkLines, makeSite } from '../../packaging/docs/site.ts';

const root = join(import.meta.dir, '../..');

interface PageParts {
  readonly ids: readonly string[];
  readonly links: readonly string[];
  /** Addresses that a browser requests by itself. */
  readonly loaded: readonly string[];
  readonly scripts: number;
  readonly style: string;
  readonly policy: string;
}

let folder: string;
const sites: Record<'first' | 'second', Map<string, Uint8Array>> = { first: new Map(), second: new Map() };
const pages = new Map<string, PageParts>();

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'obverse-docs-'));
  for (const name of ['first', 'second'] as const) {
    const out = join(folder, name);
    const { exitCode, stderr } = runDocs(out);
    expect(stderr.toString()).toBe('');
    expect(exitCode).toBe(0);
    for (const path of [...new Bun.Glob('**/*').scanSync({ cwd: out })].sort())
      sites[name].set(path, readFileSync(join(out, path)));
  }
  for (const [path, bytes] of sites.first) if (path.endsWith('.html')) pages.set(path, partsOf(bytes));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('every document has a page, and the README is the first one', () => {
  const documents = [...new Bun.Glob('**/*.md').scanSync({ cwd: join(root, 'docs') })];
  expect(documents.length).toBeGreaterThan(20);
  const expected = documents.map((path) => path.replace(/README\.md$/, 'index.md').replace(/\.md$/, '.html'));
  expect([...pages.keys()]).toEqual(expect.arrayContaining(['index.html', 'repository/SECURITY.html', ...expected]));
  for (const path of expected) expect(pages.get('index.html')!.links).toContain(path);
});

test('every link of every page leads to a file of the site, and every anchor to an element', () => {
  const dead: string[] = [];
  let anchors = 0;
  for (const [path, { links, loaded }] of pages) {
    for (const href of [...links, ...loaded]) {
      if (/^(?:https?|mailto|data):/.test(href)) continue;
      const [file = '', anchor] = href.split('#', 2);
      const target = file === '' ? path : posix.join(posix.dirname(path), decodeURIComponent(file));
      if (!sites.first.has(target)) dead.push(`${path}: ${href}`);
      if (anchor === undefined) continue;
      anchors += 1;
      if (!pages.get(target)?.ids.includes(decodeURIComponent(anchor))) dead.push(`${path}: ${href}`);
    }
  }
  expect(dead).toEqual([]);
  expect(anchors).toBeGreaterThan(100);
});

test('no two elements of a page have the same anchor', () => {
  for (const [path, { ids }] of pages) expect(`${path} ${new Set(ids).size}`).toBe(`${path} ${ids.length}`);
});

test('pages have no script and load nothing, and their policy allows only their own style', () => {
  for (const { scripts, loaded, policy, style } of pages.values()) {
    expect(scripts).toBe(0);
    expect(loaded.filter((href) => /^(?:[a-z]+:)?\/\//i.test(href))).toEqual([]);
    const hash = createHash('sha256').update(style).digest('base64');
    expect(policy).toBe(
      `default-src 'none'; style-src 'sha256-${hash}'; img-src 'self' data:; base-uri 'none'; form-action 'none'`,
    );
    expect(style).not.toContain('url(');
    expect(style).not.toContain('@import');
  }
});

test('two builds are equal in every byte', () => {
  expect([...sites.second.keys()]).toEqual([...sites.first.keys()]);
  for (const [path, bytes] of sites.first)
    expect(`${path} ${Buffer.compare(bytes, sites.second.get(path)!)}`).toBe(`${path} 0`);
});

test('a folder that holds other files is not replaced', () => {
  const out = join(folder, 'other');
  mkdirSync(out);
  writeFileSync(join(out, 'notes.txt'), 'notes');
  const { exitCode, stderr } = runDocs(out);
  expect(exitCode).toBe(1);
  expect(stderr.toString()).toContain('holds other files than a site');
  expect(readdirSync(out)).toEqual(['notes.txt']);
});

const siteOf = (documents: Readonly<Record<string, string>>) =>
  makeSite({
    version: '1.0.0',
    paths: Object.keys(documents),
    readFile: (path) => Buffer.from(documents[path]!),
  });

test('dead links, anchors and named documents are listed', () => {
  const { deadLinks } = siteOf({
    'README.md':
      '# A\n\n[b](docs/b.md#second-part) [c](docs/c.md) [d](docs/b.md#none) [e](#none) `docs/f.md` `src/g.md`\n',
    'docs/b.md': '# B\n\n## Second part\n\n[up](../README.md#a) [far](../../outside.md)\n',
  });
  expect(deadLinkLines(deadLinks)).toEqual([
    'README.md: the link docs/c.md is dead: docs/c.md does not exist',
    'README.md: the link docs/f.md is dead: docs/f.md does not exist',
    'docs/b.md: the link ../../outside.md is dead: ../outside.md does not exist',
    'README.md: the link docs/b.md#none is dead: docs/b.md has no section #none',
    'README.md: the link #none is dead: README.md has no section #none',
  ]);
});

test('files and folders that documents link to have pages', () => {
  const { files, deadLinks } = siteOf({
    'README.md': '# A\n\n[code](examples/a.ts) [folder](clients/) `docs/b.md`\n',
    'docs/b.md': '# B & C\n\n![picture](picture.png)\n',
    'docs/picture.png': 'PNG',
    'docs/unused.png': 'PNG',
    'examples/a.ts': "console.log('<script>');\n",
    'clients/one/x.py': 'pass\n',
    'secret.ts': 'never linked\n',
  });
  expect(deadLinks).toEqual([]);
  expect([...files.keys()]).toEqual([
    'b.html',
    'index.html',
    'picture.png',
    'repository/clients/index.html',
    'repository/clients/one/index.html',
    'repository/clients/one/x.py.html',
    'repository/examples/a.ts.html',
  ]);
  expect(files.get('repository/examples/a.ts.html')).toContain('&lt;script&gt;');
  expect(files.get('index.html')).toContain('<a href="b.html"><code>docs/b.md</code></a>');
  expect(files.get('index.html')).toContain('<li><a href="b.html">B &amp; C</a></li>');
});

test('HTML within Markdown is shown as text', () => {
  const { files } = siteOf({
    'README.md': '# A\n\n<script>alert(1)</script>\n\ntext <img src="https://example.com/x">\n',
  });
  expect(files.get('index.html')).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
  expect(files.get('index.html')).toContain('text &lt;img src=&quot;https://example.com/x&quot;&gt;');
});

test('two documents that would be one file are refused', () => {
  expect(() => siteOf({ 'README.md': '# A\n', 'docs/index.md': '# B\n' })).toThrow('would both be index.html');
});

function runDocs(out: string) {
  expect(existsSync(dirname(out))).toBe(true);
  return Bun.spawnSync([process.execPath, 'packaging/docs.ts', '--out', out], { cwd: root });
}

function partsOf(bytes: Uint8Array): PageParts {
  const ids: string[] = [];
  const links: string[] = [];
  const loaded: string[] = [];
  let scripts = 0;
  let style = '';
  let policy = '';
  new HTMLRewriter()
    .on('[id]', { element: (element) => void ids.push(element.getAttribute('id')!) })
    .on('a[href]', { element: (element) => void links.push(element.getAttribute('href')!) })
    .on('[src]', { element: (element) => void loaded.push(element.getAttribute('src')!) })
    .on('link[href]', { element: (element) => void loaded.push(element.getAttribute('href')!) })
    .on('script', { element: () => void (scripts += 1) })
    .on('style', { text: (chunk) => void (style += chunk.text) })
    .on('meta[http-equiv="Content-Security-Policy"]', {
      element: (element) => void (policy = element.getAttribute('content')!),
    })
    .transform(new TextDecoder().decode(bytes));
  return { ids, links, loaded, scripts, style, policy };
}
