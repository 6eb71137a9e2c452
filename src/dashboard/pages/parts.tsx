import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { type ApiFailure, getJson } from './api.ts';
import { formatAge, formatAmount, formatTime, formatUtc, shortenHash } from './display-format.ts';
import type { Page } from './replies.ts';
import { pathTo } from './router.ts';
import { type LoadState, useShared } from './state.ts';

interface CardProps {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly wide?: boolean;
}

/** A part of a page with a heading of its own. */
export function Card({ title, children, wide = false }: CardProps) {
  return (
    <section class={wide ? 'card wide' : 'card'}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

/** The heading of a page, which is the title of the document as well. */
export function Title({ children }: { children: string }) {
  useEffect(() => {
    document.title = `${children} · Obverse`;
  }, [children]);
  return <h1>{children}</h1>;
}

/** Names and values. Rows without a value are left out. */
export function Facts({ rows }: { rows: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {rows
        .filter(([, value]) => value !== null && value !== undefined)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

/** Shows what was loaded, or that it is loading, or why it cannot be. */
export function Show<T>({ of, children }: { of: LoadState<T>; children: (value: T) => ComponentChildren }) {
  if (of.value !== null) {
    return (
      <>
        {of.failure && <FailureLine of={of.failure} />}
        {children(of.value)}
      </>
    );
  }
  return of.failure ? <FailureLine of={of.failure} /> : <p class="waiting">Loading…</p>;
}

function FailureLine({ of }: { of: ApiFailure }) {
  return (
    <p class="failure" role="alert">
      {of.message} <code>{of.code}</code>
    </p>
  );
}

/** An amount in coins, exactly. */
export function AmountText({ of, signed = false }: { of: number; signed?: boolean }) {
  return <span class="amount">{formatAmount(of, { signed })}</span>;
}

/** A time in the zone of the reader; the title has it in UTC. */
export function Time({ at }: { at: number }) {
  return (
    <time dateTime={formatUtc(at)} title={formatUtc(at)}>
      {formatTime(at)}
    </time>
  );
}

/** How long ago a time was, which is current each second. */
export function Age({ of }: { of: number }) {
  const { now } = useShared();
  return (
    <time dateTime={formatUtc(of)} title={`${formatTime(of)} (${formatUtc(of)})`}>
      {formatAge(of, now)}
    </time>
  );
}

interface HashLinkProps {
  readonly page: 'block' | 'tx' | 'address';
  readonly id: string;
  readonly whole?: boolean;
}

/** A link to a block, a transaction or an address. */
export function HashLink({ page, id, whole = false }: HashLinkProps) {
  return (
    <a class="hash" href={pathTo(page, id)} title={id}>
      {whole ? id : shortenHash(id)}
    </a>
  );
}

interface TableProps {
  readonly caption: string;
  readonly head: readonly ComponentChildren[];
  readonly children: ComponentChildren;
}

/** A table that scrolls within itself on a narrow screen. */
export function Table({ caption, head, children }: TableProps) {
  return (
    // A reader with a keyboard scrolls what does not fit.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    <section class="scroll" aria-label={caption} tabIndex={0}>
      <table>
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {head.map((cell, i) => (
              // The columns of a table do not change.
              <th key={i} scope="col">
                {cell}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  );
}

/** The items of a list that the node gives in pages; `more` requests the next page. */
export interface Listing<T> {
  readonly items: readonly T[];
  readonly hasMore: boolean;
  readonly failure: ApiFailure | null;
  readonly more: () => void;
}

/**
 * Returns a list by its pages. The first page is loaded by the caller; those behind it continue at its cursor and are
 * dropped when it changes.
 */
export function usePages<T>(path: string, first: Page<T> | null): Listing<T> {
  const [behind, setBehind] = useState<{ items: readonly T[]; cursor: string | null; from: Page<T> | null }>({
    items: [],
    cursor: null,
    from: null,
  });
  const [failure, setFailure] = useState<ApiFailure | null>(null);
  const isCurrent = behind.from === first;
  const cursor = isCurrent ? behind.cursor : (first?.nextCursor ?? null);
  const items = first === null ? [] : isCurrent ? [...first.items, ...behind.items] : first.items;
  const more = () => {
    if (cursor === null) return;
    const join = path.includes('?') ? '&' : '?';
    getJson<Page<T>>(`${path}${join}cursor=${encodeURIComponent(cursor)}`).then(
      (page) => {
        setFailure(null);
        setBehind({ items: [...(isCurrent ? behind.items : []), ...page.items], cursor: page.nextCursor, from: first });
      },
      (error: ApiFailure) => setFailure(error),
    );
  };
  return { items, hasMore: cursor !== null, failure, more };
}

export function MoreButton<T>({ of }: { of: Listing<T> }) {
  return (
    <>
      {of.failure && <FailureLine of={of.failure} />}
      {of.hasMore && (
        <button type="button" class="more" onClick={of.more}>
          Show more
        </button>
      )}
    </>
  );
}
