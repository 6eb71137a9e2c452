import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiFailure, getJson } from './api.ts';
import { navigateTo, pathTo, routeOf } from './router.ts';
import { classifySearch } from './search.ts';
import { useShared } from './state.ts';
import { ThemeButton } from './theme.tsx';

const PAGES = [
  ['overview', 'Overview'],
  ['mempool', 'Mempool'],
  ['charts', 'Charts'],
  ['peers', 'Peers'],
] as const;

const LIVE_WORDS = { connecting: 'Connecting…', live: 'Live', polling: 'Polling' } as const;

interface LayoutProps {
  readonly path: string;
  readonly onLogout: () => void;
  readonly children: ComponentChildren;
}

/** The frame of all pages: search, navigation and the state of the connection. */
export function Layout({ path, onLogout, children }: LayoutProps) {
  const { session, live } = useShared();
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  // A screen reader continues at the new page; `path` is the reason to run again.
  useEffect(() => {
    if (isFirst.current) isFirst.current = false;
    else main.current?.focus({ preventScroll: true });
  }, [path]);
  const { page } = routeOf(path);
  const pages = session.scopes.includes('admin') ? [...PAGES, ['keys', 'Keys'] as const] : PAGES;
  return (
    <>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header>
        <a class="brand" href={pathTo('overview')}>
          Obverse
        </a>
        <nav aria-label="Pages">
          {pages.map(([name, label]) => (
            <a key={name} href={pathTo(name)} aria-current={page === name ? 'page' : undefined}>
              {label}
            </a>
          ))}
        </nav>
        <SearchBox />
        <div class="tools">
          <span class={`state ${live}`} role="status">
            {LIVE_WORDS[live]}
          </span>
          <ThemeButton />
          <button type="button" id="logout" onClick={onLogout}>
            Log out
          </button>
        </div>
      </header>
      <main id="content" tabIndex={-1} ref={main}>
        {children}
      </main>
      <footer>
        <a href="/docs">Interfaces of this node</a>
      </footer>
    </>
  );
}

function SearchBox() {
  const [text, setText] = useState('');
  const [problem, setProblem] = useState<string | null>(null);
  const search = async (event: Event) => {
    event.preventDefault();
    try {
      navigateTo(await pathOfSearch(text));
      setText('');
      setProblem(null);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <search class="search">
      <form onSubmit={(event) => void search(event)}>
        <label class="hidden" for="search">
          Height, block hash, txid or address
        </label>
        <input
          id="search"
          type="search"
          value={text}
          placeholder="Height, hash, txid or address"
          autocomplete="off"
          spellcheck={false}
          aria-describedby={problem ? 'search-problem' : undefined}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
        <button type="submit">Search</button>
        {problem && (
          <p id="search-problem" role="alert">
            {problem}
          </p>
        )}
      </form>
    </search>
  );
}

/** Returns the path of the page for what a reader searched. Throws an error that says why there is none. */
async function pathOfSearch(text: string): Promise<string> {
  const search = classifySearch(text);
  if (search.kind === 'nothing') throw new Error(search.reason);
  if (search.kind === 'height') {
    await getJson(`/api/block-by-height/${search.height}?fields=summary`);
    return pathTo('block', search.height);
  }
  if (search.kind === 'address') {
    const { isValid, reason } = await getJson<{ isValid: boolean; reason: string | null }>(
      `/api/validate/${encodeURIComponent(search.address)}`,
    );
    if (!isValid) throw new Error(`This is not a valid address of this network${reason ? ` (${reason})` : ''}.`);
    return pathTo('address', search.address);
  }
  const { hash } = search;
  if (await exists(`/api/block/${hash}/status`)) return pathTo('block', hash);
  if (await exists(`/api/tx/${hash}/status`)) return pathTo('tx', hash);
  throw new Error('The node knows no block and no transaction with this hash.');
}

async function exists(path: string): Promise<boolean> {
  try {
    await getJson(path);
    return true;
  } catch (error) {
    if (error instanceof ApiFailure && error.status === 404) return false;
    throw error;
  }
}
