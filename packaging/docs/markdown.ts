import GithubSlugger from 'github-slugger';
import { Marked, type Tokens } from 'marked';

/** A heading of a document, with the anchor that links use. */
export interface Heading {
  readonly depth: number;
  readonly id: string;
  readonly text: string;
}

export interface RenderedDocument {
  readonly html: string;
  readonly headings: readonly Heading[];
}

/** Returns the addresses to write, for links and images and for paths that are named as code. */
export interface LinkResolver {
  resolveHref(href: string): string;
  /** Null where the text is no path of a document. */
  resolvePath(text: string): string | null;
}

/** Renders Markdown as HTML. Raw HTML is shown as text, since no document needs it and no page may load anything. */
export function renderMarkdown(markdown: string, links: LinkResolver): RenderedDocument {
  const headings: Heading[] = [];
  // The anchors of documents are those that GitHub and other hosts make, where the same documents are read.
  const slugger = new GithubSlugger();
  let openLinks = 0;
  const marked = new Marked({ gfm: true });
  marked.use({
    renderer: {
      heading({ depth, tokens }: Tokens.Heading): string {
        const text = decodeEntities(this.parser.parseInline(tokens, this.parser.textRenderer));
        const id = slugger.slug(text);
        headings.push({ depth, id, text });
        const label = escapeHtml(`Link to “${text}”`);
        const anchor = depth === 1 ? '' : `<a class="anchor" href="#${escapeHtml(id)}" aria-label="${label}">#</a>`;
        return `<h${depth} id="${escapeHtml(id)}">${this.parser.parseInline(tokens)}${anchor}</h${depth}>\n`;
      },
      link({ href, tokens }: Tokens.Link): string {
        openLinks += 1;
        const content = this.parser.parseInline(tokens);
        openLinks -= 1;
        return `<a href="${escapeHtml(links.resolveHref(href))}">${content}</a>`;
      },
      image({ href, text }: Tokens.Image): string {
        return `<img src="${escapeHtml(links.resolveHref(href))}" alt="${escapeHtml(text)}">`;
      },
      codespan({ text }: Tokens.Codespan): string {
        const code = `<code>${escapeHtml(text)}</code>`;
        // A link within a link is not allowed.
        const href = openLinks === 0 ? links.resolvePath(text) : null;
        return href === null ? code : `<a href="${escapeHtml(href)}">${code}</a>`;
      },
      code({ text, lang }: Tokens.Code): string {
        const pre = codeBlock(text);
        return lang === 'mermaid'
          ? `<figure>${pre}<figcaption>Diagram in the language of Mermaid</figcaption></figure>\n`
          : pre;
      },
      table({ header, rows }: Tokens.Table): string {
        const row = (cells: readonly Tokens.TableCell[], tag: string) =>
          `<tr>${cells.map(({ tokens }) => `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`).join('')}</tr>\n`;
        // A header without text would be read aloud as an empty one.
        const head = header.some(({ text }) => text !== '') ? `<thead>${row(header, 'th')}</thead>\n` : '';
        const body = rows.map((cells) => row(cells, 'td')).join('');
        return `<div class="table" tabindex="0"><table>\n${head}<tbody>${body}</tbody></table></div>\n`;
      },
      html({ text }: Tokens.HTML | Tokens.Tag): string {
        return escapeHtml(text);
      },
    },
  });
  return { html: marked.parse(markdown, { async: false }), headings };
}

/** Returns a block of code that the keyboard can scroll. */
export function codeBlock(text: string): string {
  return `<pre tabindex="0"><code>${escapeHtml(text)}\n</code></pre>\n`;
}

/** Escapes text for HTML and for attributes in double quotes. */
export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

function decodeEntities(text: string): string {
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&');
}
