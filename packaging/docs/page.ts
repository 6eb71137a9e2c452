import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { escapeHtml, type Heading } from './markdown.ts';

/** One entry of the navigation; `href` is relative to the page that shows it. */
interface NavigationEntry {
  readonly title: string;
  readonly href: string;
  readonly isCurrent: boolean;
}

export interface NavigationGroup {
  readonly title: string;
  /** Such a group is closed unless the page belongs to it. */
  readonly isLong: boolean;
  readonly entries: readonly NavigationEntry[];
}

export interface Page {
  readonly title: string;
  readonly html: string;
  readonly headings: readonly Heading[];
  readonly navigation: readonly NavigationGroup[];
  /** The path of the document in the repository. */
  readonly source: string;
  readonly version: string;
}

const STYLE = readFileSync(join(import.meta.dir, 'style.css'), 'utf8');
/** Below this number a list of sections is longer than its use. */
const MIN_LISTED_SECTIONS = 3;

/** The style is part of each page, so that pages opened as files show it under the policy as well. */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

/** Returns the text of a page. It has no script and requests nothing from other servers. */
export function pageText({ title, html, headings, navigation, source, version }: Page): string {
  const name = title === 'Obverse' ? title : `${title} · Obverse`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${escapeHtml(POLICY)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${escapeHtml(name)}</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<div class="site">
<nav class="pages" aria-label="Pages">
${navigation.map(navigationGroup).join('')}</nav>
<main id="content">
${withContents(html, headings)}<footer>${escapeHtml(source)}, Obverse ${escapeHtml(version)}</footer>
</main>
</div>
</body>
</html>
`;
}

function navigationGroup({ title, isLong, entries }: NavigationGroup): string {
  const items = entries.map(({ title, href, isCurrent }) => {
    const current = isCurrent ? ' aria-current="page"' : '';
    return `<li><a href="${escapeHtml(href)}"${current}>${escapeHtml(title)}</a></li>\n`;
  });
  const list = `<ul>\n${items.join('')}</ul>\n`;
  if (!isLong) return `<h2>${escapeHtml(title)}</h2>\n${list}`;
  const open = entries.some(({ isCurrent }) => isCurrent) ? ' open' : '';
  return `<details${open}><summary>${escapeHtml(title)}</summary>\n${list}</details>\n`;
}

/** Adds the list of sections behind the title of the page. */
function withContents(html: string, headings: readonly Heading[]): string {
  const sections = headings.filter(({ depth }) => depth === 2);
  if (sections.length < MIN_LISTED_SECTIONS) return html;
  const items = sections.map(({ id, text }) => `<li><a href="#${escapeHtml(id)}">${escapeHtml(text)}</a></li>\n`);
  const contents = `<details class="contents"><summary>On this page</summary>\n<ul>\n${items.join('')}</ul></details>\n`;
  const end = html.indexOf('</h1>\n');
  const begin = end < 0 ? 0 : end + '</h1>\n'.length;
  return html.slice(0, begin) + contents + html.slice(begin);
}
