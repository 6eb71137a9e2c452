import { posix } from 'node:path';
import { codeBlock, escapeHtml, type Heading, type LinkResolver, renderMarkdown } from './markdown.ts';
import { type NavigationGroup, pageText } from './page.ts';

/** The files of a repository, by their paths from its root. */
export interface DocumentSource {
  readonly paths: readonly string[];
  readonly version: string;
  readFile(path: string): Uint8Array;
}

/** A link to a document or a section that does not exist. */
export interface DeadLink {
  readonly path: string;
  readonly href: string;
  readonly problem: string;
}

export interface Site {
  /** By path below the folder of the site, in their order. */
  readonly files: ReadonlyMap<string, string | Uint8Array>;
  readonly deadLinks: readonly DeadLink[];
}

interface RenderedPage {
  readonly title: string;
  readonly html: string;
  readonly headings: readonly Heading[];
}

/** Documents beside `docs/` that always have a page. */
const ROOT_DOCUMENTS = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md', 'LICENSE'];
const DECISIONS = 'docs/decisions/';
/** The order of the navigation. A document that no group names is listed in the last one. */
const GROUPS: readonly (readonly [title: string, paths: readonly string[]])[] = [
  ['Start', ['README.md', 'docs/install.md', 'docs/configure.md']],
  [
    'Operate',
    ['operations', 'monitoring', 'incidents', 'security', 'access', 'export', 'main-chain', 'benchmarks'].map(inDocs),
  ],
  ['Integrate', ['integrate', 'events', 'json-rpc', 'json-rpc-methods', 'interoperability'].map(inDocs)],
  ['Build', [...['architecture', 'storage', 'glossary', 'questions'].map(inDocs), 'CONTRIBUTING.md']],
  ['Project', ['SECURITY.md', 'CHANGELOG.md', 'LICENSE']],
];
const IMAGE = /\.(?:png|jpe?g|gif|webp|svg)$/i;
/** A link that leaves the repository. */
const OUTSIDE = /^(?:https?|mailto):/i;
/** A document that is named as code, such as `docs/access.md`. */
const NAMED_DOCUMENT = /^(?:docs\/[\w./-]+|[A-Z]+)\.md$/;

