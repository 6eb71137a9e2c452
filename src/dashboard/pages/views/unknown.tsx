import { Title } from '../parts.tsx';
import { pathTo } from '../router.ts';

/** Shown for a path without a page. */
export function UnknownPage() {
  return (
    <>
      <Title>Page not found</Title>
      <p>
        The dashboard has no page at this address. <a href={pathTo('overview')}>Go to the overview</a>.
      </p>
    </>
  );
}
