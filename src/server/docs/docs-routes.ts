import { type AnyElysia, Elysia } from 'elysia';
import { JSON_TYPE } from '../../http/errors.ts';
import { access } from '../../http/route-access.ts';
import { asyncApiDocument, eventSchemas } from './async-api.ts';
import { openApiDocument } from './open-api.ts';
import { docsPage } from './page.ts';

const HIDDEN = { detail: { hide: true, ...access('open') } };

/**
 * Serves the descriptions of the interfaces: a page, the OpenAPI document under two names, the AsyncAPI document of the
 * events, and the JSON Schemas of these. `app` is called once all routes are registered.
 */
export function docsRoutes(
  version: string,
  app: () => AnyElysia,
  { hasNode }: { readonly hasNode: boolean },
): AnyElysia {
  const openApi = onFirstCall(() => openApiDocument(app(), { version, hasNode }));
  const asyncApi = onFirstCall(() => asyncApiDocument(version));
  const events = onFirstCall(eventSchemas);
  return new Elysia({ name: 'docs' })
    .get('/docs', docsPage, HIDDEN)
    .get('/docs/json', () => document(openApi()), HIDDEN)
    .get('/docs/openapi.json', () => document(openApi()), HIDDEN)
    .get('/docs/asyncapi.json', () => document(asyncApi()), HIDDEN)
    .get('/docs/events.json', () => document(events()), HIDDEN);
}

const document = (text: string) => new Response(text, { headers: { 'content-type': JSON_TYPE } });

function onFirstCall(make: () => string): () => string {
  let text: string | null = null;
  return () => (text ??= make());
}
