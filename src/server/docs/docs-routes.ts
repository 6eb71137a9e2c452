import { type AnyElysia, Elysia } from 'elysia';
import { JSON_TYPE } from '../../http/errors.ts';
import { access } from '../../http/route-access.ts';
import { openApiDocument } from './open-api.ts';
import { docsPage } from './page.ts';

const HIDDEN = { detail: { hide: true, ...access('open') } };

/**
 * Serves the description of the interface as a page and, under two names, as a document. `app` is called once all
 * routes are registered.
 */
export function docsRoutes(version: string, app: () => AnyElysia): AnyElysia {
  let text: string | null = null;
  const document = () => {
    text ??= openApiDocument(app(), version);
    return new Response(text, { headers: { 'content-type': JSON_TYPE } });
  };
  return new Elysia({ name: 'docs' })
    .get('/docs', docsPage, HIDDEN)
    .get('/docs/json', document, HIDDEN)
    .get('/docs/openapi.json', document, HIDDEN);
}