/** Makes a page of every document, and of every file and folder that one of them links to. */
export function makeSite(source: DocumentSource): Site {
  const known = new Set(source.paths);
  const documents = source.paths.filter((path) => path.startsWith('docs/') && path.endsWith('.md'));
  const queue = [...ROOT_DOCUMENTS.filter((path) => known.has(path)), ...documents.sort()];
  const listed = new Set(queue);
  const pages = new Map<string, RenderedPage>();
  const files = new Map<string, string | Uint8Array>();
  const deadLinks: DeadLink[] = [];
  const sectionLinks: { path: string; href: string; target: string; section: string }[] = [];

  // The list grows while it is read: a page can link to files that have no page yet.
  for (const path of queue) {
    if (pages.has(path) || files.has(outputOf(path))) continue;
    if (IMAGE.test(path)) files.set(outputOf(path), source.readFile(path));
    else pages.set(path, renderPage(path));
  }
  for (const { path, href, target, section } of sectionLinks) {
    const exists = pages.get(target)?.headings.some(({ id }) => id === section);
    if (!exists) deadLinks.push({ path, href, problem: `${target} has no section #${section}` });
  }
  for (const [path, page] of pages) {
    const output = outputOf(path);
    if (files.has(output)) throw new Error(`${path} and another file would both be ${output}`);
    const text = pageText({ ...page, navigation: navigationOf(path), source: path, version: source.version });
    files.set(output, text);
  }
  return { files: new Map([...files].sort(([a], [b]) => (a < b ? -1 : 1))), deadLinks };

  function renderPage(path: string): RenderedPage {
    if (!known.has(path)) return folderPage(path);
    const text = new TextDecoder('utf-8', { fatal: true }).decode(source.readFile(path));
    if (!path.endsWith('.md')) return sourcePage(path, text);
    const { html, headings } = renderMarkdown(text, linksOf(path));
    return { title: headings[0]?.text ?? path, html, headings };
  }

  function folderPage(folder: string): RenderedPage {
    const names = childrenOf(folder, source.paths);
    const items = names.map((name) => {
      const href = linkTo(folder, posix.join(folder, name));
      return `<li><a href="${escapeHtml(href)}">${escapeHtml(name)}</a></li>\n`;
    });
    const html = `<h1>${escapeHtml(folder)}</h1>\n<ul>\n${items.join('')}</ul>\n`;
    return { title: folder, html, headings: [] };
  }

  /** Returns the relative address of a file or folder, and makes sure that it gets a page. */
  function linkTo(from: string, target: string): string {
    const readme = posix.join(target, 'README.md');
    const path = !known.has(target) && known.has(readme) ? readme : target;
    queue.push(path);
    return addressOf(from, path);
  }

  function linksOf(path: string): LinkResolver {
    return {
      resolveHref(href) {
        if (OUTSIDE.test(href)) return href;
        const [file = '', section] = href.split('#', 2);
        const target =
          file === '' ? path : posix.join(posix.dirname(path), decodeURIComponent(file)).replace(/\/$/, '');
        if (!known.has(target) && childrenOf(target, source.paths).length === 0) {
          deadLinks.push({ path, href, problem: `${target} does not exist` });
          return href;
        }
        if (section !== undefined) sectionLinks.push({ path, href, target, section });
        const address = file === '' ? '' : linkTo(path, target);
        return section === undefined ? address : `${address}#${section}`;
      },
      resolvePath(text) {
        if (!NAMED_DOCUMENT.test(text) || text === path) return null;
        if (known.has(text)) return linkTo(path, text);
        if (text.startsWith('docs/')) deadLinks.push({ path, href: text, problem: `${text} does not exist` });
        return null;
      },
    };
  }

  function navigationOf(path: string): NavigationGroup[] {
    const named = new Set(GROUPS.flatMap(([, paths]) => paths));
    const decisions = documents.filter((document) => document.startsWith(DECISIONS));
    const others = [...listed].filter((document) => !named.has(document) && !document.startsWith(DECISIONS));
    const groups = [...GROUPS, ['Decisions', decisions] as const, ['More', others] as const];
    return groups.flatMap(([title, paths]) => {
      const entries = paths
        .filter((document) => listed.has(document))
        .map((document) => ({
          title: document === 'README.md' ? 'Overview' : pages.get(document)!.title,
          href: addressOf(path, document),
          isCurrent: document === path,
        }));
      return entries.length === 0 ? [] : [{ title, isLong: title === 'Decisions', entries }];
    });
  }

  function addressOf(from: string, to: string): string {
    const address = posix.relative(posix.dirname(outputOf(from)), outputOf(to));
    return address.split('/').map(encodeURIComponent).join('/');
  }

  /** Documents lie as in `docs/`, and all else below `repository/`, so that SECURITY.md and docs/security.md differ. */
  function outputOf(path: string): string {
    if (path === 'README.md') return 'index.html';
    const place = path.startsWith('docs/') ? path.slice('docs/'.length) : `repository/${path}`;
    if (IMAGE.test(path)) return place;
    if (path.startsWith('docs/') && posix.basename(path) === 'README.md')
      return posix.join(posix.dirname(place), 'index.html');
    if (path.endsWith('.md')) return place.replace(/\.md$/, '.html');
    return known.has(path) ? `${place}.html` : posix.join(place, 'index.html');
  }
}

/** Returns one line for each dead link. */
export function deadLinkLines(links: readonly DeadLink[]): string[] {
  return links.map(({ path, href, problem }) => `${path}: the link ${href} is dead: ${problem}`);
}

function sourcePage(path: string, text: string): RenderedPage {
  const html = `<h1>${escapeHtml(path)}</h1>\n${codeBlock(text.trimEnd())}`;
  return { title: path, html, headings: [] };
}

/** Returns the names in a folder, sorted; none where no file lies in it. */
function childrenOf(folder: string, paths: readonly string[]): string[] {
  const prefix = `${folder}/`;
  const within = paths.filter((path) => path.startsWith(prefix)).map((path) => path.slice(prefix.length));
  return [...new Set(within.map((path) => path.split('/', 1)[0]!))].sort();
}

function inDocs(name: string): string {
  return `docs/${name}.md`;
}
